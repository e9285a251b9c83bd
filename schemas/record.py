"""How a record type is declared: named columns, each with a type, a meaning and a unit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a record.

    Parameters
    ----------
    name : str
        Column name, the same word in code, files, CLI and docs.
    type : pyarrow.DataType
        Exact Arrow type; never inferred from data.
    meaning : str
        One line that says what a value means, and what null means where null is allowed.
    unit : str, optional
        Unit of a number ("s", "share", "turns" ...).
    nullable : bool
        Whether null is a legal value.
    group : str
        Named group of columns ("key", "satisfaction", "intent" ...).
    needs_reaction : bool
        True where the value uses anything the user did after the turn.
    """

    name: str
    type: pa.DataType
    meaning: str
    unit: str | None = None
    nullable: bool = True
    group: str = "data"
    needs_reaction: bool = False


@dataclass(frozen=True)
class Record:
    """A versioned record type: the contract of one table."""

    name: str
    version: int
    key: tuple[str, ...]
    meaning: str
    columns: tuple[Column, ...]

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema, without metadata, so that equal contracts compare equal."""
        return pa.schema([pa.field(c.name, c.type, nullable=c.nullable) for c in self.columns])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names in declared order."""
        return tuple(c.name for c in self.columns)

    def group(self, *groups: str) -> Iterator[Column]:
        """The columns of the named groups, in declared order."""
        return (c for c in self.columns if c.group in groups)

    def describe(self) -> dict[str, object]:
        """The contract as plain data: what the golden files and the manifest's schema hash hold."""
        return {
            "name": self.name,
            "version": self.version,
            "key": list(self.key),
            "columns": [
                {"name": c.name, "type": str(c.type), "unit": c.unit, "nullable": c.nullable, "group": c.group}
                for c in self.columns
            ],
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 over name, version, key, and every column's name, type, unit and nullability."""
        text = json.dumps(self.describe(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def empty(self) -> pa.Table:
        """A table of no rows in this record's schema."""
        return self.schema.empty_table()

    def conform(self, table: pa.Table) -> pa.Table:
        """Put a table's columns into declared order and cast them to the declared types.

        Raises
        ------
        KeyError
            If a declared column is missing.
        pyarrow.ArrowInvalid
            If a value does not fit its declared type, or a null stands where none is allowed.
        """
        missing = [n for n in self.names if n not in table.column_names]
        if missing:
            raise KeyError(f"{self.name} table: columns missing: {', '.join(missing)}")
        out = table.select(self.names).cast(pa.schema([pa.field(c.name, c.type) for c in self.columns]))
        for column in self.columns:
            if not column.nullable and out[column.name].null_count:
                raise pa.ArrowInvalid(f"{self.name}.{column.name}: null where a value is required")
        return out.cast(self.schema)
