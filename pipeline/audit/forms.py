"""The forms that people judge in, by name: what each writes, and how its answers are told from the others'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pipeline.audit.questions import choice
from pipeline.audit.tasks import Task


@dataclass(frozen=True)
class Answer:
    """What one rater says to one question.

    Attributes
    ----------
    task_id, question : str
    value : str
        One of `pipeline.audit.questions.CHOICES`.
    rater : str
    at : datetime or None
        When; None where the form does not tell.
    uri : str
        File it was read from.
    position : int
        Line or record, from 1.
    """

    task_id: str
    question: str
    value: str
    rater: str
    at: datetime | None
    uri: str
    position: int

    @property
    def place(self) -> str:
        """Where it was read, for messages."""
        return f"{self.uri}:{self.position} {self.question}"


class Misread(ValueError):
    """An answer that cannot be taken, with where it stands."""


# Folder-relative path to bytes.
Files = dict[str, bytes]
Write = Callable[[str, list[Task]], Files]
Read = Callable[[bytes, str], Iterator[Answer]]


def answered(value: Any, task_id: Any, question: str, rater: Any, at: Any, uri: str, position: int) -> Iterator[Answer]:
    """One answer, or nothing where the question was left open.

    Raises
    ------
    Misread
        If it is not one of the choices, or no task, rater or time can be made of what stands there.
    """
    where = f"{uri}:{position}"
    try:
        said = choice(value)
    except ValueError as error:
        raise Misread(f"{where} {question}: {error}") from None
    if said is None:
        return
    if not isinstance(task_id, str) or not task_id:
        raise Misread(f"{where} task_id: the id that the form was given with is wanted, found {task_id!r}")
    yield Answer(task_id, question, said, str(rater), _time(at, where), uri, position)


def _time(value: Any, where: str) -> datetime | None:
    if value is None or value == "":
        return None
    try:
        time = datetime.fromisoformat(str(value).strip())
    except ValueError:
        raise Misread(f"{where} answered_at: {value!r}: ISO 8601 is wanted, for example 2026-03-01T09:30Z") from None
    # A form without an offset writes its server's UTC.
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


NAMES: Final = ("jsonl", "csv", "label-studio", "argilla")
