"""A run's tables cut by the day that their rows go to, a Parquet file each, without holding a table in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline import storage
from pipeline.transforms.write import bucket_path
from pipeline.warehouse.log_days import LogDays, name_of
from pipeline.warehouse.pushed_tables import DAY_COLUMN, TABLES, TIME_COLUMN, PushedTable
from pipeline.workspace import Workspace
from schemas import JUDGEMENT

_STAGES: Final = {"signals": "signals", "judgements": "label", "corrections": "label"}
_BLOCK: Final = 1 << 20


@dataclass(frozen=True)
class DayFile:
    """Rows of a table on one day (`YYYYMMDD`), as a local Parquet file."""

    table: PushedTable
    day: str
    path: Path
    rows: int
    sha256: str


def by_day(
    workspace: Workspace, release_id: str, log_days: LogDays, folder: Path, also: frozenset[str]
) -> list[DayFile]:
    """Cut the tables of a run.

    Parameters
    ----------
    workspace : Workspace
    release_id : str
    log_days : LogDays
        The day of each row.
    folder : Path
        Work folder; takes all rows twice.
    also : frozenset of str
        Days that are to have a file though there is no row of them, beside those of the interval.

    Returns
    -------
    list of DayFile
        For every day of the run one a table, with or without rows, so that what a partition held before goes.
    """
    pieces: dict[tuple[str, str], list[Path]] = {}
    for table in TABLES:
        for number in workspace.buckets(_STAGES[table.name], table.name):
            for day, rows in _days(_bucket(workspace, table, number, release_id, log_days)):
                path = folder / f"{table.name}-{day}-{number}.arrow"
                with pa.ipc.new_file(str(path), rows.schema) as writer:
                    writer.write_table(rows)
                pieces.setdefault((table.name, day), []).append(path)
    days = sorted({day for _, day in pieces} | log_days.owned | also)
    return [_joined(table, day, pieces.get((table.name, day), []), folder) for day in days for table in TABLES]


def _bucket(workspace: Workspace, table: PushedTable, number: int, release_id: str, log_days: LogDays) -> pa.Table:
    """A bucket of a table, in the columns that are pushed."""
    stage = _STAGES[table.name]
    rows = storage.read_table(bucket_path(workspace.table(stage, table.name), number), table.record.schema)
    if TIME_COLUMN not in rows.column_names:
        # Corrections stand in the bucket of their turns.
        judged = bucket_path(workspace.table("label", "judgements"), number)
        times = storage.read_table(judged, JUDGEMENT.schema, ["turn_id", TIME_COLUMN])
        at = pc.index_in(rows["turn_id"], value_set=times["turn_id"].combine_chunks())
        rows = rows.append_column(TIME_COLUMN, times[TIME_COLUMN].take(at))
    days = log_days.of(rows[TIME_COLUMN].cast(pa.int64()).to_numpy())
    rows = rows.append_column(DAY_COLUMN, pa.array(days.astype(np.int32)).cast(pa.date32()))
    released = pa.repeat(pa.scalar(release_id), rows.num_rows)
    return rows.append_column("release_id", released).select(table.schema.names).cast(table.schema)


def _days(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    days = rows[DAY_COLUMN].cast(pa.int32()).to_numpy()
    for day in np.unique(days).tolist():
        yield name_of(day), rows.filter(pa.array(days == day))


def _joined(table: PushedTable, day: str, pieces: list[Path], folder: Path) -> DayFile:
    """The pieces of a day as one file, in the order of the buckets."""
    path, rows = folder / f"{table.name}-{day}.parquet", 0
    with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False) as writer:
        for piece in pieces:
            with pa.ipc.open_file(str(piece)) as held:
                part = held.read_all()
            writer.write_table(part)
            rows += part.num_rows
            piece.unlink()
    return DayFile(table, day, path, rows, _sha256(path))


def _sha256(path: Path) -> str:
    hashed = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(_BLOCK):
            hashed.update(block)
    return hashed.hexdigest()
