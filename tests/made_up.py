"""A release's files from made-up examples, by the transforms and writers that a run uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from golden_views import examples

from pipeline.export.package import FOLDER, package
from pipeline.transforms.shards import ShardPlan, WriteShard, examples_by_kind
from pipeline.writers.card import card
from pipeline.writers.views import unwritten
from schemas import EXAMPLE

_THRESHOLD = {"value": 0.5, "wished": 0.9, "certified_at": None, "precision": None, "labels": 0, "low": None}


def many(times: int, split: str) -> pa.Table:
    """Every form of example, several times under ids of their own."""
    rows = examples().to_pylist()
    held = [r | {"example_id": f"{r['example_id']} {split} {k}", "split": split} for k in range(times) for r in rows]
    return pa.Table.from_pylist(held, schema=EXAMPLE.schema)


def write_release(folder: Path, shards: int = 2) -> Path:
    """Train in some shards and test in one, with the card and the taskset, but without manifest."""
    whole = pa.concat_tables([many(8, "train"), many(2, "test")])
    counts = examples_by_kind(whole)
    plan = ShardPlan({"train": shards, "test": 1})
    write = WriteShard(str(folder), plan, left_out=frozenset(unwritten(counts)))
    place = pa.array(plan(whole))
    files: dict[str, Any] = {}
    for number in range(shards + 1):
        for told in write.process((number, whole.filter(pa.compute.equal(place, number)))):
            files |= {f["path"]: f for f in told.to_pylist()}
    manifest = {
        "release_id": "0123456789abcdef" * 4,
        "window": {"first": "2026-03-01", "last": "2026-03-02"},
        "counts": {"label": {}, "release": counts | {"kept": whole.num_rows}},
        "thresholds": {"defect": _THRESHOLD, "correction": _THRESHOLD},
        "quarantine": {"domains": {}, "carried_from": None},
        "training": {"labels": "labelling functions", "gold_turns": 0},
        "files": files,
    }
    documents = {"README.md": card(manifest).encode(), **{f"{FOLDER}/{n}": d for n, d in package().items()}}
    for name, data in documents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder
