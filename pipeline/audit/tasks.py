"""What people are shown of a drawn turn: the dialog around it, what it was read as, and the correction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.audit.questions import NONE
from pipeline.explain.layout import reading, short
from pipeline.explain.tables import StageTables

I64 = npt.NDArray[np.int64]

# Turns around: what led to the request, and the reactions by which people (and the models) judge it.
BEFORE: Final = 3
AFTER: Final = 3
# Of one text: a page, so that an agent's long answer can still be judged.
TEXT_CAP: Final = 2_000
MARK: Final = ">> "
USER, SYSTEM = "user", "system"


@dataclass(frozen=True)
class Task:
    """One turn to judge.

    Attributes
    ----------
    task_id, turn_id : str
    dialog : list of (str, str)
        Who speaks, and what; the turn to judge is marked.
    utterance, reading, candidate : str
        Its words, what they were taken to mean, and the accepted correction or `NONE`.
    candidate_id : str or None
    """

    task_id: str
    turn_id: str
    dialog: list[tuple[str, str]]
    utterance: str
    reading: str
    candidate: str
    candidate_id: str | None

    def shown(self) -> dict[str, Any]:
        """What people see of it, and its ids, as plain data."""
        return {
            "task_id": self.task_id,
            "turn_id": self.turn_id,
            "dialog": [{"author": who, "text": text} for who, text in self.dialog],
            "utterance": self.utterance,
            "reading": self.reading,
            "candidate": self.candidate,
        }

    @property
    def lines(self) -> str:
        """The dialog as text."""
        return "\n".join(f"{who}: {text}" for who, text in self.dialog)


def tasks(tables: StageTables, bucket: int, rows: I64, task_ids: list[str]) -> list[Task]:
    """Tasks of some turns of a bucket.

    Parameters
    ----------
    tables : StageTables
    bucket : int
    rows : numpy.ndarray of int64, shape (k,)
        Places of the turns, ascending.
    task_ids : list of str
        Of the same turns.
    """
    around = _around(tables, bucket, rows)
    wanted = np.unique(np.concatenate(around))
    turns = dict(zip(wanted.tolist(), tables.read("turns", bucket, wanted).to_pylist(), strict=True))
    own = [turns[row] for row in rows.tolist()]
    accepted = _accepted(tables, bucket, [turn["turn_id"] for turn in own])
    return [
        _task(name, turn, [turns[k] for k in near.tolist()], accepted.get(turn["turn_id"]))
        for name, turn, near in zip(task_ids, own, around, strict=True)
    ]


def _around(tables: StageTables, bucket: int, rows: I64) -> list[I64]:
    """Places of the turns around each, of its session; the sessions of a bucket stand one after the other."""
    session = tables.column("judgements", bucket, "session_id").dictionary_encode().indices.to_numpy()
    near = [np.arange(max(row - BEFORE, 0), min(row + AFTER + 1, len(session))) for row in rows]
    return [at[session[at] == session[row]] for at, row in zip(near, rows, strict=True)]


def _accepted(tables: StageTables, bucket: int, turn_ids: list[str]) -> dict[str, dict[str, Any]]:
    corrections = tables.corrections(bucket, pa.chunked_array([pa.array(turn_ids, pa.string())]))
    held = corrections.filter(pc.field("accepted")).select(["turn_id", "candidate_id", "interpretation"])
    return {row["turn_id"]: row for row in held.to_pylist()}


def _task(name: str, turn: dict[str, Any], near: list[dict[str, Any]], accepted: dict[str, Any] | None) -> Task:
    leading = next(iter(turn["interpretations"] or []), None)
    return Task(
        task_id=name,
        turn_id=turn["turn_id"],
        dialog=_dialog(near, turn["turn_id"]),
        utterance=short(turn["utterance"], TEXT_CAP),
        reading=reading(leading, score=False) if leading else "(nothing: the log has no interpretation)",
        candidate=reading(accepted["interpretation"], score=False) if accepted else NONE,
        candidate_id=accepted["candidate_id"] if accepted else None,
    )


def _dialog(near: list[dict[str, Any]], judged: str) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    for turn in near:
        # What may not be learned from is not shown to raters either.
        if turn["consent"] is False or turn["excluded"] is not None:
            continue
        mark = MARK if turn["turn_id"] == judged else ""
        prompt = short(turn["prompt"], TEXT_CAP)
        if prompt and (not out or out[-1] != (SYSTEM, prompt)):
            out.append((SYSTEM, prompt))
        out.append((USER, mark + short(turn["utterance"], TEXT_CAP)))
        if turn["response"]:
            out.append((SYSTEM, short(turn["response"], TEXT_CAP)))
    return out
