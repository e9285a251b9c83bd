"""A release's files from made-up examples, by the transforms and writers that a run uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from golden_views import examples

from pipeline.export.package import FOLDER, package
from pipeline.transforms.shards import LINEAGE, HeldBy, ShardPlan, WriteShard, by_plan, examples_by_kind
from pipeline.writers.card import card
from pipeline.writers.views import rows_by_split, unwritten
from schemas import EXAMPLE

_THRESHOLD = {"value": 0.5, "wished": 0.9, "certified_at": None, "precision": None, "labels": 0, "low": None}


def many(times: int, split: str) -> pa.Table:
    """Every form of example, several times under ids of their own."""
    rows = examples().to_pylist()
    held = [r | {"example_id": f"{r['example_id']} {split} {k}", "split": split} for k in range(times) for r in rows]
    return pa.Table.from_pylist(held, schema=EXAMPLE.schema)


def write_release(folder: Path, shards: int = 2) -> Path:
    """Train in some shards and test in one, with the card and the taskset, but without manifest."""
    return write_all(folder, pa.concat_tables([many(8, "train"), many(2, "test")]), shards)[0]


def write_all(folder: Path, whole: pa.Table, shards: int) -> tuple[Path, dict[str, Any]]:
    """A release of these examples, and of its manifest what views are proved by."""
    counts = examples_by_kind(whole)
    files: dict[str, Any] = {}
    base = ShardPlan({"train": shards, "test": 1})
    for views, plan in by_plan(base, rows_by_split(counts)).items():
        held = whole if LINEAGE in views else next(HeldBy(plan, views).process(whole))
        place = pa.array(plan(held))
        write = WriteShard(str(folder), plan, views, frozenset(unwritten(counts)))
        for number in range(sum(plan.shards.values())):
            for told in write.work((number, held.filter(pa.compute.equal(place, number)))):
                files |= {f["path"]: f for f in told.to_pylist()}
    manifest = {
        "release_id": "0123456789abcdef" * 4,
        "window": {"first": "2026-03-01", "last": "2026-03-02"},
        "counts": {"ingest": {}, "label": {}, "release": counts | {"kept": whole.num_rows}},
        "closing": {"curate": {}},
        "domains": {},
        "identity": {"config": {"curate": {"min_users": 2, "answer_min_users": 1, "reject_min_users": 1}}},
        "thresholds": {"defect": _THRESHOLD, "correction": _THRESHOLD},
        "quarantine": {"domains": {}, "carried_from": None},
        "training": {"labels": "labelling functions", "gold_turns": 0},
        "files": files,
    }
    documents = {"README.md": card(manifest).encode(), **{f"{FOLDER}/{n}": d for n, d in package().items()}}
    for name, data in documents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder, manifest
