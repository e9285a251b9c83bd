"""JSON line by line: what Arrow's reader stumbles over becomes a turn where it can, else a dead letter."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from pipeline.readers.base import Batch, Refused, dead_letter, parse
from pipeline.readers.canonical.extra import as_json, extra_of
from pipeline.readers.canonical.fields import FIELDS, located
from schemas import DEAD_LETTER, Reason

_TEXT_IDS: Final = frozenset({"turn_id", "parent_id", "conversation_id", "user_id"})


def line_by_line(block: bytes, uri: str, first: int) -> Batch:
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
    turns = located(table, uri, pa.array(positions, pa.int64())).filter(good)
    refused += [(positions[row], refusal) for row, refusal in faults.items()]
    dead = [dead_letter(r.reason, uri, at, f"{uri}:{at}: {r.detail}", r.record, r.field) for at, r in refused]
    return Batch(turns, dead=pa.Table.from_pylist(dead, schema=DEAD_LETTER.schema), replaced=replaced)


def _typed(records: list[dict[str, Any]]) -> tuple[pa.Table, dict[int, Refused]]:
    """The records' fields in their declared types, and the rows of which one does not fit (null in that field)."""
    faults: dict[int, Refused] = {}
    columns = []
    for field in FIELDS:
        values = [_loose(record, field.name) for record in records]
        try:
            columns.append(_array(values, field.type))
        except MISFITS:
            bad = [row for row, value in enumerate(values) if not _fits(value, field.type)]
            for row in bad:
                faults.setdefault(row, _misfit(records[row], field))
                values[row] = None
            columns.append(_array(values, field.type))
    return pa.Table.from_arrays(columns, schema=FIELDS), faults


# Arrow's own message quotes the value; a dead letter must not.
MISFITS: Final = (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError, ValueError)


def _array(values: list[Any], type: pa.DataType) -> pa.Array:
    """Arrow values. Arrow cuts a fraction off without a word where an integer is wanted; here it does not fit."""
    if pa.types.is_integer(type) and any(isinstance(v, float) and not v.is_integer() for v in values):
        raise ValueError("a fraction where an integer is wanted")
    if pa.types.is_nested(type) and not all(_is_formed(value, type) for value in values):
        raise ValueError("an array where an object is wanted, or the other way round")
    return pa.array(values, type)


def _is_formed(value: Any, type: pa.DataType) -> bool:
    """Arrays where a list is declared and objects where a struct is.

    Arrow also takes an array of pairs for a struct, but not beside an object: such a line would end the whole file.
    """
    if value is None or not pa.types.is_nested(type):
        return True
    if pa.types.is_struct(type):
        return isinstance(value, dict) and all(_is_formed(value.get(f.name), f.type) for f in type)
    return isinstance(value, list) and all(_is_formed(each, type.value_type) for each in value)


def _fits(value: Any, type: pa.DataType) -> bool:
    try:
        _array([value], type)
    except MISFITS:
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
        return extra_of(record, value)
    if name in _TEXT_IDS and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _interpretations(value) if name == "interpretations" else value


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
        return {**slot, "value": as_json(slot["value"])}
    return slot
