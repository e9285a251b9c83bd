"""Expected against found and read, by file and partition.

What lacks may still come, so it is told as not ready. What is too much stays so however long one waits (an export that
ran twice), so it is an error of the input; while something lacks as well, that goes before, as the export is not done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from pipeline.completeness.expected import Expectations, Expected
from pipeline.errors import InputError, NotReadyError

# Entries that a message lists.
_LISTED: Final = 5
_STAYS: Final = "Nothing was published; the last release stays current"


@dataclass(frozen=True)
class File:
    """One input file, found or read; `records` and `sha256` are None before it was read."""

    uri: str
    bytes: int
    records: int | None = None
    sha256: str | None = None


@dataclass
class _Findings:
    lacks: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)

    def hold(self, path: str, what: str, wanted: int, held: int, at_least: bool = False) -> None:
        """Hold a number to the one wanted."""
        if held < wanted:
            self.lacks.append(f"{path}: {wanted:,} {what} expected, {held:,} there, {wanted - held:,} lack")
        elif held > wanted and not at_least:
            self.beyond.append(f"{path}: {wanted:,} {what} expected, {held:,} there, {held - wanted:,} too many")


def check(expectations: Expectations, files: Iterable[File], broken: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Hold an input to its count file: before it is read by files and sizes, afterwards by records and hashes too.

    Parameters
    ----------
    expectations : Expectations
    files : iterable of File
    broken : iterable of str
        Relative paths of files that could not be read to their end.

    Returns
    -------
    list of dict
        An entry each: `path`, `files`, `bytes`, `expected` (records, or the fewest) and `read`.

    Raises
    ------
    NotReadyError
        If something lacks.
    InputError
        If nothing lacks, but there is more than expected, or a file that no entry speaks of.
    """
    held = sorted(files, key=lambda file: file.uri)
    found = _Findings()
    found.lacks += [f"{uri}: cannot be read to its end" for uri in sorted(broken)]
    told = [_entry(entry, [f for f in held if entry.holds(f.uri)], found) for entry in expectations.entries]
    found.beyond += [f"{f.uri}: not expected" for f in held if not any(e.holds(f.uri) for e in expectations.entries)]
    where = f"--expect {expectations.name}"
    if found.lacks:
        also = f"; and there is too much: {_listed(found.beyond)}" if found.beyond else ""
        raise NotReadyError(
            f"{where}: the input is not all there: {_listed(found.lacks)}{also}. "
            f"Wait for the log's export to end, and run the same again. {_STAYS}"
        )
    if found.beyond:
        raise InputError(
            f"{where}: the input holds more than expected: {_listed(found.beyond)}. Did an export run twice, or is the "
            f"count file older than the log? Remove what is too much, or give `at_least` for `records`. {_STAYS}"
        )
    return told


def _entry(entry: Expected, files: list[File], found: _Findings) -> dict[str, Any]:
    """Hold the files of an entry to it."""
    records = [f.records for f in files if f.records is not None]
    read = sum(records) if len(records) == len(files) and (files or not entry.wanted) else None
    if not files and (entry.wanted != 0 or entry.sha256):
        wanted = f" ({entry.wanted:,} records expected)" if entry.wanted else ""
        found.lacks.append(f"{entry.path}: no file{wanted}")
    elif len(files) > 1 and entry.sha256:
        found.beyond.append(f"{entry.path}: {len(files)} files, and sha256 is of one")
    else:
        _contents(entry, files, read, found)
    stored = sum(f.bytes for f in files)
    return {"path": entry.path, "files": len(files), "bytes": stored, "expected": entry.wanted, "read": read}


def _contents(entry: Expected, files: list[File], read: int | None, found: _Findings) -> None:
    if entry.bytes is not None:
        found.hold(entry.path, "bytes", entry.bytes, sum(f.bytes for f in files))
    if entry.wanted is not None and read is not None:
        found.hold(entry.path, "records", entry.wanted, read, at_least=entry.at_least is not None)
    for file in files:
        if entry.sha256 and file.sha256 and file.sha256 != entry.sha256:
            found.lacks.append(f"{file.uri}: SHA-256 {entry.sha256[:12]}… expected, {file.sha256[:12]}… there")


def _listed(lines: list[str]) -> str:
    more = f"; and {len(lines) - _LISTED:,} more" if len(lines) > _LISTED else ""
    return "; ".join(lines[:_LISTED]) + more
