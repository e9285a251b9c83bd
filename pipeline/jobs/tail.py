"""What a release hands to the next run: the open and the recent sessions of stage ingest, with their labels."""

from __future__ import annotations

from typing import Any, Final

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline import intervals, storage
from pipeline import manifest as manifests
from pipeline.errors import GateError, StageError
from pipeline.gold import merged
from pipeline.jobs.context import Context, write_one
from pipeline.progress import Progress
from pipeline.tail.files import LABELS, OPEN, RECENT, kind_of, path_of, rows_of
from pipeline.tail.takeover import Taken
from pipeline.transforms.shards import ReadBuckets, WriteTail, write_file
from pipeline.transforms.shuffle import KeyHash, Shuffle
from pipeline.transforms.write import bucket_path
from schemas import FILE, GOLD, TAIL

# A reader holds so many at ease.
_TURNS_A_FILE: Final = 100_000
_KINDS: Final = (OPEN, RECENT)


def tell_tail(progress: Progress, taken: Taken, outcomes: dict[str, int]) -> None:
    """Say what was taken over, and what of it came to be judged."""
    of = "no release" if taken.release_id is None else f"release {taken.release_id[:12]}"
    opened, recent = outcomes.get("taken.open", 0), outcomes.get("taken.recent", 0)
    progress.note(
        f"ingest: {opened:,} turn(s) of open and {recent:,} of judged sessions were taken over from {of}; "
        f"{outcomes.get('left_open', 0):,} are left to the next run, as their sessions are still open"
    )
    if n := outcomes.get("late"):
        progress.note(
            f"ingest: {n:,} turn(s) are late, of before the interval; {outcomes.get('late_alone', 0):,} of them found "
            f"nothing of their session; {outcomes.get('revised_sessions', 0):,} judged session(s) are judged anew"
        )


def mind_parent(context: Context, parent: str | None) -> None:
    """Refuse to release what stage ingest read before the release of the interval before was made, or made anew.

    Raises
    ------
    StageError
        If so.
    """
    taken, out = context.workspace.facts("ingest")["taken"], context.workspace.out
    if taken is None or parent in (None, taken["release"]) or not context.config.ingest.take_over:
        return
    if taken["release"] is not None and taken["release"] not in {m["release_id"] for m in manifests.releases(out)}:
        # It was replaced by one without a forgotten user, and so were the turns that came from it.
        return
    since = "anew " if taken["release"] else ""
    raise StageError(
        f"release {str(parent)[:12]}, of the interval before this one, was made {since}since stage ingest looked for "
        "what it hands on; run `afterword ingest` and what follows it again"
    )


def tell_followers(context: Context, manifest: dict[str, Any]) -> None:
    """Say which releases of the next interval know nothing of what this one left open."""
    if not rows_of(manifest)[OPEN]:
        return
    held = [m for m in manifests.releases(context.workspace.out) if m["interval"]]
    later = [m for m in held if intervals.follows(m, manifest)]
    if later and all((m["identity"].get("taken") or {}).get("release") != manifest["release_id"] for m in later):
        context.progress.note(
            f"release: {rows_of(manifest)[OPEN]:,} turn(s) of open sessions are left to the interval from "
            f"{manifest['interval']['end']} on, whose release {later[-1]['release_id'][:12]} was made before this one: "
            "run it again"
        )


def write_tail(context: Context) -> list[dict[str, Any]]:
    """Write the tail into the files of stage release; gives FILE rows. None where the run is not incremental.

    Raises
    ------
    GateError
        If other rows are written than stage ingest handed on.
    """
    rows = tail_rows(context)
    if not sum(rows.values()):
        return []
    workspace = context.workspace
    folder, path = workspace.table("release", "files"), storage.join(workspace.stage("release"), "tail.parquet")

    def build(pipeline: beam.Pipeline) -> None:
        written = []
        for kind in (kind for kind in _KINDS if rows[kind]):
            source, shards = workspace.table("ingest", kind), -(-rows[kind] // _TURNS_A_FILE)
            buckets = pipeline | f"Buckets_{kind}" >> beam.Create(workspace.bucket_numbers(source), reshuffle=True)
            turns = buckets | f"Read_{kind}" >> beam.ParDo(ReadBuckets(source, TAIL))
            spill = storage.join(workspace.spill("release"), kind)
            spread = Shuffle(KeyHash("subject_id", shards), context.shuffle_mode, spill)
            shuffled = turns | f"Shuffle_{kind}" >> spread
            written.append(shuffled | f"Write_{kind}" >> beam.ParDo(WriteTail(folder, kind, shards)))
        write_one(tuple(written) | beam.Flatten(), path, FILE)

    context.run(build)
    files: list[dict[str, Any]] = storage.read_table(path, FILE.schema).to_pylist()
    written = {kind: sum(f["rows"] for f in files if kind_of(f["path"]) == kind) for kind in _KINDS}
    if written != rows:
        raise GateError(f"stage release: turns for the next run: {rows} handed on, {written} written; run it again")
    return files + _write_labels(context, folder)


def tail_rows(context: Context) -> dict[str, int]:
    """Turns of each kind that stage ingest left for the next run."""
    found = {}
    for kind in _KINDS:
        folder = context.workspace.table("ingest", kind)
        paths = [bucket_path(folder, number) for number in context.workspace.bucket_numbers(folder)]
        found[kind] = sum(storage.rows(path) for path in paths)
    return found


def _write_labels(context: Context, folder: str) -> list[dict[str, Any]]:
    """Labels of the tail's turns, in one file: people give few."""
    workspace = context.workspace
    gold = workspace.read("ingest", "gold", GOLD)
    ids = [flat(workspace.read("ingest", kind, TAIL, ["turn_id"])["turn_id"]) for kind in _KINDS]
    held = gold.filter(pc.is_in(gold["turn_id"], value_set=pa.concat_arrays(ids)))
    if not held.num_rows:
        return []
    # One a key, as stage train takes them.
    held = merged([held]).sort_by([(key, "ascending") for key in GOLD.key])
    return list(write_file(folder, path_of(LABELS, 0, 1), held, GOLD).to_pylist())
