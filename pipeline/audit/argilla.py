"""Form `argilla`: a folder that `rg.Dataset.from_disk` loads (Argilla 2); answers from the `records.json` of `to_disk`.

`dataset = rg.Dataset.from_disk("argilla", workspace=...)`, and when all is judged `dataset.to_disk("judged")`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pipeline import storage
from pipeline.audit.forms import Answer, Files, Misread, answered
from pipeline.audit.questions import CHOICES, GUIDELINES, RIGHT, TITLES, WRONG
from pipeline.audit.tasks import Task

_FIELDS: Final = {
    "dialog": "The dialog",
    "utterance": "The user said",
    "reading": "The system took it to mean",
    "candidate": "Another reading",
}
# Answers that were handed in; drafts and discarded ones are none. Exports of some versions give no status.
_STATUS: Final = (None, "submitted")


def write(name: str, tasks: list[Task]) -> Files:
    """Records, settings and the dataset's own facts."""
    facts = {"guidelines": GUIDELINES, "allow_extra_metadata": False, "distribution": _DISTRIBUTION}
    return {
        "argilla/records.json": storage.readable_json([_record(task) for task in tasks]),
        "argilla/.argilla/settings.json": storage.readable_json(facts | _settings()),
        "argilla/.argilla/dataset.json": storage.readable_json(facts | {"name": f"audit-{name}", "status": "ready"}),
    }


_DISTRIBUTION: Final = {"strategy": "overlap", "min_submitted": 1}


def _record(task: Task) -> dict[str, Any]:
    fields = {
        "dialog": task.lines,
        "utterance": task.utterance,
        "reading": task.reading,
        "candidate": task.candidate,
    }
    return {
        "id": task.task_id,
        "fields": fields,
        "metadata": {"turn_id": task.turn_id},
        "suggestions": {},
        "responses": {},
        "vectors": {},
    }


def _settings() -> dict[str, Any]:
    text = {"type": "text", "use_markdown": False}
    options = [{"value": value, "text": value, "description": None} for value in CHOICES]
    return {
        "fields": [{"name": n, "title": t, "required": True, "settings": text} for n, t in _FIELDS.items()],
        "questions": [
            {
                "name": question,
                "title": TITLES[question],
                "description": None,
                "required": question == WRONG,
                "settings": {"type": "label_selection", "options": options, "visible_options": len(options)},
            }
            for question in (WRONG, RIGHT)
        ],
        "metadata": [
            {
                "name": "turn_id",
                "title": "turn_id",
                "type": "terms",
                "visible_for_annotators": True,
                "settings": {"type": "terms", "values": None},
            }
        ],
        "vectors": [],
    }


def is_mine(record: dict[str, Any]) -> bool:
    """Whether a record of a JSON file is of this form's exports."""
    return "responses" in record or any(str(key).endswith(".responses") for key in record)


def read(records: list[dict[str, Any]], uri: str) -> Iterator[Answer]:
    """Answers of an export, nested (`to_disk`, `to_list`) or flat (`to_list(flatten=True)`). It tells no times.

    Raises
    ------
    Misread
        If a record is not of such an export, or an answer none of the choices.
    """
    for position, record in enumerate(records, start=1):
        for question in (WRONG, RIGHT):
            try:
                held = (
                    _nested(record, question) if isinstance(record.get("responses"), dict) else _flat(record, question)
                )
            except (KeyError, TypeError, AttributeError):
                raise Misread(f"{uri}:{position} {question}: not a record of an Argilla export") from None
            for value, rater, status in held:
                if status in _STATUS:
                    yield from answered(value, record.get("id"), question, rater, None, uri, position)


def _nested(record: dict[str, Any], question: str) -> list[tuple[Any, Any, Any]]:
    held = record["responses"].get(question) or []
    return [(r["value"], r.get("user_id"), r.get("status")) for r in held]


def _flat(record: dict[str, Any], question: str) -> list[tuple[Any, Any, Any]]:
    values = record.get(f"{question}.responses") or []
    users = record.get(f"{question}.responses.users") or [None] * len(values)
    status = record.get(f"{question}.responses.status") or [None] * len(values)
    return list(zip(values, users, status, strict=True))
