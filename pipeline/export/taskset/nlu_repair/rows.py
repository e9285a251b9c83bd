"""Rows of the `rl` view, from a release's shards or from exported JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

LABELS = "These labels are known, a line each: domain/intent, then the names of its slots."


def rows(path: Path, split: str) -> Iterator[dict[str, Any]]:
    """Rows of a split in the order of its files: of a release, of a folder of shards or JSON lines, or of one file.

    A single file is read whole, whatever its name.
    """
    for file in files(path, split):
        if file.suffix == ".jsonl":
            with file.open(encoding="utf-8") as lines:
                yield from (json.loads(line) for line in lines if line.strip())
        else:
            import pyarrow.parquet as pq

            for batch in pq.ParquetFile(file).iter_batches(4096):
                yield from batch.to_pylist()


def files(path: Path, split: str) -> list[Path]:
    """The files that hold a split."""
    if path.is_file():
        return [path]
    places = [place for place in (path / "rl" / "data", path) if place.is_dir()]
    for place in places:
        named = (*place.glob(f"{split}-*.parquet"), *place.glob(f"{split}*.jsonl"))
        if named:
            return sorted(named)
    raise FileNotFoundError(f"{path}: no {split}-*.parquet or {split}*.jsonl; give a release, its rl/data, or a file")


def wanted(row: dict[str, Any], config: Any) -> bool:
    """Whether a row passes the filters of a `NluRepairConfig`."""
    rate = row["solve_rate"]
    fits = config.unknown_rate if rate is None else config.min_solve_rate <= rate <= config.max_solve_rate
    sure = row["confidence"] >= config.min_confidence and row["support"] >= config.min_support
    return fits and sure and (not config.domains or row["domain"] in config.domains)


def labels(path: Path) -> str:
    """The labels of train as text, whatever split the tasks are of: what only test has is not given away.

    Raises
    ------
    ValueError
        If the path is one file, or has no train, so that nothing tells which labels are those of train.
    """
    try:
        named = not path.is_file() and files(path, "train")
    except FileNotFoundError:
        named = False
    if not named:
        raise ValueError(f"{path}: the labels listed are those of train; give a release, or its rl/data, with train")
    return label_text(row["answer"] for row in rows(path, "train"))


def label_text(answers: Iterable[str]) -> str:
    """The labels of some answers, sorted, one a line; slots of an intent are those of any of its answers."""
    slots: dict[tuple[str, str], set[str]] = {}
    for answer in answers:
        told = json.loads(answer)
        label = told.get("domain") or "", told.get("intent") or ""
        slots.setdefault(label, set()).update(slot["name"] for slot in told.get("slots") or [])
    lines = [f"{'/'.join(label)} {', '.join(sorted(names))}".rstrip() for label, names in sorted(slots.items())]
    return "\n".join([LABELS, *lines])
