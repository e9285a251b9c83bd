"""The tables that are pushed, and their columns as BigQuery has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from google.cloud.bigquery import SchemaField

from schemas import CORRECTION, JUDGEMENT, SIGNALS, Column, Record

DAY_COLUMN: Final = "log_date"
TIME_COLUMN: Final = "event_time"
_RELEASE: Final = Column("release_id", pa.string(), "The release whose run concluded this")
_DAY: Final = Column(DAY_COLUMN, pa.date32(), "Day of the release's interval; without one the UTC day of event_time")
_TIME: Final = next(column for column in JUDGEMENT.columns if column.name == TIME_COLUMN)


@dataclass(frozen=True)
class PushedTable:
    """A record with what it is pushed with."""

    name: str
    record: Record

    @property
    def columns(self) -> tuple[Column, ...]:
        """Which release and day, then the record's own; the turn's time where the record has none."""
        timed = any(column.name == TIME_COLUMN for column in self.record.columns)
        return (_RELEASE, _DAY, *self.record.columns, *(() if timed else (_TIME,)))

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema. All may be null: a column that BigQuery requires can never be left out again."""
        return pa.schema([pa.field(column.name, column.type) for column in self.columns])

    @property
    def fields(self) -> list[SchemaField]:
        """The same for BigQuery."""
        return [_field(column.name, column.type, column.meaning) for column in self.columns]


TABLES: Final = (
    PushedTable("signals", SIGNALS),
    PushedTable("judgements", JUDGEMENT),
    PushedTable("corrections", CORRECTION),
)


def _field(name: str, kind: pa.DataType, meaning: str | None = None) -> SchemaField:
    if pa.types.is_list(kind):
        inner = _field(name, kind.value_type, meaning)
        return SchemaField(name, inner.field_type, "REPEATED", description=meaning, fields=inner.fields)
    told: dict[str, Any] = {} if meaning is None else {"description": meaning}
    if pa.types.is_struct(kind):
        return SchemaField(name, "RECORD", fields=[_field(f.name, f.type) for f in kind], **told)
    return SchemaField(name, _scalar(kind), **told)


def _scalar(kind: pa.DataType) -> str:
    tests = {
        "BOOLEAN": pa.types.is_boolean,
        "INTEGER": pa.types.is_integer,
        "FLOAT": pa.types.is_floating,
        "TIMESTAMP": pa.types.is_timestamp,
        "DATE": pa.types.is_date,
        "STRING": pa.types.is_string,
    }
    return next(name for name, test in tests.items() if test(kind))
