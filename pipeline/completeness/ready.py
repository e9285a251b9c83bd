"""The cheap look at an input before it is read: are its files there, and whole by what their names and sizes say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pipeline import storage
from pipeline.completeness.check import File, check
from pipeline.completeness.expected import ALL, Expectations
from pipeline.errors import ConfigError, InputError, NotReadyError
from pipeline.inputs import Found, look, some
from pipeline.warehouse.source import parse, snapshot_time

# Names under which a file is written before it has its own: of Hadoop and Spark, Beam, copying tools, and ours.
_IN_PROGRESS: Final = re.compile(
    r"(^|/)(_temporary|\.temporary|\.tmp|\.temp|\.spark-staging|\.hive-staging|beam-temp-)[^/]*(/|$)"
    r"|(\.tmp|\.temp|\.part|\.partial|\.filepart|\.inprogress|\.in-progress|\.crdownload|_\.gstmp|\._COPYING_)$"
)
_LISTED: Final = 5


@dataclass(frozen=True)
class Wanted:
    """What an input has to hold to be whole.

    Attributes
    ----------
    expectations : Expectations or None
        A count file: each of its files and partitions is there, with its bytes where it says how many.
    marker : str or None
        Name of a file, for example `_SUCCESS`, that each folder of input files holds, or a folder above it within the
        input, once it is whole.
    """

    expectations: Expectations | None = None
    marker: str | None = None

    def __bool__(self) -> bool:
        """Whether anything is wanted."""
        return self.expectations is not None or self.marker is not None


def ready(
    pattern: str, suffixes: tuple[str, ...], out: str | None = None, wanted: Wanted | None = None
) -> tuple[Found, list[dict[str, Any]]]:
    """Look whether an input is there, reading none of it.

    Parameters
    ----------
    pattern, suffixes, out
        As `pipeline.inputs.find` takes them.
    wanted : Wanted or None

    Returns
    -------
    Found
        The input files.
    list of dict
        An entry each of the count file; see `pipeline.completeness.check.check`.

    Raises
    ------
    NotReadyError
        If something lacks, or a file is still being written.
    InputError
        If there is more than expected, or nothing, as expected.
    """
    expectations, marker = (wanted.expectations, wanted.marker) if wanted else (None, None)
    try:
        found = find_written(pattern, suffixes, out)
    except InputError as error:
        if expectations and all(entry.wanted == 0 for entry in expectations.entries):
            raise
        raise NotReadyError(f"{error}. If the log is still to come, wait for it") from None
    if marker:
        _marked(pattern, found, marker)
    if expectations is None:
        return found, []
    return found, check(expectations, [File(uri, size) for _, uri, size in found.files])


def find_written(pattern: str, suffixes: tuple[str, ...], out: str | None = None) -> Found:
    """Files of an input, none of which still has the name that it is written under; as `pipeline.inputs.find`.

    Raises
    ------
    NotReadyError
        If one has.
    InputError
        If no file matches.
    """
    found = look(pattern, suffixes, out)
    listed = [uri for _, uri, _ in found.files] + found.skipped
    if writing := [uri for uri in listed if _IN_PROGRESS.search(uri)]:
        raise NotReadyError(
            f"--input {pattern}: {len(writing)} file(s) still being written: {', '.join(writing[:_LISTED])}. Wait, or "
            "remove what an export that was stopped left behind"
        )
    return some(found, pattern, suffixes)


def _marked(pattern: str, found: Found, marker: str) -> None:
    """Look for the marker in each folder of files, or in one above it within the input."""

    @cache
    def marked(base: str, folder: str) -> bool:
        if storage.exists(storage.join(base, folder, marker) if folder else storage.join(base, marker)):
            return True
        return bool(folder) and marked(base, folder.rpartition("/")[0])

    places = [(path.removesuffix(uri), uri.rpartition("/")[0]) for path, uri, _ in found.files]
    bare = sorted({folder or "." for base, folder in places if not marked(base, folder)})
    if bare:
        raise NotReadyError(
            f"--input {pattern}: {len(bare)} folder(s) without {marker}: {', '.join(bare[:_LISTED])}. Wait for the "
            "log's export to end"
        )


def told(found: Found, partitions: list[dict[str, Any]]) -> str:
    """What `ready` found, a line for all and one for each entry of the count file."""
    lines = [f"ready     {len(found.files):,} file(s), {sum(size for *_, size in found.files):,} bytes"]
    for entry in partitions:
        expected = f"; {entry['expected']:,} records expected" if entry["expected"] is not None else ""
        lines.append(f"          {entry['path']}: {entry['files']:,} file(s), {entry['bytes']:,} bytes{expected}")
    return "\n".join(lines)


def ready_rows(name: str, wanted: Wanted, project: str | None = None) -> str:
    """Look whether a table, a partition or a query of BigQuery has its rows; gives what was found, as text.

    Parameters
    ----------
    name : str
        As `afterword pull` takes it.
    wanted : Wanted
        Of a count file the paths that stand for the whole input.
    project : str or None
        Who pays; the table's project, or that of the credentials.

    Raises
    ------
    NotReadyError
        If there is no such table, no row, or fewer than expected.
    InputError
        If there are more than expected.
    ConfigError
        If a marker is wanted.
    """
    # The client takes half a second to import.
    from pipeline.warehouse.reading import find_rows

    if wanted.marker:
        raise ConfigError(f"--marker {wanted.marker}: is of files, and {name} has none; leave it out")
    records = find_rows(parse(name), snapshot_time(None), project).records
    if wanted.expectations is not None:
        check(wanted.expectations, [File(ALL, 0, records)])
    elif not records:
        raise NotReadyError(f"{name}: no rows; wait for the log's export to end")
    return f"ready     {name}: {records:,} rows"
