"""Clear what a run and its audits left beside the stages and the releases, where a forgotten user may stand in it."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline import storage
from pipeline.audit.drawing import DESIGN, SAMPLE
from pipeline.gold import SUFFIXES, of_files
from pipeline.lifecycle.listing import below, walk
from pipeline.lifecycle.search import Sought, quotes
from pipeline.lifecycle.stages import rewrite

RUN: str = "run.json"


def audits(out: str, turn_ids: pa.Array, told_by: frozenset[str]) -> list[str]:
    """Folders of audits to remove: those that drew a turn of the user, and those of which nobody can tell.

    Parameters
    ----------
    out : str
    turn_ids : pyarrow.Array
        Known turns of the user.
    told_by : frozenset of str
        Releases of which all turns are known.
    """
    folder = storage.join(out, "audits")
    named = below(folder, walk(folder))
    return [
        storage.join(folder, name) for name in sorted(named) if _shows(storage.join(folder, name), turn_ids, told_by)
    ]


def _shows(audit: str, turn_ids: pa.Array, told_by: frozenset[str]) -> bool:
    design, sample = storage.join(audit, DESIGN), storage.join(audit, SAMPLE)
    if not (storage.exists(design) and storage.exists(sample)):
        return True
    if json.loads(storage.read_bytes(design)).get("release_id") not in told_by:
        return True
    with storage.open_parquet(sample) as file:
        drawn = flat(file.read(columns=["turn_id"])["turn_id"])
    return bool(pc.any(pc.is_in(drawn, value_set=turn_ids)).as_py())


def gold(out: str, sought: Sought, cut: bool = True) -> list[str]:
    """Take the user's labels out of the files in `<out>/gold`; gives the files that have any."""
    changed = []
    for entry in walk(storage.join(out, "gold")):
        if entry.path.endswith(SUFFIXES):
            held = of_files([(entry.path, entry.path)]).table
            theirs = sought.turns(flat(held["turn_id"]))
            if len(theirs):
                changed.append(entry.path)
            if len(theirs) and cut:
                _cut(entry.path, theirs)
    return changed


def _cut(path: str, turn_ids: pa.Array) -> None:
    """Take labels of some turns out of a file, whose other lines stay as they are."""
    if path.endswith(".parquet"):
        rewrite(path, turn_ids)
        return
    text, ids = storage.read_bytes(path).decode("utf-8-sig", "replace"), frozenset(turn_ids.to_pylist())
    kept = _csv_without(text, ids) if path.endswith(".csv") else _lines_without(text, ids)
    storage.write_bytes(path, kept.encode(), durable=True)


def _lines_without(text: str, turn_ids: frozenset[str]) -> str:
    lines = text.split("\n")
    return "\n".join(line for line in lines if not line.strip() or json.loads(line).get("turn_id") not in turn_ids)


def _csv_without(text: str, turn_ids: frozenset[str]) -> str:
    rows = list(csv.reader(io.StringIO(text, newline="")))
    at = rows[0].index("turn_id") if rows and "turn_id" in rows[0] else None
    kept = rows if at is None else [row for row in rows if len(row) <= at or row[at] not in turn_ids]
    if len(kept) == len(rows):
        return text
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows(kept)
    return written.getvalue()


def runs(out: str, sought: Sought) -> list[str]:
    """Files of runs to remove: records that quote the user, and all that may show rows of a table."""
    found = walk(storage.join(out, "runs"))
    return [e.path for e in found if not e.path.endswith(f"/{RUN}") or quotes(e.path, sought)]


def leftovers(out: str) -> list[str]:
    """Temporary files, and files of shuffles, that runs which were stopped left behind."""
    folders = tuple(storage.join(out, "stages", name) + "/" for name in ("spill", "withdrawn"))
    return [e.path for e in walk(out) if e.path.rsplit("/", 1)[-1].startswith(".tmp-") or e.path.startswith(folders)]
