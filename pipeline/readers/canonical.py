"""The canonical form: one Turn a line of JSON, or a row of Parquet, in the fields of `schemas.turn`.

JSON is read in blocks by Arrow's C++ reader under the declared schema. In a block with unknown fields it passes over
them; each line is parsed once more for what goes to `extra`. A block that holds anything else out of the ordinary (a
line that is not JSON, a field of another type, invalid text) is read line by line, where each line either becomes a
turn or a dead letter.
"""

from __future__ import annotations

import codecs
import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

from pipeline.readers.base import Batch, Refused, dead_letter, parse
from schemas import DEAD_LETTER, LOGGED_TURN, SOURCE, Reason
from schemas.turn import TURN

BLOCK_BYTES: Final = 8 << 20
# Parquet begins to be read at its end, so the file is kept: of a larger one on the disk, not in memory.
SPOOL_BYTES: Final = 64 << 20
# Rows of one batch of Parquet.
BATCH_ROWS: Final = 65_536
# What a line may give: the columns of a logged turn, less `source`, which says where the line stands.
_FIELDS: Final = pa.schema([f for f in LOGGED_TURN.schema if f.name != "source"])
_TEXT_IDS: Final = frozenset({"turn_id", "conversation_id", "user_id"})
# Accepted in the input, and computed again: what follows from the ids, and where the record stands.
_IGNORED: Final = frozenset(TURN.names) - frozenset(_FIELDS.names)


class CanonicalReader:
    """Reader `canonical`."""

    name: ClassVar[str] = "canonical"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".parquet")
    zone: ClassVar[str | None] = None

    def read(self, stream: IO[bytes], uri: str) -> Iterator[Batch]:
        """Read Parquet (by its first bytes) or lines of JSON."""
        head = stream.read(4)
        head = head.removeprefix(codecs.BOM_UTF8)
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
        table = _with_extra(_fast(block, "ignore"), block)
    if table is None:
        return _slow(block, uri, position)
    return Batch(_located(table, uri, pa.array(range(position, position + table.num_rows), pa.int64())))


def _fast(block: bytes, unknown: str = "error") -> pa.Table | None:
    """All lines at once, or None where a line needs a closer look. An unknown field is an `error`, or one to `ignore`:
    never a type to be inferred, as inferring recurses, and deep nesting would end the process.
    """
    lines = block.count(b"\n")
    if not _one_object_a_line(block, lines) or (not block.isascii() and not _is_utf8(block)):
        return None
    try:
        table = pj.read_json(
            io.BytesIO(block),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pj.ParseOptions(explicit_schema=_FIELDS, unexpected_field_behavior=unknown),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    # Two objects on a line are more rows than lines.
    return table if table.num_rows == lines and table.schema.equals(_FIELDS) and _finite(table) else None


def _with_extra(table: pa.Table | None, block: bytes) -> pa.Table | None:
    """The lines' turns with all that has no column in `extra`; None where a line needs a closer look."""
    if table is None:
        return None
    try:
        records = [_DECODER.decode(line) for line in block.decode().split("\n")[:-1]]
        extra = [_extra(record, record.get("extra")) for record in records]
    except (ValueError, RecursionError):
        return None
    return table.set_column(table.column_names.index("extra"), "extra", pa.array(extra, pa.string()))


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


# Made once: the functions of `json` make one a call where anything is not as by default.
_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)
_ENCODER: Final = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False)


def _one_object_a_line(block: bytes, lines: int) -> bool:
    """Every line begins with a brace and ends with one: no blank line, and no object goes on in the next line."""
    begins = block.startswith(b"{") + block.count(b"\n{")
    return begins == lines == block.count(b"}\n") + block.count(b"}\r\n")


def _finite(table: pa.Table) -> bool:
    """No NaN and no infinity, which Arrow reads but JSON does not have."""
    numbers = (
        table["explicit_rating"],
        table["propensity"],
        pc.struct_field(pc.list_flatten(table["asr"]), "confidence"),
        pc.struct_field(pc.list_flatten(table["interpretations"]), "score"),
    )
    return all(pc.all(pc.is_finite(n), min_count=0).as_py() for n in numbers)


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _located(table: pa.Table, uri: str, positions: pa.Array) -> pa.Table:
    source = pa.StructArray.from_arrays([pa.repeat(uri, table.num_rows), positions], fields=list(SOURCE))
    return table.append_column("source", source).select(LOGGED_TURN.names)


def _slow(block: bytes, uri: str, first: int) -> Batch:
    """Line by line: what one bad line holds must not take its neighbours along."""
    records: list[dict[str, Any]] = []
    positions: list[int] = []
    refused: list[tuple[int, Refused]] = []
    replaced = 0
    # Only a line feed ends a line; a carriage return before it is white space of JSON.
    for position, line in enumerate(block.split(b"\n"), start=first):
        if not line.strip():
            continue
        try:
            record, mended = parse(line)
            if not isinstance(record, dict):
                raise Refused(Reason.NOT_A_RECORD, f"found a {type(record).__name__}", record)
        except Refused as refusal:
            refused.append((position, refusal))
            continue
        records.append(record)
        positions.append(position)
        replaced += mended
    table, faults = _typed(records)
    good = pa.array([row not in faults for row in range(len(records))], pa.bool_())
    turns = _located(table, uri, pa.array(positions, pa.int64())).filter(good)
    refused += [(positions[row], refusal) for row, refusal in faults.items()]
    dead = [dead_letter(r.reason, uri, at, f"{uri}:{at}: {r.detail}", r.record, r.field) for at, r in refused]
    return Batch(turns, dead=pa.Table.from_pylist(dead, schema=DEAD_LETTER.schema), replaced=replaced)


def _typed(records: list[dict[str, Any]]) -> tuple[pa.Table, dict[int, Refused]]:
    """The records' fields in their declared types, and the rows of which one does not fit (null in that field)."""
    faults: dict[int, Refused] = {}
    columns = []
    for field in _FIELDS:
        values = [_loose(record, field.name) for record in records]
        try:
            columns.append(_array(values, field.type))
        except _MISFITS:
            bad = [row for row, value in enumerate(values) if not _fits(value, field.type)]
            for row in bad:
                faults.setdefault(row, _misfit(records[row], field))
                values[row] = None
            columns.append(_array(values, field.type))
    return pa.Table.from_arrays(columns, schema=_FIELDS), faults


# Arrow's own message quotes the value; a dead letter must not.
_MISFITS: Final = (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError, ValueError)


def _array(values: list[Any], type: pa.DataType) -> pa.Array:
    """Arrow values. Arrow cuts a fraction off without a word where an integer is wanted; here it does not fit."""
    if pa.types.is_integer(type) and any(isinstance(v, float) and not v.is_integer() for v in values):
        raise ValueError("a fraction where an integer is wanted")
    return pa.array(values, type)


def _fits(value: Any, type: pa.DataType) -> bool:
    try:
        _array([value], type)
    except _MISFITS:
        return False
    return True


def _misfit(record: dict[str, Any], field: pa.Field) -> Refused:
    wish = "the declared list of records" if pa.types.is_nested(field.type) else f"a value of type {field.type}"
    found = type(record[field.name]).__name__
    detail = f"{field.name}: {wish} is wanted, found a {found} that is none"
    return Refused(Reason.INVALID_FIELD, detail, record, field.name)


def _loose(record: dict[str, Any], name: str) -> Any:
    """A field as given, less the liberties that are allowed: numbers as ids, any JSON as `extra` or a slot's value."""
    value = record.get(name)
    if name == "extra":
        return _extra(record, value)
    if name in _TEXT_IDS and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _interpretations(value) if name == "interpretations" else value


def _extra(record: dict[str, Any], given: Any) -> str | None:
    """The log's own `extra` with all that has no column added, as JSON."""
    unknown = _unknown(record, _PLACES)
    if unknown:
        return _merge(given, unknown)
    return given if given is None or isinstance(given, str) else _json(given)


@dataclass(frozen=True)
class _Places:
    """What an object, or each object of a list, has a place for: its fields' names, and the places of nested ones."""

    names: frozenset[str]
    nested: dict[str, _Places]

    @staticmethod
    def of(type: pa.StructType, accepted: frozenset[str] = frozenset()) -> _Places:
        """Places of a declared type, and of further names."""
        items = {f.name: f.type.value_type if pa.types.is_list(f.type) else f.type for f in type}
        nested = {name: _Places.of(item) for name, item in items.items() if pa.types.is_struct(item)}
        return _Places(accepted | items.keys(), nested)


_PLACES: Final = _Places.of(pa.struct(list(_FIELDS)), _IGNORED)


def _unknown(value: Any, places: _Places) -> Any:
    """The parts of a value that have no place, in the same nesting; empty where there is none."""
    if isinstance(value, dict):
        parts = {k: value[k] for k in value.keys() - places.names}
        for name, inner in places.nested.items():
            if part := _unknown(value.get(name), inner):
                parts[name] = part
        return parts
    if isinstance(value, list):
        parts_of_list = [_unknown(v, places) if isinstance(v, dict) else None for v in value]
        return parts_of_list if any(parts_of_list) else None
    return None


def _interpretations(value: Any) -> Any:
    """Slot values that are not text (numbers, lists, objects) become JSON text: arguments vary from call to call."""
    if not isinstance(value, list):
        return value
    return [
        {**each, "slots": [_slot(s) for s in each["slots"]]}
        if isinstance(each, dict) and isinstance(each.get("slots"), list)
        else each
        for each in value
    ]


def _slot(slot: Any) -> Any:
    if isinstance(slot, dict) and not isinstance(slot.get("value"), str | None):
        return {**slot, "value": _json(slot["value"])}
    return slot


def _merge(extra: Any, unknown: dict[str, Any]) -> str:
    """The log's own `extra`, an object or its JSON, wins over an unknown field of the same name."""
    try:
        held = json.loads(extra) if isinstance(extra, str) else extra
    except ValueError:
        held = extra
    held = held if isinstance(held, dict) else {} if held is None else {"extra": held}
    return _json({**unknown, **held})


def _json(value: Any) -> str:
    return _ENCODER.encode(value)


def _parquet(stream: _Prefixed, uri: str) -> Iterator[Batch]:
    """Batches of a Parquet file; a column that cannot take its declared type refuses its rows, row by row."""
    with ExitStack() as held:
        file = pq.ParquetFile(_seekable(stream, held))
        position = 0
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            table = pa.Table.from_batches([batch])
            yield _parquet_batch(table, uri, position)
            position += table.num_rows


def _seekable(stream: _Prefixed, held: ExitStack) -> pa.NativeFile:
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


def _parquet_batch(table: pa.Table, uri: str, first: int) -> Batch:
    if _all_known(table.schema):
        try:
            columns = [_parquet_column(table, field) for field in _FIELDS]
            typed = pa.table(columns, schema=_FIELDS)
            if _finite(typed):
                return Batch(_located(typed, uri, pa.array(range(first, first + table.num_rows), pa.int64())))
        except (*_MISFITS, pa.ArrowNotImplementedError):
            pass
    lines = b"".join(json.dumps(row, default=_plain).encode() + b"\n" for row in table.to_pylist())
    return _slow(lines, uri, first)


def _all_known(schema: pa.Schema) -> bool:
    """No column, and no field of a nested one, would be lost by a cast to the declared types."""
    fields = [f for f in schema if f.name not in _IGNORED]
    return _within(pa.struct(fields), pa.struct(list(_FIELDS)))


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


def _parquet_column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if field.name not in table.column_names:
        return pa.chunked_array([pa.nulls(table.num_rows, field.type)])
    values = table[field.name]
    if pa.types.is_timestamp(values.type):
        zoned = values.type.tz is not None
        text = pc.strftime(
            values.cast(pa.timestamp("us", values.type.tz)).cast(
                pa.timestamp("us", "UTC") if zoned else pa.timestamp("us")
            ),
            format="%Y-%m-%dT%H:%M:%S",
        )
        return pc.binary_join_element_wise(text, "Z" if zoned else "", "")
    return values.cast(field.type)
