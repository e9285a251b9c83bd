"""Hold answers against the sample: one share a question, and Gold."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline.audit.answers import SHOWN
from pipeline.audit.forms import Answer
from pipeline.audit.questions import CANNOT_TELL, RIGHT, YES
from pipeline.errors import InputError
from schemas import GOLD


@dataclass(frozen=True)
class Said:
    """What the raters say to one question about one turn.

    Attributes
    ----------
    yes, no, cannot_tell : int
        Raters.
    answers : tuple of Answer
        Theirs.
    """

    yes: int
    no: int
    cannot_tell: int
    answers: tuple[Answer, ...]

    @property
    def share(self) -> float | None:
        """Share of those who could tell that say yes; None where nobody could."""
        told = self.yes + self.no
        return self.yes / told if told else None


def collect(answers: list[Answer], sample: pa.Table) -> dict[tuple[str, str], Said]:
    """What was said of each (task, question).

    A rater who answers a question twice counts once, with the later answer where times are given.

    Raises
    ------
    InputError
        If answers name tasks that were not drawn, or contradict each other without a time to tell which holds.
    """
    candidate = dict(zip(sample["task_id"].to_pylist(), sample["candidate_id"].to_pylist(), strict=True))
    _known(answers, candidate)
    by_rater: dict[tuple[str, str], dict[str, Answer]] = defaultdict(dict)
    clashes = []
    for answer in answers:
        if answer.question == RIGHT and candidate[answer.task_id] is None:
            # Nothing was shown that could be right.
            continue
        held = by_rater[answer.task_id, answer.question].setdefault(answer.rater, answer)
        if held.value != answer.value and (held.at is None or answer.at is None or held.at == answer.at):
            clashes.append((held, answer))
        elif held.at is not None and answer.at is not None and answer.at > held.at:
            by_rater[answer.task_id, answer.question][answer.rater] = answer
    _agree(clashes)
    return {key: _said(tuple(raters.values())) for key, raters in sorted(by_rater.items())}


def _known(answers: list[Answer], candidate: dict[str, Any]) -> None:
    unknown = [a for a in answers if a.task_id not in candidate]
    if unknown:
        some = "; ".join(f"{a.uri}:{a.position} task_id {a.task_id}" for a in unknown[:SHOWN])
        raise InputError(
            f"--read: {len(unknown)} answer(s) to tasks that this audit did not draw: {some}. Is it the right "
            "audit, and were the ids left as written? Take these rows out or mend their ids; nothing was taken over"
        )


def _agree(clashes: list[tuple[Answer, Answer]]) -> None:
    if clashes:
        some = "; ".join(
            f"{a.task_id}: {a.rater} says {a.value} at {a.place} and {b.value} at {b.place}" for a, b in clashes[:SHOWN]
        )
        raise InputError(
            f"--read: {len(clashes)} answer(s) contradict one of the same rater: {some}. Take out the one that "
            "does not hold, or give answered_at, and the later one holds; raters who share a file need names. Nothing "
            "was taken over"
        )


def _said(answers: tuple[Answer, ...]) -> Said:
    yes = sum(a.value == YES for a in answers)
    cannot = sum(a.value == CANNOT_TELL for a in answers)
    return Said(yes, len(answers) - yes - cannot, cannot, answers)


def gold_rows(said: dict[tuple[str, str], Said], sample: pa.Table, audit_id: str) -> pa.Table:
    """Gold of all turns that anybody could judge.

    Parameters
    ----------
    said : dict
        As `collect` gives it.
    sample : pyarrow.Table
        AUDIT_SAMPLE rows.
    audit_id : str
    """
    drawn = {row["task_id"]: row for row in sample.to_pylist()}
    rows = []
    for (task_id, question), held in said.items():
        if held.share is None:
            continue
        told = [a for a in held.answers if a.value != CANNOT_TELL]
        times = [a.at for a in told]
        rows.append(
            {
                "turn_id": drawn[task_id]["turn_id"],
                "definition": question,
                "candidate_id": drawn[task_id]["candidate_id"] if question == RIGHT else None,
                "value": held.share,
                "raters": len(told),
                "source": f"audit/{audit_id}",
                "read_from": {"uri": told[0].uri, "position": told[0].position},
                # Known once the last of them had judged.
                "available_at": max(t for t in times if t) if all(times) else None,
            }
        )
    table = pa.Table.from_pylist(rows, schema=GOLD.schema)
    return table.sort_by([(k, "ascending") for k in ("turn_id", "definition")])
