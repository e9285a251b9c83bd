"""Gold from files: labels of people in the columns of `gold`, as Parquet, JSON lines or CSV.

A file needs `turn_id`, `definition` and `value`; for right_interpretation also `candidate_id`, or the `interpretation`
from which it follows. The rest may be missing. A label that cannot be right ends the reading: unlike a turn of a log it
was made on purpose, and one wrong label among those that certify is one too many.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from features.interpretation import flatten, hex_id
from pipeline import storage
from pipeline.errors import InputError
from pipeline.readers.stream import bare_suffix, decompress, open_stored
from pipeline.transforms.ingest import last_read, numbered
from schemas import GOLD, GOLD_DEFINITIONS, INTERPRETATION

SUFFIXES: Final = (".parquet", ".jsonl", ".ndjson", ".csv")
_NEEDED: Final = ("turn_id", "definition", "value")
_CANDIDATE: Final = re.compile(r"[0-9a-f]{16}")
_RIGHT: Final = "right_interpretation"


@dataclass(frozen=True)
class GoldFiles:
    """Labels of some files, one a key, and the files by content."""

    table: pa.Table
    inputs: list[dict[str, Any]]


def read_gold(patterns: Sequence[str]) -> GoldFiles:
    """Read all labels of files, folders or globs; of one that is there twice the one read last holds.

    Parameters
    ----------
    patterns : sequence of str

    Raises
    ------
    InputError
        If nothing matches, or a label cannot be right; with file, row and field.
    """
    from pipeline.jobs.ingest import find

    found = [file for pattern in patterns for file in find(pattern, SUFFIXES, option="--gold").files]
    return of_files([(path, uri) for path, uri, _ in found])


def of_files(files: Iterable[tuple[str, str]]) -> GoldFiles:
    """Read (path, uri) pairs, in the order of uri."""
    tables, inputs = [GOLD.empty()], []
    for path, uri in sorted(set(files), key=lambda file: (file[1], file[0])):
        stored = storage.read_bytes(path)
        table = _checked(_rows(path, uri), uri)
        tables.append(table)
        facts = {"uri": uri, "bytes": len(stored), "sha256": storage.sha256(stored), "labels": table.num_rows}
        inputs.append(facts)
    return GoldFiles(merged(tables), inputs)


def merged(tables: list[pa.Table]) -> pa.Table:
    """Several GOLD tables as one, one label a key."""
    return GOLD.conform(last_read(numbered(pa.concat_tables([t.cast(GOLD.schema) for t in tables]))))


def unknown_turns(gold: pa.Table, known: Iterable[pa.Array]) -> int:
    """Labels whose turn is in none of some arrays of turn ids."""
    left = np.ones(gold.num_rows, bool)
    for turn_ids in known:
        if not left.any():
            break
        left &= ~pc.is_in(gold["turn_id"], value_set=turn_ids).to_numpy()
    return int(left.sum())


def _rows(path: str, uri: str) -> list[dict[str, Any]]:
    stored = open_stored(path)
    try:
        stream = decompress(stored, path)
        data = io.BufferedReader(stream, 1 << 20).read()
        if stream.error is not None:
            raise InputError(f"--gold {uri}: cannot be read to its end ({type(stream.error).__name__}); copy it again")
    finally:
        stored.release()
    suffix = bare_suffix(path)
    if suffix == ".parquet":
        try:
            return list(pq.read_table(pa.BufferReader(data)).to_pylist())
        except pa.ArrowException as error:
            raise InputError(f"--gold {uri}: not a Parquet file ({type(error).__name__})") from None
    text = data.decode("utf-8-sig", "replace")
    return _sheet(text) if suffix == ".csv" else _lines(text, uri)


def _sheet(text: str) -> list[dict[str, Any]]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return [{k: v for k, v in row.items() if v not in (None, "")} for row in rows]


def _lines(text: str, uri: str) -> list[dict[str, Any]]:
    out = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                out.append(json.loads(line))
            except ValueError:
                raise InputError(f"--gold {uri}: line {number} is not JSON; one label a line is wanted") from None
    return out


def _checked(rows: list[Any], uri: str) -> pa.Table:
    labels = [_label(row, uri, number) for number, row in enumerate(rows, start=1)]
    _fill_candidates(labels, rows, uri)
    return pa.Table.from_pylist(labels, schema=GOLD.schema)


def _label(row: Any, uri: str, number: int) -> dict[str, Any]:
    """One row as GOLD has it; the candidate may still be missing."""
    if not isinstance(row, dict):
        raise _refused(uri, number, "", "an object with the columns of gold is wanted", row)
    for name in _NEEDED:
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
