"""Rows of Parquet, in batches."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.readers.base import Batch
from pipeline.readers.canonical.fields import FIELDS, IGNORED, finite, located
from pipeline.readers.canonical.line_by_line import MISFITS, line_by_line
from pipeline.readers.stream import Prefixed

# Parquet begins to be read at its end, so the file is kept: of a larger one on the disk, not in memory.
SPOOL_BYTES: Final = 64 << 20
# Bytes written to the disk at once.
BLOCK_BYTES: Final = 8 << 20
# Rows of one batch.
BATCH_ROWS: Final = 65_536


def parquet(stream: Prefixed, uri: str) -> Iterator[Batch]:
    """Batches of a Parquet file; a column that cannot take its declared type refuses its rows, row by row."""
    with ExitStack() as held:
        file = pq.ParquetFile(_seekable(stream, held))
        position = 0
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            table = pa.Table.from_batches([batch])
            yield _batch(table, uri, position)
            position += table.num_rows


def _seekable(stream: Prefixed, held: ExitStack) -> pa.NativeFile:
    """The stream's bytes where they can be read from any place: in memory, or of a large file in a temporary one."""
    begin = stream.read(SPOOL_BYTES)
    if len(begin) < SPOOL_BYTES:
        return pa.BufferReader(begin)
    spool = held.enter_context(tempfile.NamedTemporaryFile())  # noqa: SIM115 - `held` closes it
    spool.write(begin)
    while block := stream.read(BLOCK_BYTES):
        spool.write(block)
    spool.flush()
    return held.enter_context(pa.OSFile(spool.name))


def _batch(table: pa.Table, uri: str, first: int) -> Batch:
    if _all_known(table.schema):
        try:
            columns = [_column(table, field) for field in FIELDS]
            typed = pa.table(columns, schema=FIELDS)
            if finite(typed):
                return Batch(located(typed, uri, pa.array(range(first, first + table.num_rows), pa.int64())))
        except (*MISFITS, pa.ArrowNotImplementedError):
            pass
    lines = b"".join(json.dumps(row, default=_plain).encode() + b"\n" for row in table.to_pylist())
    return line_by_line(lines, uri, first)


def _all_known(schema: pa.Schema) -> bool:
    """No column, and no field of a nested one, would be lost by a cast to the declared types."""
    fields = [f for f in schema if f.name not in IGNORED]
    return _within(pa.struct(fields), pa.struct(list(FIELDS)))


def _within(type: pa.DataType, declared: pa.DataType) -> bool:
    if pa.types.is_struct(type) and pa.types.is_struct(declared):
        fields = {f.name: f.type for f in declared}
        return all(f.name in fields and _within(f.type, fields[f.name]) for f in type)
    if pa.types.is_list(type) and pa.types.is_list(declared):
        return _within(type.value_type, declared.value_type)
    return not pa.types.is_nested(type)


def _plain(value: Any) -> str:
    """A value of Parquet that JSON has no form for."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if field.name not in table.column_names:
        return pa.chunked_array([pa.nulls(table.num_rows, field.type)])
    values = table[field.name]
    return _iso(values) if pa.types.is_timestamp(values.type) else values.cast(field.type)


def _iso(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """ISO 8601 in UTC, or without an offset as the times are."""
    zoned = times.type.tz is not None
    micros = times.cast(pa.timestamp("us", times.type.tz)).cast(pa.timestamp("us", "UTC" if zoned else None))
    return pc.binary_join_element_wise(pc.strftime(micros, format="%Y-%m-%dT%H:%M:%S"), "Z" if zoned else "", "")
