"""Rows of a view from its own columns and those that it takes over from the examples."""

from __future__ import annotations

import pyarrow as pa

from schemas import Record


def rows(record: Record, examples: pa.Table, own: dict[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    """The record's rows, one an example: columns that are not `own` are the examples' of the same name."""
    columns = [own[name] if name in own else examples[name] for name in record.names]
    return record.conform(pa.table(columns, names=list(record.names)))
