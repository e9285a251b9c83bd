"""Counts that close, and the inputs that were read: the bookkeeping each stage writes beside its rows."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.record import Column, Record

COUNT: Final = Record(
    name="count",
    version=1,
    key=("stage", "outcome", "domain"),
    meaning="Rows by what became of them. Per stage, `in` equals the sum of the other closing outcomes.",
    columns=(
        Column("stage", pa.string(), "ingest, signals, label, curate or release", None, False, "key"),
        Column("outcome", pa.string(), "`in`, `kept`, or the reason a row went no further", None, False, "key"),
        Column("domain", pa.string(), "Domain counted; null = all", group="key"),
        Column("rows", pa.int64(), "How many", "rows", False),
        Column("closing", pa.bool_(), "True where the row takes part in the sum that must close", None, False),
    ),
)

INPUT: Final = Record(
    name="input",
    version=1,
    key=("uri",),
    meaning="One input file, as it was read.",
    columns=(
        Column("uri", pa.string(), "Path relative to the input", None, False, "key"),
        Column("bytes", pa.int64(), "Size as stored", "bytes", False),
        Column("sha256", pa.string(), "Hash of the bytes as stored; null = the store could not give them all"),
        Column("records", pa.int64(), "Records found (turns and dead letters)", "rows", False),
        Column("replaced", pa.int64(), "Records in which invalid text was replaced by U+FFFD", "rows", False),
    ),
)

RENAMED: Final = Record(
    name="renamed",
    version=1,
    key=("turn_id", "before"),
    meaning="A candidate that the ontology renamed in a turn that people have labelled: where their labels find it.",
    columns=(
        Column("turn_id", pa.string(), "The turn", None, False, "key"),
        Column("before", pa.string(), "candidate_id under the names of the log", None, False, "key"),
        Column("now", pa.string(), "candidate_id under the names of now", None, False),
    ),
)

FILE: Final = Record(
    name="file",
    version=1,
    key=("path",),
    meaning="One file of a release.",
    columns=(
        Column("path", pa.string(), "Path inside the release", None, False, "key"),
        Column("rows", pa.int64(), "Rows", "rows", False),
        Column("bytes", pa.int64(), "Size", "bytes", False),
        Column("sha256", pa.string(), "Hash of the bytes", None, False),
        Column("schema", pa.string(), "Digest of the record it follows", None, False),
    ),
)
