"""Dialogs of human-rated sets as Turn rows, each judged turn in a session of its own that ends where its judges stood.

What a judged turn may be told from is a copy of its dialog's turns up to the reaction to it, or up to its own answer.
So no signal can see further, whatever it reads: not the turns after, and not how many there are.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.said import said
from features.signals import READS, signals
from schemas import TURN

I64 = npt.NDArray[np.int64]

# The sets hold no times; one pace for all, well below the session gap, tells nothing.
_PACE_US: Final = 10_000_000


@dataclass
class Dialogs:
    """Turns of whole dialogs in order, each dialog led by an opening turn in which the user says nothing.

    Attributes
    ----------
    dialog : list of str, length n
        Id of each turn's dialog; a dialog's turns stand together.
    utterance : list of str, length n
        Empty in an opening turn.
    response : list of str or None, length n
        The system's words up to the next turn; None where it said nothing.
    """

    dialog: list[str] = field(default_factory=list)
    utterance: list[str] = field(default_factory=list)
    response: list[str | None] = field(default_factory=list)

    def add(self, dialog: str, said: list[tuple[bool, str]]) -> list[int]:
        """Append a dialog, given as (whether the user speaks, text); returns the row of each thing said.

        A system's words belong to the row of the user's before them.
        """
        rows = []
        self._turn(dialog, "")
        for by_user, text in said:
            if by_user:
                self._turn(dialog, text)
            else:
                before = self.response[-1]
                self.response[-1] = text if before is None else f"{before} {text}"
            rows.append(len(self.dialog) - 1)
        return rows

    def _turn(self, dialog: str, utterance: str) -> None:
        self.dialog.append(dialog)
        self.utterance.append(utterance)
        self.response.append(None)


@dataclass(frozen=True)
class Judged:
    """Judged turns with what the product may know of them.

    Attributes
    ----------
    subject : pyarrow.StringArray, shape (m,)
        The dialog of each.
    signals, said : pyarrow.Table
        m Signals and Said rows.
    """

    subject: pa.Array
    signals: pa.Table
    said: pa.Table


def lines(folder: Path, pattern: str) -> Iterator[dict[str, Any]]:
    """The JSON lines of all matching files, in order of file name."""
    for path in sorted(folder.glob(pattern)):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                yield json.loads(line)


def sessions(dialogs: Dialogs, judged: I64, with_reaction: bool) -> tuple[pa.Table, I64]:
    """Turn rows (the columns of `features.signals.READS`) of a session a judged turn, and the rows judged.

    Parameters
    ----------
    dialogs : Dialogs
    judged : numpy.ndarray of int64, shape (m,)
        Rows of `dialogs`.
    with_reaction : bool
        Whether the session goes on to the dialog's next turn, without the answer to that, or ends with the judged one.

    Returns
    -------
    turns : pyarrow.Table
    rows : numpy.ndarray of int64, shape (m,)
        Row of each judged turn in `turns`.
    """
    names = np.array(dialogs.dialog, dtype=object)
    first = np.flatnonzero(np.append(True, names[1:] != names[:-1])) if len(names) else np.zeros(0, np.int64)
    start = first[np.searchsorted(first, judged, side="right") - 1]
    dialog_end = np.append(first[1:], len(names))[np.searchsorted(first, judged, side="right") - 1]
    reacted = with_reaction & (judged + 1 < dialog_end)
    many = judged - start + 1 + reacted
    end = np.cumsum(many)
    number = np.repeat(np.arange(len(judged)), many)
    position = np.arange(many.sum()) - (end - many)[number]
    row = start[number] + position
    after = position > (judged - start)[number]
    response = pa.array(dialogs.response, pa.string()).take(pa.array(row, mask=after))
    n = len(row)
    session = np.array([f"{d}/{k}" for d, k in zip(names[judged], judged - start, strict=True)], dtype=object)[number]
    held = {
        "turn_id": pa.array([f"{s}/{p}" for s, p in zip(session, position, strict=True)]),
        "conversation_id": pa.array(session, pa.string()),
        "subject_id": pa.array(session, pa.string()),
        "sequence": pa.array(position),
        "event_time": pa.array(position * _PACE_US).cast(TURN.schema.field("event_time").type),
        "utterance": pa.array(dialogs.utterance, pa.string()).take(pa.array(row)),
        "response": response,
    }
    columns = {name: held.get(name, pa.nulls(n, TURN.schema.field(name).type)) for name in READS}
    return pa.table(columns), end - 1 - reacted


def judged_turns(dialogs: Dialogs, judged: I64, with_reaction: bool) -> Judged:
    """Signals and words of judged turns, each from its own cut copy of the dialog; see `sessions`."""
    turns, rows = sessions(dialogs, judged, with_reaction)
    at = pa.array(rows)
    table = signals(turns)
    subject = pa.array(dialogs.dialog, pa.string()).take(pa.array(judged))
    return Judged(subject, table.take(at), said(turns, table).take(at))
