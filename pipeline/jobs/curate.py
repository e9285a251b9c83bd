"""Stage curate: conversations of both sides of the split, then votes of judged turns, pooled over users, and the
examples that are left of them when duplicates, what evaluation sets hold and what is over a cap are gone.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import apache_beam as beam
import pyarrow as pa

from features.signals import SignalOptions
from pipeline import storage
from pipeline.checks import names, parse_time
from pipeline.curation import evaluation
from pipeline.curation.caps import caps_of
from pipeline.curation.conversations import ReadSides, Shared, SharedConversations
from pipeline.curation.known import KnownPass
from pipeline.curation.near import near_options
from pipeline.curation.passes import local_passes
from pipeline.curation.pooling import CastVotes, Curate, PoolVotes
from pipeline.curation.select import Apply, CapAndSample, Sift
from pipeline.curation.shuffling import Shuffling
from pipeline.curation.training_files import keep_training_set, read_training_set, training_files
from pipeline.gates.counts import by_outcome, closes
from pipeline.given import Given
from pipeline.jobs.beside import ontology_of
from pipeline.jobs.context import Context, numbers, write_counts, write_one
from pipeline.ontology.labels import Ontology
from pipeline.options import CurateOptions
from pipeline.transforms.answers import ContextOptions
from pipeline.transforms.counts import add_up
from pipeline.transforms.pool import PoolOptions
from pipeline.transforms.retries import RetryOptions
from pipeline.transforms.voters import VoteOptions
from pipeline.workspace import Workspace
from schemas import COUNT, SHARED_CONVERSATION


def run(context: Context) -> None:
    """Pool the votes, then sift the examples.

    Raises
    ------
    ConfigError
        If the training set cannot be right.
    GateError
        If the counts do not close.
    InputError
        If an evaluation set cannot be read.
    """
    workspace, options, signals = context.workspace, context.config.curate, context.config.signals
    inputs = evaluation_inputs(options)
    given = training_files(options.training_set) if options.training_set else []
    context.begin("curate", inputs, [file.facts() for _, file in given])
    trained, ingested = workspace.facts("train"), workspace.facts("ingest")
    ontology = ontology_of(workspace)
    known, files = training_set(context, ontology)
    voting = vote_options(options, signals, ontology)
    shared = _share_conversations(context, voting, ingested["buckets"])
    cast = CastVotes(
        workspace.table("ingest", "turns"),
        workspace.table("label", "judgements"),
        workspace.table("label", "corrections"),
        voting,
        shared,
        context.threads,
    )
    pooled = PoolVotes(
        workspace.table("curate", "pooled"),
        pool_options(options, trained["defect_model_id"], trained["correction_model_id"]),
        context.threads,
        known,
        workspace.table("curate", "training_set_diff"),
    )
    curate = Curate(cast, pooled, ingested["buckets"], context.shuffle_mode, workspace.spill("curate"))

    def build(pipeline: beam.Pipeline) -> None:
        buckets = numbers(pipeline, workspace.buckets("ingest", "turns"))
        write_counts(buckets | curate, _counts_of(context, "pool"))

    context.run(build)
    counts = _sift(context, ingested["buckets"], known)
    gate = closes("curate", counts, ingested["kept"])
    _tell_shared(context, by_outcome(counts), len(shared.hashes) if shared else 0)
    if known is not None:
        tell(context, by_outcome(counts))
    workspace.finish(
        "curate",
        {
            "config": {"curate": context.config.resolved()["curate"]},
            "kept": by_outcome(counts, closing=True).get("kept", 0),
            "gates": [gate],
            "inputs": inputs,
            "given": [given.facts() for given in files],
            "training_set": None if known is None else known.facts(),
        },
    )


def _share_conversations(context: Context, voting: VoteOptions, buckets: int) -> Shared | None:
    """Find the conversations in which users of both sides of the split speak; None where there are none.

    No pass is made where one side has nobody.
    """
    workspace = context.workspace
    path = shared_path(workspace)
    if not 0.0 < voting.test_share < 1.0:
        storage.write_record(path, SHARED_CONVERSATION.empty(), SHARED_CONVERSATION)
        return None
    turns = workspace.table("ingest", "turns")
    read = ReadSides(turns, voting.test_share, voting.test_from, context.threads)
    shuffling = Shuffling(buckets, context.shuffle_mode, workspace.spill("curate"), context.threads)

    def build(pipeline: beam.Pipeline) -> None:
        found = numbers(pipeline, workspace.buckets("ingest", "turns")) | SharedConversations(read, shuffling)
        write_one(found, path, SHARED_CONVERSATION)

    context.run(build)
    storage.remove(workspace.spill("curate"))
    return Shared(path, storage.sha256(storage.read_bytes(path))) if storage.rows(path) else None


def shared_path(workspace: Workspace) -> str:
    """File of the conversations in which users of both sides of the split speak."""
    return storage.join(workspace.stage("curate"), "shared_conversations.parquet")


def _sift(context: Context, buckets: int, known: KnownPass | None) -> pa.Table:
    """Leave out what is not to be released, and write the stage's counts."""
    workspace, options, caps = context.workspace, context.config.curate, caps_of(context.config.curate)
    shuffling = Shuffling(buckets, context.shuffle_mode, workspace.spill("curate"), context.threads)
    folders = [
        workspace.table("curate", n) for n in (("pooled", "sifted", "examples") if caps else ("pooled", "examples"))
    ]
    left = workspace.table("curate", "left_out")
    told = [storage.read_table(_counts_of(context, "pool"), COUNT.schema)]
    near = near_options(dataclasses.asdict(options), by_outcome(told[0]).get("pooled", 0))
    rounds: list[beam.PTransform] = []
    for number, (source, target) in enumerate(itertools.pairwise(folders)):
        apply = Apply(source, target, left, number, target == folders[-1], context.threads)
        if number:
            rounds.append(CapAndSample(caps, apply, source, shuffling))
        else:
            passes = (() if known is None else (known,)) + local_passes(options)
            rounds.append(Sift(passes, near, apply, source, shuffling))
    for number, (source, sift) in enumerate(zip(folders, rounds, strict=False)):
        path = _counts_of(context, f"round-{number}")
        _run_round(context, workspace.bucket_numbers(source), sift, path)
        told.append(storage.read_table(path, COUNT.schema))
    counts = add_up(told)
    storage.write_record(workspace.counts_file("curate"), counts, COUNT)
    return counts


