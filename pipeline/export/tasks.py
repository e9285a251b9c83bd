"""verifiers: the taskset's package, and its tasks as JSON lines."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from pipeline import storage
from pipeline.export.package import package


def write(table: pa.Table, told: Counter[str], split: str) -> dict[str, bytes]:
    """The files, by name: the package, and `<split>.jsonl` with the rows of the `rl` view by key."""
    told["rows.written"] += table.num_rows
    lines = b"".join(storage.canonical_json(row) + b"\n" for row in table.sort_by("key").to_pylist())
    return {**package(), f"{split}.jsonl": lines}
