"""What has no column goes to `extra`, as JSON, in the nesting that it was found in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from pipeline.readers.canonical.fields import FIELDS, IGNORED

# Made once: `json.dumps` makes one a call where anything is not as by default.
_ENCODER: Final = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False)


def extra_of(record: dict[str, Any], given: Any) -> str | None:
    """The log's own `extra` with all that has no column added, as JSON."""
    unknown = _unknown(record, _PLACES)
    if unknown:
        return _merge(given, unknown)
    return given if given is None or isinstance(given, str) else as_json(given)


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


_PLACES: Final = _Places.of(pa.struct(list(FIELDS)), IGNORED)


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


def _merge(extra: Any, unknown: dict[str, Any]) -> str:
    """The log's own `extra`, an object or its JSON, wins over an unknown field of the same name."""
    try:
        held = json.loads(extra) if isinstance(extra, str) else extra
    except ValueError:
        held = extra
    held = held if isinstance(held, dict) else {} if held is None else {"extra": held}
    return as_json({**unknown, **held})


def as_json(value: Any) -> str:
    """Sorted keys, text as it is; refuses NaN with a ValueError."""
    return _ENCODER.encode(value)
