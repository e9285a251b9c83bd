"""Labels as people write them down, checked and brought to the columns of `gold`.

A label needs `turn_id`, `definition` and `value`; for right_interpretation also `candidate_id`, or the `interpretation`
from which it follows. The rest may be missing. A label that cannot be right ends the reading: unlike a turn of a log it
was made on purpose, and one wrong label among those that certify is one too many.
"""

from __future__ import annotations

import json
import math
import re
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import flatten, hex_id
from features.text import flat, is_true
from pipeline.errors import InputError
from schemas import GOLD, GOLD_DEFINITIONS, INTERPRETATION, SOURCE

NEEDED: Final = ("turn_id", "definition", "value")
_CANDIDATE: Final = re.compile(r"[0-9a-f]{16}")
_RIGHT: Final = "right_interpretation"


def checked(rows: list[Any], uri: str) -> pa.Table:
    """GOLD rows of a file's rows.

    Raises
    ------
    InputError
        If a label cannot be right, with file, row and field.
    """
    labels = [_label(row, uri, number) for number, row in enumerate(rows, start=1)]
    _fill_candidates(labels, rows, uri)
    return pa.Table.from_pylist(labels, schema=GOLD.schema)


def as_they_are(table: pa.Table, uri: str) -> pa.Table | None:
    """GOLD rows of a table at once, where every label is as it must be.

    None where any may not be: the rows are then looked at one by one, which takes longer and says which it is.
    """
    if not set(NEEDED) <= set(table.column_names) or _naive(table):
        return None
    try:
        held = {f.name: _column(table, f) for f in GOLD.schema if f.name != "read_from"}
    except pa.ArrowException:
        return None
    right = pc.equal(held["definition"], _RIGHT)
    candidate = pc.match_substring_regex(pc.fill_null(held["candidate_id"], ""), f"^{_CANDIDATE.pattern}$")
    sound = (
        pc.greater(pc.utf8_length(held["turn_id"]), 0),
        pc.is_in(held["definition"], value_set=pa.array(GOLD_DEFINITIONS)),
        pc.equal(right, held["candidate_id"].is_valid()),
        pc.if_else(right, candidate, True),
        pc.and_(pc.greater_equal(held["value"], 0.0), pc.less_equal(held["value"], 1.0)),
        pc.greater_equal(pc.fill_null(held["raters"], 1), 1),
    )
    if not all(is_true(each).all() for each in sound):
        return None
    source = pc.fill_null(held["source"], "")
    held["source"] = pc.if_else(pc.equal(source, ""), f"file/{uri}", source)
    uris, positions = pa.repeat(uri, table.num_rows), pa.array(np.arange(1, table.num_rows + 1))
    held["read_from"] = pa.StructArray.from_arrays([uris, positions], fields=list(SOURCE))
    return GOLD.conform(pa.table(held))


def _column(table: pa.Table, field: pa.Field) -> pa.Array:
    if field.name not in table.column_names:
        return pa.nulls(table.num_rows, field.type)
    return flat(table[field.name].cast(field.type))


def _naive(table: pa.Table) -> bool:
    """Whether times have no zone."""
    if "available_at" not in table.column_names:
        return False
    type = table["available_at"].type
    return not pa.types.is_null(type) and getattr(type, "tz", None) is None


def _label(row: Any, uri: str, number: int) -> dict[str, Any]:
    """One row as GOLD has it; the candidate may still be missing."""
    if not isinstance(row, dict):
        raise _refused(uri, number, "", "an object with the columns of gold is wanted", row)
    for name in NEEDED:
        if row.get(name) is None or row.get(name) == "":
            raise _refused(uri, number, name, "a value is wanted", row.get(name))
    definition, candidate = row["definition"], row.get("candidate_id")
    if definition not in GOLD_DEFINITIONS:
        raise _refused(uri, number, "definition", f"one of {', '.join(GOLD_DEFINITIONS)} is wanted", definition)
    if definition != _RIGHT and candidate is not None:
        raise _refused(uri, number, "candidate_id", f"nothing is wanted but for {_RIGHT}", candidate)
    if candidate is not None and not _CANDIDATE.fullmatch(str(candidate)):
        raise _refused(uri, number, "candidate_id", "16 hexadecimal digits are wanted", candidate)
    return {
        "turn_id": str(row["turn_id"]),
        "definition": definition,
        "candidate_id": candidate,
        "value": _share(row["value"], uri, number),
        "raters": _raters(row.get("raters"), uri, number),
        "source": str(row.get("source") or f"file/{uri}"),
        "read_from": {"uri": uri, "position": number},
        "available_at": _time(row.get("available_at"), uri, number),
    }


def _share(value: Any, uri: str, number: int) -> float:
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = math.nan
    # Written so that NaN is refused too.
    if not 0.0 <= share <= 1.0:
        raise _refused(uri, number, "value", "a share of raters from 0 to 1 is wanted", value)
    return share


def _raters(value: Any, uri: str, number: int) -> int | None:
    if value is None:
        return None
    try:
        raters = int(value)
    except (TypeError, ValueError, OverflowError):
        raters = 0
    if raters < 1 or raters != float(value):
        raise _refused(uri, number, "raters", "a number of people, at least 1, is wanted", value)
    return raters


def _time(value: Any, uri: str, number: int) -> datetime | None:
    if value is None:
        return None
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise _refused(uri, number, "available_at", "ISO 8601 with an offset is wanted", value)
    return time


def _fill_candidates(labels: list[dict[str, Any]], rows: list[Any], uri: str) -> None:
    """Ids of interpretations that were given themselves."""
    at = [k for k, label in enumerate(labels) if label["definition"] == _RIGHT and label["candidate_id"] is None]
    given = []
    for k in at:
        value = rows[k].get("interpretation")
        try:
            held = json.loads(value) if isinstance(value, str) else value
            given.append(pa.array([[held]], pa.list_(INTERPRETATION)))
        except (ValueError, TypeError, pa.ArrowException):
            held = None
        if not isinstance(held, dict):
            raise _refused(uri, k + 1, "candidate_id", f"{_RIGHT} wants it, or an interpretation as in turn", value)
    if given:
        ids = hex_id(flatten(pa.concat_arrays(given)).candidate_id)
        for k, name in zip(at, ids, strict=True):
            labels[k]["candidate_id"] = name


def _refused(uri: str, number: int, field: str, wanted: str, found: Any) -> InputError:
    text = repr(found)
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return InputError(f"--gold {uri}: row {number}{f', {field}' if field else ''}: {wanted}, found {shown}")
