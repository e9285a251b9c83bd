"""verifiers: the taskset's package, and its tasks as JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa

from pipeline import storage
from pipeline.export.package import package


def write(splits: Mapping[str, pa.Table], told: Counter[str]) -> dict[str, bytes]:
    """The files, by name: the package, and `<split>.jsonl` with the rows of the `rl` view by key."""
    files = package()
    for split, table in splits.items():
        told["rows.written"] += table.num_rows
        rows = table.sort_by("key").to_pylist()
        files[f"{split}.jsonl"] = b"".join(storage.canonical_json(row) + b"\n" for row in rows)
    return files
