"""Stage curate: votes of judged turns, pooled over users, to the Example table."""

from __future__ import annotations

import apache_beam as beam

from pipeline import storage
from pipeline.config import CurateOptions, names, parse_time
from pipeline.curation.known import KnownPass
from pipeline.curation.training_files import keep_training_set, read_training_set
from pipeline.gates.counts import by_outcome, closes
from pipeline.given import Given
from pipeline.jobs.beside import ontology_of
from pipeline.jobs.context import Context, numbers, write_counts
from pipeline.ontology.labels import Ontology
from pipeline.transforms.answers import ContextOptions
from pipeline.transforms.curate import CastVotes, Curate, PoolVotes
from pipeline.transforms.pool import PoolOptions
from pipeline.transforms.votes import VoteOptions


def run(context: Context) -> None:
    """Pool the votes.

    Raises
    ------
    ConfigError
        If the training set cannot be right.
    GateError
        If the counts do not close.
    """
    workspace = context.workspace
    workspace.begin("curate")
    options = context.config.curate
    trained, ingested = workspace.facts("train"), workspace.facts("ingest")
    ontology = ontology_of(workspace)
    known, files = training_set(context, ontology)
    cast = CastVotes(
        workspace.table("ingest", "turns"),
        workspace.table("label", "judgements"),
        workspace.table("label", "corrections"),
        vote_options(options, ontology),
        context.threads,
    )
    pooled = PoolVotes(
        workspace.table("curate", "examples"),
        pool_options(options, trained["defect_model_id"], trained["correction_model_id"]),
        context.threads,
        known,
        workspace.table("curate", "left_out"),
        workspace.table("curate", "training_set_diff"),
    )
    curate = Curate(cast, pooled, ingested["buckets"], context.shuffle_mode, workspace.spill("curate"))

    def build(pipeline: beam.Pipeline) -> None:
        write_counts(numbers(pipeline, context.workspace.buckets("ingest", "turns")) | curate, context, "curate")

    context.run(build)
    counts = workspace.counts("curate")
    gate = closes("curate", counts, ingested["kept"])
    if known is not None:
        tell(context, by_outcome(counts))
    workspace.finish(
        "curate",
        {
            "config": {"curate": context.config.resolved()["curate"]},
            "given": [given.facts() for given in files],
            "kept": by_outcome(counts, closing=True).get("kept", 0),
            "gates": [gate],
        },
    )


def tell(context: Context, outcomes: dict[str, int]) -> None:
    """Say how the examples stand to the training set."""
    context.progress.note(
        f"curate: {outcomes.get('contradicts_training_set', 0):,} example(s) contradict curate.training_set and are "
        f"listed for review; it has {outcomes.get('in_training_set', 0):,} already"
    )


def training_set(context: Context, ontology: Ontology | None) -> tuple[KnownPass | None, list[Given]]:
    """The pass that holds examples against the present training set, and its files; None where there is none."""
    options = context.config.curate
    if not options.training_set:
        return None, []
    training, files = read_training_set(options.training_set, ontology)
    path = storage.join(context.workspace.stage("curate"), "training_set.parquet")
    return keep_training_set(path, training, options.keep_known), files


def vote_options(options: CurateOptions, ontology: Ontology | None = None) -> VoteOptions:
    """What of the configuration, and of the turns' ontology, decides which turns vote."""
    test_from = parse_time(options.test_from, "curate.test_from") if options.test_from else None
    context = ContextOptions(options.context_turns, options.context_chars, options.context_below)
    licences = None if options.licences is None else names(options.licences)
    return VoteOptions(options.confirm_below, options.test_share, context, test_from, licences, ontology)


def pool_options(options: CurateOptions, defect_model_id: str, correction_model_id: str) -> PoolOptions:
    """What of the configuration decides which labels become examples."""
    return PoolOptions(
        options.min_users,
        options.min_agreement,
        options.answer_min_users,
        defect_model_id,
        correction_model_id,
    )
