"""Redaction: an audited sample of what was replaced at ingest, never the values themselves."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.record import Column, Record

REDACTION: Final = Record(
    name="redaction",
    version=1,
    key=("turn_id", "column", "position", "type"),
    meaning="One value that was replaced by a mark when the log was read. For people to judge; no release holds it.",
    columns=(
        Column("turn_id", pa.string(), "The turn; null = a dead letter", group="key"),
        Column(
            "column", pa.string(), "Where it stood (`asr.text`, `interpretations.slots.value` ...)", None, False, "key"
        ),
        Column("position", pa.int32(), "Start of the mark in the redacted text", "code points", False, "key"),
        Column("type", pa.string(), "What it was taken for (`EMAIL_ADDRESS` ...)", None, False, "key"),
        Column("score", pa.float64(), "How sure the recogniser was", "[0, 1]", False),
        Column("mark", pa.string(), "What stands in its place", None, False),
        Column("context", pa.string(), "The redacted text around the mark", None, False),
        Column("draw", pa.uint64(), "Stable hash by which the sample was drawn, lowest first", None, False),
    ),
)
