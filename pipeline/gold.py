"""Gold from files: labels of people in the columns of `gold`, as Parquet, JSON lines or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline import storage
from pipeline.errors import InputError
from pipeline.inputs import find, unpacked
from pipeline.labels import NEEDED, as_they_are, checked
from pipeline.readers.stream import bare_suffix
from pipeline.transforms.ingest import last_read
from pipeline.transforms.superseding import numbered
from schemas import GOLD

SUFFIXES: Final = (".parquet", ".jsonl", ".ndjson", ".csv")


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
    found = [file for pattern in patterns for file in find(pattern, SUFFIXES, option="--gold").files]
    return of_files([(path, uri) for path, uri, _ in found])


def of_folder(folder: str, only: frozenset[str] | None = None) -> GoldFiles:
    """Labels in `<out>/gold`, where audits put theirs; of the named files alone where names are given."""
    paths = storage.files(folder)
    named = [(path, f"gold/{path.rsplit('/', 1)[-1]}") for path in paths if path.endswith(SUFFIXES)]
    return of_files([(path, uri) for path, uri in named if only is None or uri in only])


def of_files(files: Iterable[tuple[str, str]]) -> GoldFiles:
    """Read (path, uri) pairs, in the order of uri."""
    tables, inputs = [GOLD.empty()], []
    for path, uri in sorted(set(files), key=lambda file: (file[1], file[0])):
        stored = storage.read_bytes(path)
        table = _table(path, uri)
        tables.append(table)
        facts = {"uri": uri, "bytes": len(stored), "sha256": storage.sha256(stored), "labels": table.num_rows}
        inputs.append(facts)
    return GoldFiles(merged(tables), inputs)


def merged(tables: list[pa.Table]) -> pa.Table:
    """Several GOLD tables as one, one label a key."""
    return GOLD.conform(last_read(numbered(pa.concat_tables([t.cast(GOLD.schema) for t in tables]))))


def unknown_turns(gold: pa.Table, known: Iterable[pa.Array]) -> int:
    """Labels whose turn is in none of some arrays of turn ids."""
    return int(_unknown(gold, known).sum())


def known_labels(gold: pa.Table, known: Iterable[pa.Array]) -> pa.Table:
    """Labels whose turn is in one of some arrays of turn ids."""
    return gold.filter(pa.array(~_unknown(gold, known)))


def _unknown(gold: pa.Table, known: Iterable[pa.Array]) -> npt.NDArray[np.bool_]:
    left = np.ones(gold.num_rows, bool)
    for turn_ids in known:
        if not left.any():
            break
        left &= ~pc.is_in(gold["turn_id"], value_set=turn_ids).to_numpy()
    return left


def _table(path: str, uri: str) -> pa.Table:
    """A file's labels, checked."""
    data = unpacked(path, f"--gold {uri}")
    suffix = bare_suffix(path)
    if suffix == ".parquet":
        try:
            table = pq.read_table(pa.BufferReader(data))
        except pa.ArrowException as error:
            raise InputError(f"--gold {uri}: not a Parquet file ({type(error).__name__})") from None
        held = as_they_are(table, uri)
        return checked(table.to_pylist(), uri) if held is None else held
    text = data.decode("utf-8-sig", "replace")
    return checked(_sheet(text, uri) if suffix == ".csv" else _lines(text, uri), uri)


def _sheet(text: str, uri: str) -> list[dict[str, Any]]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        missing = [name for name in NEEDED if rows.fieldnames and name not in rows.fieldnames]
        if missing:
            raise InputError(
                f"--gold {uri}: no column {', '.join(missing)}, found {', '.join(rows.fieldnames or [])[:200]}; "
                "UTF-8 with commas, and the columns of gold in its first line are wanted"
            )
        return [{k: v for k, v in row.items() if v not in (None, "")} for row in rows]
    except csv.Error as error:
        raise InputError(f"--gold {uri}: line {rows.line_num} is not CSV ({error}); is a quote left open?") from None


def _lines(text: str, uri: str) -> list[dict[str, Any]]:
    out = []
    # Not splitlines: an id or a value may hold U+2028 and other separators, which JSON leaves as they are.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                out.append(json.loads(line))
            except ValueError:
                raise InputError(f"--gold {uri}: line {number} is not JSON; one label a line is wanted") from None
    return out
