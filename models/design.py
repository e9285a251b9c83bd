"""Design matrices: the numbers that the models see, from Signals rows.

Only what a turn's record and its session tell goes in: no names of intents, slots or users, so that a model
can judge a domain it has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import strings
from features.interpretation import list_offsets
from features.text import flat
from models.prior import NAMES as PRIOR
from models.prior import Prior
from schemas.signals import CANDIDATE_COLUMNS, SIGNALS

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]

EVIDENCE: Final = tuple(c.name for c in CANDIDATE_COLUMNS if c.group == "intent")
TURN_SIGNALS: Final = tuple(c.name for c in SIGNALS.group("satisfaction", "intent") if c.name != "candidates")


@dataclass(frozen=True)
class Design:
    """A matrix with named columns; NaN = null."""

    values: F32
    names: tuple[str, ...]

    def select(self, keep: tuple[str, ...]) -> Design:
        """The named columns only, in the order given."""
        at = [self.names.index(n) for n in keep]
        return Design(self.values[:, at], keep)

    def beside(self, other: Design) -> Design:
        """These columns and, after them, those of the same rows of another design."""
        return Design(np.hstack([self.values, other.values]), self.names + other.names)


@dataclass(frozen=True)
class CandidateTable:
    """Distinct candidates of all turns, flat: each turn's own n-best, then what later rephrases were taken for.

    Attributes
    ----------
    turn : numpy.ndarray of int64, shape (m,)
        Row of the turn in the Signals table.
    entry : numpy.ndarray of int64, shape (m,)
        Place of the candidate in its turn's list, from 0.
    offset : numpy.ndarray of int64, shape (m,)
        Turns to the later turn whose leading hypothesis it is; 0 = of the turn's own n-best.
    candidate_id : numpy.ndarray of int64, shape (m,)
    support : numpy.ndarray of int64, shape (m,)
        Row of the first later turn that says the same; -1 where there is none, or it is not among the rows.
    origin : numpy.ndarray of int64, shape (m,)
        Row of the later turn whose leading hypothesis it is; -1 = of the turn's own n-best, or not among the rows.
    is_top : numpy.ndarray of bool, shape (m,)
        True for what the system took as best.
    evidence : numpy.ndarray of float32, shape (m, len(names))
    names : tuple of str
        `EVIDENCE`, then `models.prior.NAMES` where a prior was given.
    """

    turn: I64
    entry: I64
    offset: I64
    candidate_id: I64
    support: I64
    origin: I64
    is_top: npt.NDArray[np.bool_]
    evidence: F32
    names: tuple[str, ...] = EVIDENCE

    def take(self, rows: I64) -> CandidateTable:
        """The given rows only."""
        held = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "names"}
        return CandidateTable(**held, names=self.names)


def numbers(column: pa.Array | pa.ChunkedArray) -> F32:
    """A number or bool column as float32 with NaN for null, shape (n,)."""
    values = flat(column)
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.uint8())
    return np.asarray(values.cast(pa.float32()).to_numpy(zero_copy_only=False), dtype=np.float32)


def candidate_table(signals: pa.Table, prior: Prior | None = None, fold: I64 | None = None) -> CandidateTable:
    """Flatten the distinct candidates of Signals rows.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows.
    prior : Prior, optional
        Adds what other users' turns tell of each candidate.
    fold : numpy.ndarray of int64, shape (n,), optional
        Fold of each turn's subject; wanted with a prior, which gives a turn the other folds only.
    """
    lists = flat(signals["candidates"])
    offsets = list_offsets(lists)
    entries = lists.flatten()
    keep = np.flatnonzero(numbers(entries.field("first")) > 0)
    turn = np.repeat(np.arange(len(lists), dtype=np.int64), np.diff(offsets))
    evidence = np.empty((len(keep), len(EVIDENCE)), np.float32)
    for at, name in enumerate(EVIDENCE):
        evidence[:, at] = numbers(entries.field(name))[keep]
    entry = np.arange(len(turn), dtype=np.int64) - offsets[turn]
    names = EVIDENCE
    if prior is not None:
        if fold is None:
            raise ValueError("candidate_table: a prior wants the fold of each turn's subject; give subject_folds(...)")
        evidence = np.hstack([evidence, prior.features(signals, turn[keep], entry[keep], fold)])
        names = EVIDENCE + PRIOR
    offset = entries.field("offset").to_numpy().astype(np.int64)[keep]
    return CandidateTable(
        turn=turn[keep],
        entry=entry[keep],
        offset=offset,
        candidate_id=entries.field("candidate_id").to_numpy()[keep],
        support=_later_rows(signals, turn[keep], entries.field("support_offset").to_numpy().astype(np.int64)[keep]),
        origin=_later_rows(signals, turn[keep], offset),
        is_top=(entry[keep] == 0) & (offset == 0),
        evidence=evidence,
        names=names,
    )


def _later_rows(signals: pa.Table, turn: I64, offset: I64) -> I64:
    """Rows of the turns `offset` turns after others in their sessions; -1 for an offset of 0 or a turn that is missing.

    Rows of a session may have holes: a turn that may not be learned from is left out of the training table.
    """
    if not signals.num_rows:
        return np.zeros(0, np.int64)
    session = strings(signals["session_id"])
    number = np.cumsum(np.append(False, session[1:] != session[:-1]), dtype=np.int64)
    position = signals["turns_before"].to_numpy().astype(np.int64)
    longest = int(position.max(initial=0) + offset.max(initial=0)) + 1
    place = number * longest + position
    wanted = place[turn] + offset
    row = np.minimum(np.searchsorted(place, wanted), len(place) - 1)
    return np.where((offset > 0) & (place[row] == wanted), row, -1)


def _per_turn(rows: I64, values: F32, turns: int) -> F32:
    """Scatter candidate rows to their turns; NaN where a turn has none."""
    out = np.full((turns, values.shape[1]), np.nan, np.float32)
    out[rows] = values
    return out


def _largest(turn: I64, values: F32, turns: int) -> F32:
    """Column-wise maximum over each turn's candidates, ignoring NaN; NaN where there is none. Turns are in order."""
    out = np.full((turns, values.shape[1]), np.nan, np.float32)
    starts = _starts(turn)
    if len(starts):
        out[turn[starts]] = np.fmax.reduceat(values, starts, axis=0)
    return out


