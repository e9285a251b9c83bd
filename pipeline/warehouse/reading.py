"""Rows of BigQuery as Arrow batches: how many there are, and the streams of a read session."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
from google.cloud.bigquery import QueryJobConfig
from google.cloud.bigquery_storage_v1 import types
from google.protobuf.timestamp_pb2 import Timestamp

from pipeline.errors import ConfigError
from pipeline.warehouse.clients import asking, read_client, rest_client
from pipeline.warehouse.source import Source, restriction

# What a read session opens; a view or a table of another store it does not.
_READABLE: Final = frozenset({"TABLE", "SNAPSHOT", "CLONE", "MATERIALIZED_VIEW"})
# A cached answer would be of another time than asked for.
_UNCACHED: Final = QueryJobConfig(use_query_cache=False)


@dataclass(frozen=True)
class Rows:
    """What is to be read.

    Attributes
    ----------
    records : int
        Rows, as a query counts them.
    table : str
        `projects/…/datasets/…/tables/…`: the table itself, or the one that a query's answer lies in.
    where : str
        Condition on the rows, in SQL; empty for all of them.
    snapshot : datetime or None
        The time as of which the table is read; None for the answer of a query, which does not change.
    project : str
        Whose session it is.
    nbytes : int or None
        Logical bytes, by the table's metadata and the rows' share of it; None where that does not say.
    """

    records: int
    table: str
    where: str
    snapshot: datetime | None
    project: str
    nbytes: int | None = None


def find_rows(source: Source, snapshot: datetime, project: str | None) -> Rows:
    """Count what is to be read, and say how it is read.

    A count of a whole table or partition reads its metadata alone and costs nothing.

    Raises
    ------
    NotReadyError
        If there is no such table.
    ConfigError
        If a session cannot read it, the partition is of another kind, or BigQuery refuses the query.
    """
    with asking(source.name):
        client = rest_client(project or source.project)
        if source.sql is not None:
            sql = re.sub(r"@snapshot\b", _literal(snapshot), source.sql)
            job = client.query(sql, job_config=_UNCACHED)
            records = job.result().total_rows
            return Rows(records, _path(job.destination), "", None, client.project)
        table = client.get_table(source.id)
        where = _where(source, table)
        sql = f"SELECT COUNT(*) AS records FROM `{source.id}` FOR SYSTEM_TIME AS OF {_literal(snapshot)}"
        counted = client.query(f"{sql} WHERE {where}" if where else sql, job_config=_UNCACHED).result()
        records = next(iter(counted))["records"]
        nbytes = round(table.num_bytes / table.num_rows * records) if table.num_rows and table.num_bytes else None
        return Rows(records, _path(table), where, snapshot, client.project, nbytes)


def answer(source: Source, project: str | None) -> list[dict[str, Any]]:
    """The few rows of a query, as dicts of column to value."""
    with asking(source.name):
        rows = rest_client(project).query(source.sql).result()
        return [dict(row.items()) for row in rows]


def _literal(snapshot: datetime) -> str:
    """The time as SQL has it: where a table's past is asked for, a parameter is not taken everywhere."""
    return f"TIMESTAMP '{snapshot.isoformat(sep=' ')}'"


def _path(table: Any) -> str:
    return f"projects/{table.project}/datasets/{table.dataset_id}/tables/{table.table_id}"


def _where(source: Source, table: Any) -> str:
    if table.table_type not in _READABLE:
        raise ConfigError(f"{source.name}: a {table.table_type.lower()}, which no read session opens; give a query")
    cut = table.time_partitioning
    if cut is None or source.partition is None:
        return restriction(source, None, None, None)
    types_of = {field.name: field.field_type for field in table.schema}
    return restriction(source, cut.type_, cut.field, types_of.get(cut.field))


def read(rows: Rows, streams: int, take: Callable[[pa.RecordBatch], None]) -> pa.Schema:
    """Read all rows, several streams at once; which row comes in which stream, and when, is BigQuery's choice.

    Parameters
    ----------
    rows : Rows
    streams : int
        Streams at most.
    take : callable
        Is given each batch, from several threads.

    Returns
    -------
    pyarrow.Schema
        Of the rows.
    """
    with asking(rows.table):
        client = read_client()
        session = client.create_read_session(
            parent=f"projects/{rows.project}", read_session=_session(rows), max_stream_count=streams
        )
        schema = pa.ipc.read_schema(pa.py_buffer(session.arrow_schema.serialized_schema))

        def drain(name: str) -> None:
            for batch in _batches(client, name, schema):
                take(batch)

        with ThreadPoolExecutor(max(1, len(session.streams))) as threads:
            for _ in threads.map(drain, [stream.name for stream in session.streams]):
                pass
    return schema


def _session(rows: Rows) -> types.ReadSession:
    session = types.ReadSession(table=rows.table, data_format=types.DataFormat.ARROW)
    session.read_options = types.ReadSession.TableReadOptions(row_restriction=rows.where)
    if rows.snapshot is not None:
        moment = Timestamp()
        moment.FromDatetime(rows.snapshot)
        session.table_modifiers = types.ReadSession.TableModifiers(snapshot_time=moment)
    return session


def _batches(client: Any, stream: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Batches of a stream; where the connection breaks the client goes on at the row reached."""
    for message in client.read_rows(stream):
        data = message.arrow_record_batch.serialized_record_batch
        if data:
            yield pa.ipc.read_record_batch(pa.py_buffer(data), schema)
