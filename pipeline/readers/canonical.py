"""The canonical form: one Turn a line of JSON, or a row of Parquet, in the fields of `schemas.turn`.

JSON is read in blocks by Arrow's C++ reader under the declared schema. A block that holds anything out of the ordinary
(a line that is not JSON, a field of another type, an unknown field, invalid text) is read again line by line, where
each line either becomes a turn or a dead letter. Unknown fields are kept in `extra`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import IO, Any, ClassVar, Final

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from pipeline.readers.base import Batch, dead_letter
from schemas import DEAD_LETTER, LOGGED_TURN, SOURCE, Reason
from schemas.turn import TURN

BLOCK_BYTES: Final = 8 << 20
# Rows of one batch of Parquet.
BATCH_ROWS: Final = 65_536
# What a line may give: the columns of a logged turn, less `source`, which says where the line stands.
_FIELDS: Final = pa.schema([f for f in LOGGED_TURN.schema if f.name != "source"])
_TEXT_IDS: Final = frozenset({"turn_id", "conversation_id", "user_id"})
# Derived from the ids; accepted in the input and computed again.
_DERIVED: Final = frozenset(TURN.names) - frozenset(LOGGED_TURN.names)


class CanonicalReader:
    """Reader `canonical`."""

    name: ClassVar[str] = "canonical"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".parquet")
    zone: ClassVar[str | None] = None

    def read(self, stream: IO[bytes], uri: str) -> Iterator[Batch]:
        """Read Parquet (by its first bytes) or lines of JSON."""
        head = stream.read(4)
        rest = _Prefixed(head, stream)
        yield from _parquet(rest, uri) if head == b"PAR1" else _lines(rest, uri)


class _Prefixed:
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        self._head, self._stream = head, stream

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes."""
        head, self._head = self._head, b""
        if size < 0:
            return head + self._stream.read()
        return head + self._stream.read(size - len(head)) if len(head) < size else self._keep(head, size)

    def _keep(self, head: bytes, size: int) -> bytes:
        self._head = head[size:]
        return head[:size]


def _lines(stream: _Prefixed, uri: str) -> Iterator[Batch]:
    """Blocks of whole lines."""
    position, rest = 1, b""
    while block := stream.read(BLOCK_BYTES):
        block = rest + block
        end = block.rfind(b"\n") + 1
        rest = block[end:]
        if end:
            yield _block(block[:end], uri, position)
            position += block.count(b"\n", 0, end)
    if rest.strip():
        yield _block(rest + b"\n", uri, position)


def _block(block: bytes, uri: str, position: int) -> Batch:
    table = _fast(block)
    if table is None:
        return _slow(block, uri, position)
    return Batch(_located(table, uri, range(position, position + table.num_rows)))