def _starts(turn: I64) -> I64:
    """First row of each turn; turns are in order."""
    return np.flatnonzero(np.append(True, turn[1:] != turn[:-1])) if len(turn) else np.zeros(0, np.int64)


def turn_design(signals: pa.Table, table: CandidateTable | None = None) -> Design:
    """What the defect model sees: one row a turn.

    Turn signals; the evidence for the best candidate (`top.`), for the runner-up (`second.`), and the most
    that any other candidate of the turn's own n-best has (`other.`).
    """
    table = table if table is not None else candidate_table(signals)
    n = signals.num_rows
    own = np.column_stack([numbers(signals[name]) for name in TURN_SIGNALS]) if n else np.zeros((0, len(TURN_SIGNALS)))
    top = _per_turn(table.turn[table.is_top], table.evidence[table.is_top], n)
    rank = table.evidence[:, EVIDENCE.index("rank")]
    others = ~table.is_top & (table.offset == 0)
    runner = others & (rank == _lowest(table.turn[others], rank[others], n)[table.turn])
    second = _per_turn(table.turn[runner], table.evidence[runner], n)
    other = _largest(table.turn[others], table.evidence[others], n)
    names = TURN_SIGNALS + tuple(f"{part}.{e}" for part in ("top", "second", "other") for e in table.names)
    return Design(np.hstack([own, top, second, other]).astype(np.float32, copy=False), names)


def _lowest(turn: I64, values: F32, turns: int) -> F32:
    """Lowest value of each turn, infinite where it has none, shape (turns,). Turns are in order."""
    out = np.full(turns, np.inf, np.float32)
    starts = _starts(turn)
    if len(starts):
        out[turn[starts]] = np.minimum.reduceat(values, starts)
    return out


def candidate_design(signals: pa.Table, table: CandidateTable, turns: Design) -> Design:
    """What the correction model sees: one row a distinct candidate.

    Its own evidence, the same less the best candidate's (`vs_top.`), whether it is the best one, and the turn's
    signals. The evidence of the turn's other candidates tells next to nothing more and doubles the time of the fit.
    """
    n = signals.num_rows
    top = _per_turn(table.turn[table.is_top], table.evidence[table.is_top], n)
    own = table.evidence
    versus = own - top[table.turn]
    is_top = table.is_top.astype(np.float32)[:, None]
    names = (
        tuple(f"candidate.{e}" for e in table.names)
        + tuple(f"vs_top.{e}" for e in table.names)
        + ("is_top",)
        + TURN_SIGNALS
    )
    of_turn = turns.values[:, : len(TURN_SIGNALS)][table.turn]
    return Design(np.hstack([own, versus, is_top, of_turn]), names)
