"""`afterword pull`: rows of BigQuery as they were at one time, in files that `run` reads.

    <to>/data/part-00000-of-00004.parquet   the rows
    <to>/counts.json                        count file for `--expect`: records, bytes and hash of each
    <to>/pulled.json                        written last: what was pulled, as of when, how many

The same rows give the same bytes, however many streams they came in: a row's file follows from a hash of its turn_id
(of the whole row where there is none), and in a file rows are in the order of received_time, event_time, and a hash of
the row. So all that is true of files is true of the warehouse: a release is named by their content, and the next run
finds nothing new.
"""

from __future__ import annotations

import json
import math
import tempfile
from typing import Any, Final

import pyarrow as pa

from pipeline import storage
from pipeline.errors import ConfigError, GateError, NotReadyError
from pipeline.warehouse.reading import Rows, find_rows, read
from pipeline.warehouse.sorting import Sorter
from pipeline.warehouse.source import Source, parse, snapshot_time

DATA, COUNTS, PULLED, PULLING = "data", "counts.json", "pulled.json", "pulling.json"
# Rows of a file: what is sorted in memory at once, some 250 MB of turns.
FILE_ROWS: Final = 250_000
# Streams read at once, unless told otherwise.
STREAMS: Final = 8


def pull(
    name: str, to: str, snapshot: str | None = None, project: str | None = None, streams: int = STREAMS
) -> dict[str, Any]:
    """Write a table, a partition or a query's answer as files.

    Parameters
    ----------
    name : str
        `bq://project.dataset.table[$partition]` or `bq+query:FILE.sql`; a query may use `@snapshot`.
    to : str
        Folder, new or empty, or one that an earlier pull of the same left; on any Beam file system.
    snapshot : str or None
        Time as of which the table is read; now where none is given.
    project : str or None
        Who pays; the table's project, or that of the credentials.
    streams : int
        Streams at most. The files do not depend on it.

    Returns
    -------
    dict
        What `pulled.json` holds, and `again`: whether it was there already.

    Raises
    ------
    NotReadyError
        If there is no such table, or no row.
    ConfigError
        If a name or a time is none, the folder holds something else, or BigQuery refuses.
    GateError
        If not all rows that were counted could be read.
    """
    source, moment = parse(name), snapshot_time(snapshot)
    told = {"source": source.name, "snapshot": moment.isoformat()} | _sql(source)
    held = _held(to, told, fixed=snapshot is not None)
    if held is not None:
        return held | {"again": True}
    rows = find_rows(source, moment, project)
    if not rows.records:
        raise NotReadyError(f"{name}: no rows as of {told['snapshot']}; wait for the log's export to end")
    storage.remove(storage.join(to, DATA))
    storage.write_bytes(storage.join(to, PULLING), storage.readable_json(told))
    files, schema = _write(rows, storage.join(to, DATA), streams)
    columns = {field.name: str(field.type) for field in schema}
    told |= {"records": rows.records, "files": len(files), "where": rows.where, "columns": columns}
    storage.write_bytes(storage.join(to, COUNTS), storage.readable_json(files))
    storage.write_bytes(storage.join(to, PULLED), storage.readable_json(told))
    storage.remove(storage.join(to, PULLING))
    return told | {"again": False}


def _sql(source: Source) -> dict[str, Any]:
    return {} if source.sql is None else {"sql_sha256": storage.sha256(source.sql.encode())}


def _held(to: str, told: dict[str, Any], fixed: bool) -> dict[str, Any] | None:
    """What an earlier pull of the same left whole; None where there is nothing, or it was stopped.

    Raises
    ------
    ConfigError
        If the folder holds anything else.
    """
    pulled = storage.join(to, PULLED)
    if storage.exists(pulled):
        held: dict[str, Any] = json.loads(storage.read_bytes(pulled))
        if fixed and all(held.get(key) == value for key, value in told.items()):
            _whole(to)
            return held
        raise ConfigError(
            f"--to {to}: it holds {held.get('source')} as of {held.get('snapshot')}; give another source or time a "
            "folder of its own, or the same --snapshot"
        )
    if not storage.exists(storage.join(to, PULLING)) and storage.files(to, "**"):
        raise ConfigError(f"--to {to}: it holds files that no pull wrote; a new or empty folder is wanted")
    return None


def _whole(to: str) -> None:
    """Check the files of a pull by name and size."""
    counts = json.loads(storage.read_bytes(storage.join(to, COUNTS)))
    folder = storage.join(to, DATA)
    sizes = {path.rsplit("/", 1)[-1]: size for path, size in storage.sizes(folder).items()}
    if sizes != {name: entry["bytes"] for name, entry in counts.items()}:
        raise ConfigError(f"{folder}: not the files that were pulled; remove {to} and pull again")


def _write(rows: Rows, folder: str, streams: int) -> tuple[dict[str, dict[str, Any]], pa.Schema]:
    """Read the rows, and write them in their order; gives the count file."""
    parts = math.ceil(rows.records / FILE_ROWS)
    with tempfile.TemporaryDirectory() as place:
        sorter = Sorter(place, parts)
        schema = read(rows, streams, sorter.take)
        sorter.close()
        if sorter.records != rows.records:
            raise GateError(
                f"{rows.table}: {rows.records:,} rows were counted, {sorter.records:,} were read; run the "
                "same again, which begins anew"
            )
        files = {}
        for number, table in enumerate(sorter.tables(schema)):
            if table.num_rows:
                name = f"part-{number:05d}-of-{parts:05d}.parquet"
                data = storage.encode(table)
                storage.write_bytes(storage.join(folder, name), data)
                files[name] = {"records": table.num_rows, "bytes": len(data), "sha256": storage.sha256(data)}
    return files, schema
