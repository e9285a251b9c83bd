"""Form `label-studio`: tasks in its basic JSON, and the labelling configuration; answers from its exports.

Make a project, paste `label-studio/config.xml` into Settings, Labeling Interface, and import `label-studio/tasks.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from xml.sax.saxutils import quoteattr

from pipeline import storage
from pipeline.audit.forms import Answer, Files, Misread, answered
from pipeline.audit.questions import CHOICES, GUIDELINES, RIGHT, TITLES, WRONG
from pipeline.audit.tasks import Task

# Object that each question is asked of.
_ASKED_OF: Final = {WRONG: "reading", RIGHT: "candidate"}


def write(name: str, tasks: list[Task]) -> Files:
    """Tasks and configuration."""
    held = [{"data": task.shown()} for task in tasks]
    return {"label-studio/tasks.json": storage.readable_json(held), "label-studio/config.xml": _config().encode()}


def _config() -> str:
    """The labelling configuration; the second question stays open where there is no other reading."""
    lines = [
        "<View>",
        f'  <Header value={quoteattr(GUIDELINES)} size="6"/>',
        '  <Paragraphs name="dialog" value="$dialog" layout="dialogue" nameKey="author" textKey="text"/>',
        '  <Header value="The user said" size="5"/>',
        '  <Text name="utterance" value="$utterance"/>',
        '  <Header value="The system took it to mean" size="5"/>',
        '  <Text name="reading" value="$reading"/>',
        *_question(WRONG, True),
        '  <Header value="Another reading" size="5"/>',
        '  <Text name="candidate" value="$candidate"/>',
        *_question(RIGHT, False),
        "</View>",
    ]
    return "\n".join(lines) + "\n"


def _question(question: str, required: bool) -> list[str]:
    return [
        f'  <Header value={quoteattr(TITLES[question])} size="5"/>',
        f'  <Choices name="{question}" toName="{_ASKED_OF[question]}" choice="single-radio" showInline="true" '
        f'required="{str(required).lower()}">',
        *(f"    <Choice value={quoteattr(value)}/>" for value in CHOICES),
        "  </Choices>",
    ]


def is_mine(record: dict[str, Any]) -> bool:
    """Whether a record of a JSON file is of this form's exports."""
    return "annotations" in record or "annotator" in record or "data" in record


def read(records: list[dict[str, Any]], uri: str) -> Iterator[Answer]:
    """Answers of an export, whole (JSON) or short (JSON-MIN); skipped annotations are none.

    Raises
    ------
    Misread
        If a record is not of such an export, or an answer none of the choices.
    """
    for position, record in enumerate(records, start=1):
        if "annotator" in record and "annotations" not in record:
            yield from _short(record, uri, position)
            continue
        try:
            task_id, annotations = record["data"]["task_id"], record.get("annotations") or []
            said = [(a, r) for a in annotations if not a.get("was_cancelled") for r in a.get("result") or []]
            held = [(a, r["from_name"], _first(r["value"]["choices"])) for a, r in said if r.get("type") == "choices"]
        except (KeyError, TypeError, AttributeError):
            raise Misread(f"{uri}:{position}: not a task of a Label Studio export (JSON or JSON-MIN)") from None
        for annotation, question, value in held:
            if question in _ASKED_OF:
                at = annotation.get("updated_at") or annotation.get("created_at")
                yield from answered(value, task_id, question, _rater(annotation), at, uri, position)


def _short(record: dict[str, Any], uri: str, position: int) -> Iterator[Answer]:
    for question in _ASKED_OF:
        at = record.get("updated_at") or record.get("created_at")
        value = _first(record.get(question))
        yield from answered(value, record.get("task_id"), question, record["annotator"], at, uri, position)


def _first(value: Any) -> Any:
    """A single choice, which exports give by itself, in a list, or in an object."""
    if isinstance(value, dict):
        value = value.get("choices")
    if isinstance(value, list):
        return value[0] if value else None
    return value


def _rater(annotation: dict[str, Any]) -> str:
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    return str(annotation.get("id") if who is None else who)
