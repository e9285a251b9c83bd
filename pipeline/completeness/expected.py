"""What `--expect` names: how many records each file or partition of the input holds, as its source knows."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from typing import Any, Final

from apache_beam.io.filesystem import FileSystem

from pipeline import storage
from pipeline.errors import ConfigError, NotReadyError
from pipeline.given import Given, once, only, read_given, text_of
from pipeline.warehouse.source import Source, is_warehouse, parse, snapshot_time

KEYS: Final = ("path", "records", "at_least", "bytes", "sha256")
_NUMBERS: Final = ("records", "at_least", "bytes")
# The whole input.
ALL: Final = "."


@dataclass(frozen=True)
class Expected:
    """What one file, or all files of a folder or a glob, hold.

    Attributes
    ----------
    path : str
        Relative to the input; `.` is all of it.
    records, at_least : int or None
        Records in it: just so many, or so many or more.
    bytes : int or None
        Size as stored.
    sha256 : str or None
        Of one file, as stored.
    """

    path: str
    records: int | None = None
    at_least: int | None = None
    bytes: int | None = None
    sha256: str | None = None

    @property
    def wanted(self) -> int | None:
        """Records below which it is not all there."""
        return self.at_least if self.records is None else self.records

    def holds(self, uri: str) -> bool:
        """Whether a file, by its path relative to the input, is of it."""
        if self.path == ALL or uri == self.path:
            return True
        if any(c in self.path for c in "*?["):
            return re.match(FileSystem.translate_pattern(self.path), uri) is not None
        return uri.startswith(f"{self.path}/")


@dataclass(frozen=True)
class Expectations:
    """A count file."""

    name: str
    entries: tuple[Expected, ...]


def read_expectations(path: str, project: str | None = None) -> Expectations:
    """Read a count file, on any Beam file system, plain or packed; or ask BigQuery.

    CSV (`.csv`) with a header; JSON lines (`.jsonl`, `.ndjson`), an object each; else JSON: a list of such objects, or
    one object of path to number of records, or to such an object without its path. `bq+query:FILE.sql` is a query whose
    columns are these keys; `bq://project.dataset.table[$partition]` says how many records all of the input has;
    `project` pays, else the table's, or that of the credentials.

    Raises
    ------
    ConfigError
        If it cannot be read, or an entry cannot be right.
    NotReadyError
        If there is no such file, which is written with the log or after it, or BigQuery has no such table.
    """
    if is_warehouse(path):
        source = parse(path)
        return _checked(path, f"--expect {path}", _asked(source, project))
    if not storage.exists(path):
        raise NotReadyError(f"--expect {path}: no such file; if the log's export still has to write it, wait for it")
    given = read_given(path, "--expect")
    return _checked(given.uri, given.where, _rows(given))


def _checked(name: str, where: str, rows: list[tuple[str, dict[str, Any]]]) -> Expectations:
    if not rows:
        raise ConfigError(f"{where}: no entry; {', '.join(KEYS)} of each file or partition are wanted")
    entries = tuple(_entry(row, place) for place, row in rows)
    paths = [entry.path for entry in entries]
    if len(set(paths)) < len(paths):
        twice = next(p for p in paths if paths.count(p) > 1)
        raise ConfigError(f"{where}: {twice!r} stands twice; one entry a file or partition is wanted")
    return Expectations(name, entries)


def _asked(source: Source, project: str | None) -> list[tuple[str, dict[str, Any]]]:
    """Entries as BigQuery has them."""
    # The client takes half a second to import.
    from pipeline.warehouse.reading import answer, find_rows

    if source.sql is None:
        rows = [{"path": ALL, "records": find_rows(source, snapshot_time(None), project).records}]
    else:
        rows = answer(source, project)
    return [(f"--expect {source.name}: row {n}", row) for n, row in enumerate(rows, 1)]


def _rows(given: Given) -> list[tuple[str, dict[str, Any]]]:
    """Entries as they stand, each with what a message calls it."""
    text = text_of(given)
    if given.suffix == ".csv":
        return [(f"{given.where}: line {n}", _cells(row)) for n, row in enumerate(csv.DictReader(io.StringIO(text)), 2)]
    try:
        if given.suffix in (".jsonl", ".ndjson"):
            found = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
            return [(f"{given.where}: line {n}", json.loads(line, object_pairs_hook=once)) for n, line in found]
        held = json.loads(text, object_pairs_hook=once)
    except ValueError as error:
        raise ConfigError(f"{given.where}: not JSON ({error}); a file of CSV ends in .csv") from None
    if isinstance(held, dict):
        return [(f"{given.where}: {path!r}", {"path": path} | _mapped(row)) for path, row in held.items()]
    if isinstance(held, list):
        return [(f"{given.where}: entry {n}", row) for n, row in enumerate(held, 1)]
    raise ConfigError(f"{given.where}: an object of path to records, or a list of objects, is wanted")


def _mapped(row: object) -> dict[str, Any]:
    return row if isinstance(row, dict) else {"records": row}


def _cells(row: dict[str | None, Any]) -> dict[str, Any]:
    """A line of CSV; an empty cell says nothing."""
    named = {"more cells than the header" if key is None else key.strip(): cell for key, cell in row.items()}
    return {key: cell for key, cell in named.items() if cell not in ("", None)}


def _entry(row: object, where: str) -> Expected:
    if not isinstance(row, dict):
        raise ConfigError(f"{where}: an object with {', '.join(KEYS)} is wanted, found {row!r:.80}")
    only(row, KEYS, where)
    numbers = {key: _whole(row[key], f"{where} {key}") for key in _NUMBERS if row.get(key) is not None}
    path = row.get("path")
    if not isinstance(path, str) or not path.strip():
        raise ConfigError(f"{where}: path, relative to the input, is wanted ({ALL} for all of it), found {path!r:.80}")
    if not any(key in numbers for key in ("records", "at_least")) and not row.get("sha256"):
        raise ConfigError(f"{where}: records, at_least or sha256 is wanted")
    if len(numbers.keys() & {"records", "at_least"}) > 1:
        raise ConfigError(f"{where}: records or at_least is wanted, not both")
    sha256 = row.get("sha256")
    if sha256 is not None and not re.fullmatch("[0-9a-fA-F]{64}", str(sha256)):
        raise ConfigError(f"{where} sha256: 64 hexadecimal digits are wanted, found {sha256!r:.80}")
    return Expected(_relative(path), **numbers, sha256=str(sha256).lower() if sha256 else None)


def _relative(path: str) -> str:
    return path.strip().removeprefix("./").rstrip("/") or ALL


def _whole(value: object, where: str) -> int:
    """A number of something; warehouses write it as text."""
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]+\s*", value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ConfigError(f"{where}: a whole number, 0 or more, is wanted, found {value!r:.80}")
