"""What is read of BigQuery, as it is named: a table, a partition of one, or a query."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from pipeline.errors import ConfigError
from pipeline.given import read_given, text_of

TABLE: Final = "bq://"
QUERY: Final = "bq+query:"
_NAMED: Final = re.compile(r"([a-z0-9:.-]+)\.([A-Za-z0-9_]+)\.([^.$`/]+?)(?:\$([0-9A-Za-z_-]+))?")
_DASHED: Final = re.compile(r"(\$[0-9]{4})-([0-9]{2})-([0-9]{2})$")
# Digits of a partition's id, by how the table is cut; the id's form, and the pseudo column of tables cut by arrival.
_FORMS: Final = {"HOUR": "%Y%m%d%H", "DAY": "%Y%m%d", "MONTH": "%Y%m", "YEAR": "%Y"}
BY_ARRIVAL: Final = "_PARTITIONTIME"


@dataclass(frozen=True)
class Source:
    """A table, a partition, or a query.

    Attributes
    ----------
    name : str
        As it was given; a day without its dashes.
    project, dataset, table, partition : str or None
        None for a query; `partition` is the part after `$`.
    sql : str or None
        Text of the query.
    """

    name: str
    project: str | None = None
    dataset: str | None = None
    table: str | None = None
    partition: str | None = None
    sql: str | None = None

    @property
    def id(self) -> str:
        """The table as SQL and the client name it."""
        return f"{self.project}.{self.dataset}.{self.table}"


def is_warehouse(name: str) -> bool:
    """Whether it names a table or a query of BigQuery."""
    return name.startswith((TABLE, QUERY))


def parse(name: str) -> Source:
    """Read a name: `bq://project.dataset.table`, the same with `$partition`, or `bq+query:FILE.sql`.

    A day may have dashes, as schedulers write it: `$2026-11-01` is `$20261101`.

    Raises
    ------
    ConfigError
        If it is none of these, or the file of the query cannot be read.
    """
    if name.startswith(QUERY):
        sql = text_of(read_given(name.removeprefix(QUERY), QUERY.rstrip(":"))).strip().rstrip(";")
        if not sql:
            raise ConfigError(f"{name}: empty; one SELECT is wanted")
        return Source(name, sql=sql)
    name = _DASHED.sub(r"\1\2\3", name)
    found = _NAMED.fullmatch(name.removeprefix(TABLE)) if name.startswith(TABLE) else None
    if found is None:
        raise ConfigError(f"{name}: {TABLE}project.dataset.table, with $partition or without, or {QUERY}FILE is wanted")
    return Source(name, *found.groups())


def restriction(source: Source, cut: str | None, column: str | None, type: str | None) -> str:
    """The condition that holds for the rows of a partition, in SQL.

    It serves the query that counts and the read session alike: a session takes no name with `$`.

    Parameters
    ----------
    source : Source
    cut : str or None
        How the table is cut by time: HOUR, DAY, MONTH or YEAR; None where it is not.
    column, type : str or None
        The column that it is cut by and its type; None where it is cut by the time of arrival.

    Raises
    ------
    ConfigError
        If the table has no such partitions.
    """
    if source.partition is None:
        return ""
    if cut is None:
        raise ConfigError(f"{source.name}: the table is not partitioned by time; leave out ${source.partition}")
    begin, end = _span(source, cut)
    kind = "TIMESTAMP" if column is None else (type or "").upper()
    form = "%Y-%m-%d" if kind == "DATE" else "%Y-%m-%d %H:%M:%S"
    zone = "+00:00" if kind == "TIMESTAMP" else ""
    where = f"`{column}`" if column else BY_ARRIVAL
    literals = [f"CAST('{moment.strftime(form)}{zone}' AS {kind})" for moment in (begin, end)]
    return f"{where} >= {literals[0]} AND {where} < {literals[1]}"


def _span(source: Source, cut: str) -> tuple[datetime, datetime]:
    """First moment of a partition and of the next."""
    try:
        begin = datetime.strptime(source.partition or "", _FORMS[cut]).replace(tzinfo=UTC)
        if begin.strftime(_FORMS[cut]) != source.partition:
            raise ValueError
    except (ValueError, KeyError):
        raise ConfigError(
            f"{source.name}: the table has a partition a {cut.lower()}; ${_example(cut)} is wanted for one"
        ) from None
    if cut == "YEAR":
        return begin, begin.replace(year=begin.year + 1)
    if cut == "MONTH":
        return begin, (begin + timedelta(days=31)).replace(day=1)
    return begin, begin + (timedelta(days=1) if cut == "DAY" else timedelta(hours=1))


def _example(cut: str) -> str:
    return datetime(2026, 11, 1, 9, tzinfo=UTC).strftime(_FORMS.get(cut, "%Y%m%d"))


def snapshot_time(text: str | None) -> datetime:
    """A point in time as it is given, ISO 8601 with an offset; now, to the second, where none is.

    Raises
    ------
    ConfigError
        If it is not one.
    """
    if text is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None  # type: ignore[assignment]
    if moment is None or moment.tzinfo is None:
        raise ConfigError(f"--snapshot {text}: a time with an offset is wanted, as 2026-11-02T00:30:00Z")
    return moment.astimezone(UTC)
