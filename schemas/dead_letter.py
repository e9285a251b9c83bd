"""DeadLetter: what could not be used, and why. The reasons are a closed list."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import pyarrow as pa

from schemas.record import Column, Record
from schemas.turn import SOURCE


class Reason(StrEnum):
    """Why a record or a file could not be read."""

    UNREADABLE_FILE = "unreadable_file"
    INVALID_JSON = "invalid_json"
    NOT_A_RECORD = "not_a_record"
    MISSING_SUBJECT = "missing_subject"
    MISSING_TIME = "missing_time"
    INVALID_TIME = "invalid_time"
    NAIVE_TIME = "naive_time"
    EMPTY_UTTERANCE = "empty_utterance"
    INVALID_FIELD = "invalid_field"
    UNKNOWN_LABEL = "unknown_label"


ADVICE: Final[dict[Reason, str]] = {
    Reason.UNREADABLE_FILE: "check the file's compression and that it was written to its end, then run again",
    Reason.INVALID_JSON: "one JSON object a line is wanted",
    Reason.NOT_A_RECORD: "a JSON object is wanted, not a list, a string or a number",
    Reason.MISSING_SUBJECT: "give user_id or conversation_id",
    Reason.MISSING_TIME: "give event_time, ISO 8601 with an offset",
    Reason.INVALID_TIME: "event_time must be ISO 8601, for example 2026-03-01T09:30:00Z",
    Reason.NAIVE_TIME: "give event_time an offset, or declare the log's zone with --timezone",
    Reason.EMPTY_UTTERANCE: "nothing was heard or typed, so there is no request to judge",
    Reason.INVALID_FIELD: "give the field the type and range that docs/records.md states",
    Reason.UNKNOWN_LABEL: "add the label to the ontology's domains, or say there what became of it: renamed, split or "
    "retired",
}

DEAD_LETTER: Final = Record(
    name="dead_letter",
    version=1,
    key=("source",),
    meaning="A record or file that was read but not used. Holds shapes and lengths, never the user's text.",
    columns=(
        Column("reason", pa.string(), f"One of: {', '.join(Reason)}", None, False),
        Column("field", pa.string(), "The field at fault; null = the whole record"),
        Column("source", SOURCE, "File (relative to the input) and line or row", None, False, "key"),
        Column("detail", pa.string(), "What was found, what was wanted, what to do", None, False),
        Column("record", pa.string(), "The record with each text replaced by its length, as JSON"),
    ),
)
