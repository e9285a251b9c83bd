"""Stage curate: votes of judged turns, pooled over users, and the examples that are left of them when duplicates, what
evaluation sets hold and what is over a cap are gone.
"""

from __future__ import annotations

import itertools
from typing import Any

import apache_beam as beam
import pyarrow as pa

from features.signals import SignalOptions
from pipeline import storage
from pipeline.config import CurateOptions, parse_time
from pipeline.curation import evaluation
from pipeline.curation.caps import caps_of
from pipeline.curation.near import NearOptions
from pipeline.curation.passes import local_passes
from pipeline.curation.select import Apply, CapAndSample, Sift
from pipeline.curation.shuffling import Shuffling
from pipeline.gates.counts import by_outcome, closes
from pipeline.jobs.context import Context, numbers, write_one
from pipeline.transforms.answers import ContextOptions
from pipeline.transforms.counts import add_up, total
from pipeline.transforms.curate import CastVotes, Curate, PoolVotes
from pipeline.transforms.pool import PoolOptions
from pipeline.transforms.retries import RetryOptions
from pipeline.transforms.votes import VoteOptions
from schemas import COUNT


def run(context: Context) -> None:
    """Pool the votes, then sift the examples.

    Raises
    ------
    GateError
        If the counts do not close.
    InputError
        If an evaluation set cannot be read.
    """
    workspace = context.workspace
    workspace.begin("curate")
    options, signals = context.config.curate, context.config.signals
    trained, ingested = workspace.facts("train"), workspace.facts("ingest")
    cast = CastVotes(
        workspace.table("ingest", "turns"),
        workspace.table("label", "judgements"),
        workspace.table("label", "corrections"),
        vote_options(options, signals),
        context.threads,
    )
    inputs = evaluation_inputs(options)
    pooled = PoolVotes(
        workspace.table("curate", "pooled"),
        pool_options(options, trained["defect_model_id"], trained["correction_model_id"]),
        context.threads,
    )
    curate = Curate(cast, pooled, ingested["buckets"], context.shuffle_mode, workspace.spill("curate"))

    def build(pipeline: beam.Pipeline) -> None:
        buckets = numbers(pipeline, workspace.buckets("ingest", "turns"))
        write_one(total(buckets | curate), _counts_of(context, "pool"), COUNT)

    context.run(build)
    counts = _sift(context, ingested["buckets"])
    gate = closes("curate", counts, ingested["kept"])
    workspace.finish(
        "curate",
        {
            "config": {"curate": context.config.resolved()["curate"]},
            "kept": by_outcome(counts, closing=True).get("kept", 0),
            "gates": [gate],
            "inputs": inputs,
        },
    )


def _sift(context: Context, buckets: int) -> pa.Table:
    """Leave out what is not to be released, and write the stage's counts."""
    workspace, options, caps = context.workspace, context.config.curate, caps_of(context.config.curate)
    shuffling = Shuffling(buckets, context.shuffle_mode, workspace.spill("curate"), context.threads)
    folders = [
        workspace.table("curate", n) for n in (("pooled", "sifted", "examples") if caps else ("pooled", "examples"))
    ]
    left = workspace.table("curate", "left_out")
    rounds: list[beam.PTransform] = []
    for number, (source, target) in enumerate(itertools.pairwise(folders)):
        apply = Apply(source, target, left, number, target == folders[-1], context.threads)
        if number:
            rounds.append(CapAndSample(caps, apply, source, shuffling))
        else:
            rounds.append(Sift(local_passes(options), near_options(options), apply, source, shuffling))
    told = [storage.read_table(_counts_of(context, "pool"), COUNT.schema)]
    for number, (source, sift) in enumerate(zip(folders, rounds, strict=False)):
        path = _counts_of(context, f"round-{number}")
        _run_round(context, workspace.bucket_numbers(source), sift, path)
        told.append(storage.read_table(path, COUNT.schema))
    counts = add_up(told)
    storage.write_table(storage.join(workspace.stage("curate"), "counts.parquet"), counts)
    return counts


def _run_round(context: Context, buckets: list[int], sift: beam.PTransform, path: str) -> None:
    def build(pipeline: beam.Pipeline) -> None:
        write_one(total(numbers(pipeline, buckets) | sift), path, COUNT)

    context.run(build)
    storage.remove(context.workspace.spill("curate"))


def _counts_of(context: Context, part: str) -> str:
    return storage.join(context.workspace.table("curate", "counts"), f"{part}.parquet")


def near_options(options: CurateOptions) -> NearOptions | None:
    """What near-duplicates are; None = they are not looked for."""
    return NearOptions(options.duplicate_likeness, options.duplicate_letters) if options.deduplicate else None


def evaluation_inputs(options: CurateOptions) -> list[dict[str, Any]]:
    """The files of evaluation sets, by content: a release is made from them too."""
    if not options.decontaminate:
        return []
    return evaluation.inputs(options.decontaminate, options.decontaminate_columns, options.decontaminate_words)


def vote_options(options: CurateOptions, signals: SignalOptions) -> VoteOptions:
    """What of the configuration decides which turns vote."""
    test_from = parse_time(options.test_from, "curate.test_from") if options.test_from else None
    context = ContextOptions(options.context_turns, options.context_chars, options.context_below)
    retry = RetryOptions(signals.rephrase_turns, signals.rephrase_gap, signals.rephrase_likeness)
    return VoteOptions(options.confirm_below, options.test_share, context, test_from, retry)


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
