"""Form `csv`: a sheet for a spreadsheet program, one task a row, the answers in its last columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Final

from pipeline.audit.forms import Answer, Files, Misread, answered
from pipeline.audit.questions import RIGHT, WRONG
from pipeline.audit.tasks import Task

_COLUMNS: Final = (
    "task_id",
    "turn_id",
    "dialog",
    "utterance",
    "reading",
    "candidate",
    WRONG,
    RIGHT,
    "rater",
    "answered_at",
)
# What a spreadsheet program takes for the start of a formula (OWASP, CSV injection).
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
# Programs of other countries write other separators.
_SEPARATORS: Final = (",", ";", "\t")
# Characters of a first line that a message shows.
_SHOWN: Final = 200


def write(name: str, tasks: list[Task]) -> Files:
    """`tasks.csv`, UTF-8 with the mark by which spreadsheet programs know it; no cell is a formula."""
    out = io.StringIO(newline="")
    sheet = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    sheet.writerow(_COLUMNS)
    for task in tasks:
        shown = (task.task_id, task.turn_id, task.lines, task.utterance, task.reading, task.candidate)
        sheet.writerow([safe(text) for text in shown] + [""] * 4)
    return {"tasks.csv": out.getvalue().encode("utf-8-sig")}


def safe(text: str) -> str:
    """A cell that no spreadsheet program runs: what looks like a formula gets an apostrophe before it."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def read(data: bytes, uri: str) -> Iterator[Answer]:
    """Answers of a filled sheet; a rater without a name is the file's.

    Raises
    ------
    Misread
        If the columns of the answers are missing, or an answer is none of the choices.
    """
    text = data.decode("utf-8-sig", "replace")
    head = text.split("\n", 1)[0]
    separator = max(_SEPARATORS, key=head.count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        _all_there(rows.fieldnames or [], uri)
        for row in rows:
            for question in (WRONG, RIGHT):
                rater, at = row.get("rater") or uri, row.get("answered_at")
                yield from answered(row.get(question), row["task_id"], question, rater, at, uri, rows.line_num)
    except csv.Error as error:
        raise Misread(f"{uri}:{rows.line_num}: not CSV ({error}); is a quote left open?") from None


def _all_there(found: Sequence[str], uri: str) -> None:
    missing = [name for name in ("task_id", WRONG) if name not in found]
    if missing:
        shown = ", ".join(found)[:_SHOWN] or "none"
        raise Misread(
            f"{uri}:1: no column {', '.join(missing)}, found {shown}; keep the first line of the sheet as it was "
            "written, and save it as CSV in UTF-8"
        )
