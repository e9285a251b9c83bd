"""Form `jsonl`: one task a line, with empty places for the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pipeline.audit.forms import Answer, Files, Misread, answered
from pipeline.audit.questions import CHOICES, RIGHT, TITLES, WRONG
from pipeline.audit.tasks import Task


def write(name: str, tasks: list[Task]) -> Files:
    """`tasks.jsonl`; copy it for each rater and fill `answers` and `rater`."""
    lines = [json.dumps(_record(task), ensure_ascii=False) for task in tasks]
    return {"tasks.jsonl": ("\n".join(lines) + "\n").encode()}


def _record(task: Task) -> dict[str, Any]:
    asked = [WRONG, *([RIGHT] if task.candidate_id else [])]
    return task.shown() | {
        "candidate": task.candidate if task.candidate_id else None,
        "questions": {question: {"title": TITLES[question], "choices": CHOICES} for question in asked},
        "answers": dict.fromkeys(asked),
        "rater": None,
        "answered_at": None,
    }


def read(data: bytes, uri: str) -> Iterator[Answer]:
    """Answers of a filled file; a rater without a name is the file's.

    Raises
    ------
    Misread
        If a line is not such a task, or an answer none of the choices.
    """
    # Not splitlines: a text may hold U+2028 and other separators, which JSON leaves as they are.
    for position, line in enumerate(data.decode("utf-8-sig", "replace").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            answers = record.get("answers") or {}
            said = {question: answers.get(question) for question in (WRONG, RIGHT)}
        except (ValueError, AttributeError):
            raise Misread(f"{uri}:{position}: a JSON object with task_id and answers is wanted") from None
        for question, value in said.items():
            rater = record.get("rater") or uri
            at = record.get("answered_at")
            yield from answered(value, record.get("task_id"), question, rater, at, uri, position)
