"""Total order, sessions and neighbours: the frame in which every signal is computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.text import flat, mapped

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

ORDER: Final = (
    ("subject_id", "ascending"),
    ("event_time", "ascending"),
    ("sequence", "ascending"),
    ("turn_id", "ascending"),
)

# What was said and heard in a turn, of which a session holds so much at most.
TEXTS: Final = ("prompt", "utterance", "response")
# What sessions are cut by.
READS: Final = ("subject_id", "event_time", *TEXTS)

# A pause longer than this ends a session: the usual cut for voice assistants (methods.md's rephrase work).
SESSION_GAP_S: Final = 300.0
# A session longer than this goes on in a next segment, so that one runaway client cannot fill a worker.
SESSION_CAP: Final = 10_000
# The same of its text: whole documents pasted turn after turn.
SESSION_BYTES: Final = 16 << 20


def sort(turns: pa.Table) -> pa.Table:
    """Turns in the total order: subject, event_time, sequence, turn_id."""
    return turns.sort_by(list(ORDER))


@dataclass(frozen=True)
class Timeline:
    """Sessions over sorted turns.

    Attributes
    ----------
    session : numpy.ndarray of int64, shape (n,)
        Session number of each turn, from 0, in order.
    position : numpy.ndarray of int64, shape (n,)
        Position in its session, from 0.
    length : numpy.ndarray of int64, shape (n,)
        Turns in its session.
    seconds : numpy.ndarray of float64, shape (n,)
        Seconds from the first turn of its session.
    """

    session: I64
    position: I64
    length: I64
    seconds: npt.NDArray[np.float64]

    def __len__(self) -> int:
        """Turns."""
        return len(self.session)

    def neighbour(self, offset: int) -> tuple[I64, Mask]:
        """Row of the turn `offset` turns away, and whether it is in the same session.

        Returns
        -------
        index : numpy.ndarray of int64, shape (n,)
            Row of the neighbour; the row itself where there is none.
        exists : numpy.ndarray of bool, shape (n,)
        """
        target = self.position + offset
        exists = (target >= 0) & (target < self.length)
        rows = np.arange(len(self), dtype=np.int64)
        return np.where(exists, rows + offset, rows), exists

    @cached_property
    def starts(self) -> I64:
        """Row of the first turn of each turn's session, shape (n,)."""
        return np.arange(len(self), dtype=np.int64) - self.position


def timeline(
    turns: pa.Table,
    session_gap: float = SESSION_GAP_S,
    session_cap: int = SESSION_CAP,
    session_bytes: int = SESSION_BYTES,
) -> Timeline:
    """Cut sorted turns into sessions.

    A new session starts at a new subject, where the gap to the previous turn *exceeds* `session_gap`, where the session
    has `session_cap` turns, and where with one more turn its text *exceeds* `session_bytes`: a larger turn has one of
    its own. Caps count from the session's own start, so turns that begin with any session are cut as among all.

    Parameters
    ----------
    turns : pyarrow.Table
        Turn rows in the total order; `subject_id`, `event_time`, and the texts `prompt`, `utterance`, `response` are
        read.
    session_gap : float
        Seconds.
    session_cap : int
        Turns.
    session_bytes : int
        Bytes of those texts in UTF-8.
    """
    n = turns.num_rows
    if n == 0:
        empty = np.zeros(0, np.int64)
        return Timeline(empty, empty, empty, np.zeros(0))
    new = _breaks(turns, session_gap)
    _cut_long(new, _text_bytes(turns), session_cap, session_bytes)
    position = _position(new)
    session = np.cumsum(new) - 1
    length = np.bincount(session)[session]
    micros = _micros(turns)
    start = micros[np.flatnonzero(new)][session]
    return Timeline(session, position, length, (micros - start) / 1e6)


def unbroken(turns: pa.Table, session_gap: float = SESSION_GAP_S) -> I64:
    """Number of each turn's session as the user made it, whatever is cut because it grows too long; shape (n,).

    Parameters
    ----------
    turns : pyarrow.Table
        Turn rows in the total order; `subject_id` and `event_time` are read.
    session_gap : float
        Seconds.
    """
    return np.cumsum(_breaks(turns, session_gap)) - 1


def _breaks(turns: pa.Table, session_gap: float) -> Mask:
    """Where another subject begins, or a pause ended, shape (n,)."""
    subject = strings(turns["subject_id"])
    new = np.ones(turns.num_rows, bool)
    new[1:] = (subject[1:] != subject[:-1]) | (np.diff(_micros(turns)) > session_gap * 1e6)
    return new


def _micros(turns: pa.Table) -> I64:
    return np.asarray(turns["event_time"].combine_chunks().cast(pa.int64()).to_numpy(), dtype=np.int64)


def _text_bytes(turns: pa.Table) -> I64:
    """Bytes of each turn's texts, shape (n,)."""
    lengths = (mapped(flat(turns[name]), pc.binary_length).fill_null(0) for name in TEXTS)
    sizes = [np.asarray(each.to_numpy(), dtype=np.int64) for each in lengths]
    return np.asarray(np.sum(sizes, axis=0), dtype=np.int64)


def _cut_long(new: Mask, size: I64, cap: int, limit: int) -> None:
    """Start a session before every turn for which the last one has no room, in turns or in bytes."""
    total = np.cumsum(size)
    starts = np.append(np.flatnonzero(new), len(new))
    held = np.diff(np.append(0, total)[starts])
    # Few sessions are so long, so that a step a segment is cheap.
    for k in np.flatnonzero((np.diff(starts) > cap) | (held > limit)):
        at, end = int(starts[k]), int(starts[k + 1])
        while True:
            full = int(np.searchsorted(total, total[at] - size[at] + limit, "right"))
            at = min(at + cap, max(at + 1, full))
            if at >= end:
                break
            new[at] = True


def _position(new: Mask) -> I64:
    starts = np.flatnonzero(new)
    return np.arange(len(new)) - np.repeat(starts, np.diff(np.append(starts, len(new))))
