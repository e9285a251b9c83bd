"""The tables of a release, by Beam: views and lineage in shards, what was left out, dead letters."""

from __future__ import annotations

from typing import Any, Final

import apache_beam as beam

from pipeline import storage
from pipeline.errors import GateError
from pipeline.gates.counts import by_outcome
from pipeline.jobs import gates
from pipeline.jobs.context import Context, numbers, write_one
from pipeline.transforms.ingest import Place
from pipeline.transforms.shards import (
    LINEAGE,
    HeldBy,
    ReadBuckets,
    ShardPlan,
    WriteDeadLetters,
    WriteLeftOut,
    WriteShard,
    by_plan,
    plan,
)
from pipeline.transforms.shuffle import Group, Shuffle
from pipeline.writers.views import rows_by_split, unwritten, view_rows
from schemas import DEAD_LETTER, EXAMPLE, FILE, LEFT_OUT, SPLITS

_DEAD_LETTERS_A_FILE: Final = 200_000
# A shard by hash of a hundred thousand is never empty, and a reader holds one at ease.
_LEFT_OUT_A_FILE: Final = 200_000


def write_shards(context: Context, passed: gates.Passed) -> list[dict[str, Any]]:
    """All views and the lineage, by Beam; gives FILE rows."""
    workspace = context.workspace
    told = by_outcome(workspace.counts("release"))
    shards, left_out = _plan(context, told), frozenset(unwritten(told))
    if not sum(shards.shards.values()):
        context.progress.note("release: no example passed curation; the release holds none (see curate.* options)")
        return []
    folder = workspace.table("release", "files")
    path = storage.join(workspace.stage("release"), "shards.parquet")

    def build(pipeline: beam.Pipeline) -> None:
        buckets = numbers(pipeline, workspace.bucket_numbers(passed.examples))
        examples = buckets | beam.ParDo(ReadBuckets(passed.examples, EXAMPLE))
        written = []
        for k, (views, own) in enumerate(by_plan(shards, rows_by_split(told)).items()):
            held = examples if LINEAGE in views else examples | f"Held{k}" >> beam.ParDo(HeldBy(own, views))
            spill = storage.join(workspace.spill("release"), f"plan-{k}")
            shuffled = held | f"Shuffle{k}" >> Group(own, context.shuffle_mode, spill)
            write = WriteShard(folder, own, views, left_out, context.threads)
            written.append(shuffled | f"Write{k}" >> beam.ParDo(write))
        write_one(tuple(written) | beam.Flatten(), path, FILE)

    context.run(build)
    files = storage.read_table(path, FILE.schema).to_pylist()
    expected = {**view_rows(told), LINEAGE: passed.rows}
    written = {view: sum(f["rows"] for f in files if f["path"].startswith(f"{view}/")) for view in expected}
    if written != expected:
        raise GateError(f"stage release: rows handed on: {expected}, written: {written}; run it again")
    if sum(f["path"].startswith("lineage/") for f in files) != sum(shards.shards.values()):
        raise GateError("stage release: a shard stayed empty; raise release.shard_bytes and run it again")
    return files


def _plan(context: Context, counts: dict[str, int]) -> ShardPlan:
    rows = {split: sum(n for k, n in counts.items() if k.startswith(f"examples.{split}.")) for split in SPLITS}
    sizes = {split: counts.get(f"bytes.{split}", 0) for split in SPLITS}
    return plan(rows, sizes, context.config.release.shard_bytes)


def write_left_out(context: Context) -> list[dict[str, Any]]:
    """What curate left out, in files of a size that follows from their number."""
    workspace = context.workspace
    told = by_outcome(workspace.counts("curate"))
    rows = {split: told.get(f"left_out.{split}", 0) for split in SPLITS}
    if not sum(rows.values()):
        return []
    shards = ShardPlan({split: -(-n // _LEFT_OUT_A_FILE) for split, n in rows.items()})
    source, folder = workspace.table("curate", "left_out"), workspace.table("release", "files")
    path = storage.join(workspace.stage("release"), "left_out.parquet")

    def build(pipeline: beam.Pipeline) -> None:
        buckets = numbers(pipeline, workspace.bucket_numbers(source))
        spread = Shuffle(shards, context.shuffle_mode, workspace.spill("release"))
        left = buckets | beam.ParDo(ReadBuckets(source, LEFT_OUT)) | spread
        write_one(left | beam.ParDo(WriteLeftOut(folder, shards)), path, FILE)

    context.run(build)
    files: list[dict[str, Any]] = storage.read_table(path, FILE.schema).to_pylist()
    written = sum(f["rows"] for f in files)
    if written != sum(rows.values()):
        raise GateError(
            f"stage release: {sum(rows.values()):,} examples were left out, {written:,} were written; run it again"
        )
    return files


def write_dead_letters(context: Context) -> list[dict[str, Any]]:
    """Dead letters in files of a size that follows from their number, not from the buckets they lie in."""
    workspace = context.workspace
    rows = by_outcome(workspace.counts("ingest")).get("dead_lettered", 0)
    if not rows:
        return []
    shards = -(-rows // _DEAD_LETTERS_A_FILE)
    source, folder = workspace.table("ingest", "dead_letters"), workspace.table("release", "files")
    path = storage.join(workspace.stage("release"), "dead_letters.parquet")

    def build(pipeline: beam.Pipeline) -> None:
        buckets = numbers(pipeline, context.workspace.buckets("ingest", "dead_letters"))
        spread = Shuffle(Place(shards), context.shuffle_mode, workspace.spill("release"))
        written = (
            buckets
            | beam.ParDo(ReadBuckets(source, DEAD_LETTER))
            | spread
            | beam.ParDo(WriteDeadLetters(folder, shards))
        )
        write_one(written, path, FILE)

    context.run(build)
    files: list[dict[str, Any]] = storage.read_table(path, FILE.schema).to_pylist()
    if sum(f["rows"] for f in files) != rows:
        raise GateError(
            f"stage release: {rows:,} dead letters were handed on, "
            f"{sum(f['rows'] for f in files):,} were written; run it again"
        )
    return files
