"""AuditSample: the turns drawn for people to judge, and how likely each was to be drawn."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.record import Column, Record

AUDIT_SAMPLE: Final = Record(
    name="audit_sample",
    version=1,
    key=("task_id",),
    meaning="One turn of an audit. Its figures weigh a turn by 1 / inclusion.",
    columns=(
        Column("task_id", pa.string(), "What the forms call it: the audit's id and a number", None, False, "key"),
        Column("turn_id", pa.string(), "The turn to judge", None, False, "key"),
        Column("domain", pa.string(), "Domain of the cell that it was drawn from", None, False),
        Column("decision", pa.string(), "corrected, defective (without a correction) or satisfied", None, False),
        Column("inclusion", pa.float64(), "Probability with which it was drawn", "(0, 1]", False),
        Column("candidate_id", pa.string(), "The accepted correction that is judged too; null = none was accepted"),
    ),
)
