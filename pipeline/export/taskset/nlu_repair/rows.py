"""Rows of the `rl` view, from a release's shards or from exported JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


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