def _run_round(context: Context, buckets: list[int], sift: beam.PTransform, path: str) -> None:
    def build(pipeline: beam.Pipeline) -> None:
        write_counts(numbers(pipeline, buckets) | sift, path)

    context.run(build)
    storage.remove(context.workspace.spill("curate"))


def _counts_of(context: Context, part: str) -> str:
    return storage.join(context.workspace.table("curate", "counts"), f"{part}.parquet")


def evaluation_inputs(options: CurateOptions) -> list[dict[str, Any]]:
    """The files of evaluation sets, by content: a release is made from them too."""
    if not options.decontaminate:
        return []
    return evaluation.inputs(options.decontaminate, options.decontaminate_columns, options.decontaminate_words)


def _tell_shared(context: Context, outcomes: dict[str, int], shared: int) -> None:
    """Say what the split costs where conversations have users of both sides."""
    if n := outcomes.get("conversation_in_train"):
        context.progress.note(
            f"curate: {n:,} turn(s) of test users cast no vote, as train users speak in their conversations too "
            f"({shared:,} of them); is conversation_id unique in the whole log? Put the user before it where it is not"
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
    return keep_training_set(_known_path(context.workspace), training, options.keep_known), files


def known_pass(workspace: Workspace) -> tuple[KnownPass, ...]:
    """The pass that stage curate held its examples against the training set with; none where it was given no set."""
    facts = workspace.facts("curate")["training_set"]
    return () if facts is None else (KnownPass(_known_path(workspace), **facts),)


def _known_path(workspace: Workspace) -> str:
    return storage.join(workspace.stage("curate"), "training_set.parquet")


def vote_options(options: CurateOptions, signals: SignalOptions, ontology: Ontology | None = None) -> VoteOptions:
    """What of the configuration, and of the turns' ontology, decides which turns vote."""
    test_from = parse_time(options.test_from, "curate.test_from") if options.test_from else None
    context = ContextOptions(options.context_turns, options.context_chars, options.context_below)
    licences = None if options.licences is None else names(options.licences)
    retry = RetryOptions(signals.rephrase_turns, signals.rephrase_gap, signals.rephrase_likeness)
    return VoteOptions(options.confirm_below, options.test_share, context, test_from, licences, ontology, retry)


def pool_options(options: CurateOptions, defect_model_id: str, correction_model_id: str) -> PoolOptions:
    """What of the configuration decides which labels become examples."""
    return PoolOptions(
        options.min_users,
        options.min_agreement,
        options.answer_min_users,
        defect_model_id,
        correction_model_id,
        options.reject_min_users,
    )