def _fast(block: bytes) -> pa.Table | None:
    """All lines at once, or None where a line needs a closer look."""
    lines = block.count(b"\n")
    if b"\n\n" in block or block.startswith(b"\n") or not block.isascii() and not _is_utf8(block):
        return None
    try:
        table = pj.read_json(
            io.BytesIO(block),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pj.ParseOptions(explicit_schema=_FIELDS, unexpected_field_behavior="infer"),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if table.num_rows != lines or table.schema.names != _FIELDS.names:
        return None
    try:
        return table.cast(_FIELDS) if table.schema.equals(_FIELDS) else None
    except pa.ArrowInvalid:
        return None


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _located(table: pa.Table, uri: str, positions: range) -> pa.Table:
    source = pa.StructArray.from_arrays(
        [pa.repeat(uri, table.num_rows), pa.array(positions, pa.int64())], fields=list(SOURCE)
    )
    return table.append_column("source", source).select(LOGGED_TURN.names)


def _slow(block: bytes, uri: str, first: int) -> Batch:
    """Line by line: what one bad line holds must not take its neighbours along."""
    turns: list[dict[str, Any]] = []
    dead: list[dict[str, Any]] = []
    replaced = 0
    for position, line in enumerate(block.splitlines(), start=first):
        if not line.strip():
            continue
        try:
            row, mended = _row(line)
            pa.Table.from_pylist([row], schema=_FIELDS)
        except _Refused as refusal:
            detail = f"{uri}:{position}: {refusal.detail}"
            dead.append(dead_letter(refusal.reason, uri, position, detail, refusal.record, refusal.field))
            continue
        replaced += mended
        turns.append(row | {"source": {"uri": uri, "position": position}})
    table = pa.Table.from_pylist(turns, schema=LOGGED_TURN.schema)
    return Batch(table, dead=pa.Table.from_pylist(dead, schema=DEAD_LETTER.schema), replaced=replaced)


class _Refused(Exception):
    """A line that cannot become a turn."""

    def __init__(self, reason: Reason, detail: str, record: object, field: str | None = None) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.record, self.field = reason, detail, record, field


def _row(line: bytes) -> tuple[dict[str, Any], bool]:
    """One line as the fields of a logged turn, and whether invalid text was replaced in it."""
    text = line.decode("utf-8", errors="replace")
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Refused(Reason.INVALID_JSON, str(error)[:200], line) from None
    if not isinstance(record, dict):
        raise _Refused(Reason.NOT_A_RECORD, f"found a {type(record).__name__}", record)
    mended, lone = _mend(record)
    row = {name: _field(mended, name, record) for name in _FIELDS.names}
    unknown = {k: v for k, v in mended.items() if k not in row and k not in _DERIVED and k != "source"}
    if unknown:
        row["extra"] = _merge(row["extra"], unknown)
    return row, lone or "\ufffd" in text


def _mend(value: Any) -> tuple[Any, bool]:
    """Lone surrogates to U+FFFD, which a JSON escape can hold but no encoder writes; and whether there was one."""
    text = json.dumps(value, ensure_ascii=False)
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16", errors="replace")
    return (json.loads(clean), True) if clean != text else (value, False)


def _field(record: dict[str, Any], name: str, whole: object) -> Any:
    """A field's value in its declared type; null where absent."""
    value = record.get(name)
    if value is None:
        return None
    if name == "extra" and not isinstance(value, str):
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    if name in _TEXT_IDS and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if name == "interpretations":
        value = _interpretations(value)
    try:
        return pa.array([value], _FIELDS.field(name).type)[0].as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError, ValueError):
        # Arrow's own message quotes the value; a dead letter must not.
        wanted = _FIELDS.field(name).type
        wish = "the declared list of records" if pa.types.is_nested(wanted) else f"a {wanted}"
        detail = f"{name}: {wish} is wanted, found a {type(value).__name__} that is none"
        raise _Refused(Reason.INVALID_FIELD, detail, whole, name) from None


def _interpretations(value: Any) -> Any:
    """Slot values that are not text (numbers, lists, objects) become JSON text: arguments vary from call to call."""
    if not isinstance(value, list):
        return value
    return [
        {**each, "slots": [_slot(s) for s in each["slots"]]}
        if isinstance(each, dict) and isinstance(each.get("slots"), list) else each
        for each in value
    ]


def _slot(slot: Any) -> Any:
    if isinstance(slot, dict) and not isinstance(slot.get("value"), str | None):
        return {**slot, "value": json.dumps(slot["value"], sort_keys=True, ensure_ascii=False)}
    return slot


def _merge(extra: str | None, unknown: dict[str, Any]) -> str:
    try:
        held = json.loads(extra) if extra else {}
    except ValueError:
        held = {"extra": extra}
    held = held if isinstance(held, dict) else {"extra": held}
    return json.dumps({**unknown, **held}, sort_keys=True, ensure_ascii=False)


def _parquet(stream: _Prefixed, uri: str) -> Iterator[Batch]:
    """Batches of a Parquet file; a column that cannot take its declared type refuses its rows, row by row."""
    file = pq.ParquetFile(pa.BufferReader(stream.read()))
    position = 0
    for batch in file.iter_batches(batch_size=BATCH_ROWS):
        table = pa.Table.from_batches([batch])
        yield _parquet_batch(table, uri, position)
        position += table.num_rows


def _parquet_batch(table: pa.Table, uri: str, first: int) -> Batch:
    if set(table.column_names) <= set(_FIELDS.names) | _DERIVED | {"source"}:
        try:
            columns = [_parquet_column(table, field) for field in _FIELDS]
            located = _located(pa.table(columns, schema=_FIELDS), uri, range(first, first + table.num_rows))
            return Batch(located)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            pass
    lines = b"".join(json.dumps(row, default=str).encode() + b"\n" for row in table.to_pylist())
    return _slow(lines, uri, first)


def _parquet_column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if field.name not in table.column_names:
        return pa.chunked_array([pa.nulls(table.num_rows, field.type)])
    values = table[field.name]
    if pa.types.is_timestamp(values.type):
        zoned = values.type.tz is not None
        text = pa.compute.strftime(values.cast(pa.timestamp("us", values.type.tz)).cast(
            pa.timestamp("us", "UTC") if zoned else pa.timestamp("us")), format="%Y-%m-%dT%H:%M:%S")
        return pa.compute.binary_join_element_wise(text, "Z" if zoned else "", "")
    return values.cast(field.type)
