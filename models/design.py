"""Design matrices: the numbers that the models see, from Signals rows.

Only what a turn's record and its session tell goes in: no names of intents, slots or users, so that a model
can judge a domain it has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import mix
from features.interpretation import list_offsets
from features.text import flat
from models.chain import NAMES as CHAIN
from models.chain import Chain
from models.prior import NAMES as PRIOR
from models.prior import Prior, answers
from schemas.signals import CANDIDATE_COLUMNS, SIGNALS

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]

EVIDENCE: Final = tuple(c.name for c in CANDIDATE_COLUMNS if c.group == "intent")
# `CandidateTable.offset` of what the reformulation chain proposes.
OF_CHAIN: Final = -1
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
    """Distinct candidates of all turns, flat: each turn's own n-best, what later rephrases were taken for, and what the
    reformulation chain proposes.

    Attributes
    ----------
    turn : numpy.ndarray of int64, shape (m,)
        Row of the turn in the Signals table.
    entry : numpy.ndarray of int64, shape (m,)
        Place of the candidate in its turn's list, from 0; what the chain proposes goes on behind it.
    offset : numpy.ndarray of int64, shape (m,)
        Turns to the later turn whose leading hypothesis it is; 0 = of the turn's own n-best; `OF_CHAIN` = proposed.
    candidate_id : numpy.ndarray of int64, shape (m,)
    support : numpy.ndarray of int64, shape (m,)
        Row of the first later turn that says the same; -1 where there is none, or it is not among the rows.
    origin : numpy.ndarray of int64, shape (m,)
        Row of the later turn whose leading hypothesis it is; -1 = of the turn's own n-best, or not among the rows.
    is_top : numpy.ndarray of bool, shape (m,)
        True for what the system took as best.
    evidence : numpy.ndarray of float32, shape (m, len(names))
    names : tuple of str
        `EVIDENCE`, then `models.prior.NAMES` where a prior was given, then `models.chain.NAMES` where a chain was.
    share : numpy.ndarray of float64, shape (m,), or None
        Of what the chain proposes (`models.chain.Chain.proposals`); 0 for others. None = no chain.
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
    share: npt.NDArray[np.float64] | None = None

    def take(self, rows: I64) -> CandidateTable:
        """The given rows only."""
        held = {f.name: getattr(self, f.name) for f in fields(self)}
        taken: dict[str, Any] = {name: values[rows] for name, values in held.items() if isinstance(values, np.ndarray)}
        return replace(self, **taken)


def numbers(column: pa.Array | pa.ChunkedArray) -> F32:
    """A number or bool column as float32 with NaN for null, shape (n,)."""
    values = flat(column)
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.uint8())
    return np.asarray(values.cast(pa.float32()).to_numpy(zero_copy_only=False), dtype=np.float32)


def candidate_table(
    signals: pa.Table, prior: Prior | None = None, fold: I64 | None = None, chain: Chain | None = None
) -> CandidateTable:
    """Flatten the distinct candidates of Signals rows.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows.
    prior : Prior, optional
        Adds what other users' turns tell of each candidate.
    fold : numpy.ndarray of int64, shape (n,), optional
        Fold of each turn's subject; wanted with a prior or a chain, which give a turn the other folds only.
    chain : Chain, optional
        Adds what users went on to from like requests, as evidence and as candidates that a turn's list lacks.
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
    offset, support = (entries.field(f).to_numpy().astype(np.int64)[keep] for f in ("offset", "support_offset"))
    place = _places(signals, furthest=int(max(support.max(initial=0), offset.max(initial=0))))
    table = CandidateTable(
        turn=turn[keep],
        entry=entry[keep],
        offset=offset,
        candidate_id=entries.field("candidate_id").to_numpy()[keep],
        support=_later_rows(place, turn[keep], support),
        origin=_later_rows(place, turn[keep], offset),
        is_top=(entry[keep] == 0) & (offset == 0),
        evidence=evidence,
        names=names,
    )
    return table if chain is None else _with_chain(signals, table, chain, prior, fold, np.diff(offsets))


def _with_chain(
    signals: pa.Table, table: CandidateTable, chain: Chain, prior: Prior | None, fold: I64 | None, listed: I64
) -> CandidateTable:
    """Add the chain's evidence, and its proposals behind each turn's own candidates."""
    if fold is None:
        raise ValueError("candidate_table: a chain wants the fold of each turn's subject; give subject_folds(...)")
    turn, proposed, share = chain.proposals(signals, fold)
    has = np.zeros(signals.num_rows, bool)
    has[turn] = True
    rivals = np.flatnonzero(has[table.turn])
    new = ~np.isin(mix(turn, proposed), mix(table.turn[rivals], table.candidate_id[rivals]))
    turn, proposed, share = turn[new], proposed[new], share[new]
    order = np.argsort(np.concatenate([table.turn, turn]), kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    listed_at, new_at = place[: len(table.turn)], place[len(table.turn) :]

    def merged(held: npt.NDArray[Any], added: npt.NDArray[Any] | int) -> npt.NDArray[Any]:
        out = np.empty(len(order), held.dtype)
        out[listed_at], out[new_at] = held, added
        return out

    width = len(table.names)
    evidence = np.full((len(order), width + len(CHAIN)), np.nan, np.float32)
    evidence[listed_at, :width] = table.evidence
    if prior is not None:
        known, at = chain.readings, chain.place(proposed)
        keys = (proposed, known.value_id[at], answers(signals, turn, known.frame_id[at]))
        evidence[new_at, len(EVIDENCE) : width] = prior.of(keys, fold[turn])
    whole_turn, candidate = merged(table.turn, turn), merged(table.candidate_id, proposed)
    evidence[:, width:] = chain.features(signals, whole_turn, candidate, fold)
    return CandidateTable(
        turn=whole_turn,
        entry=merged(table.entry, listed[turn] + np.arange(len(turn)) - np.searchsorted(turn, turn)),
        offset=merged(table.offset, OF_CHAIN),
        candidate_id=candidate,
        support=merged(table.support, -1),
        origin=merged(table.origin, -1),
        is_top=merged(table.is_top, False),
        evidence=evidence,
        names=table.names + CHAIN,
        share=merged(np.zeros(len(table.turn)), share),
    )


def frames(signals: pa.Table, table: CandidateTable, chain: Chain | None = None) -> I64:
    """Frame of each candidate (domain, intent and names of slots), shape (m,); 0 = not known.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows.
    table : CandidateTable
        m candidates of these turns.
    chain : Chain, optional
        Whose proposals are among them: they stand in no turn's list, and without it their frames are not known.
    """
    lists = flat(signals["candidates"])
    listed = np.flatnonzero(table.offset != OF_CHAIN)
    out = np.zeros(len(table.turn), np.int64)
    at = list_offsets(lists)[table.turn[listed]] + table.entry[listed]
    out[listed] = lists.flatten().field("frame_id").to_numpy()[at]
    if chain is not None:
        proposed = np.flatnonzero(table.offset == OF_CHAIN)
        out[proposed] = chain.readings.frame_id[chain.place(table.candidate_id[proposed])]
    return out


def _places(signals: pa.Table, furthest: int) -> I64:
    """A number of each turn by which they ascend: a session's go by its turns, and another session's lie further off
    than the `furthest` turn that is looked for.
    """
    session = flat(signals["session_id"])
    changes = pc.not_equal(session[1:], session[:-1]).to_numpy(zero_copy_only=False)
    number = np.append(0, np.cumsum(changes, dtype=np.int64))[: len(session)]
    position = signals["turns_before"].to_numpy().astype(np.int64)
    return np.asarray(number * (int(position.max(initial=0)) + furthest + 1) + position, dtype=np.int64)


def _later_rows(place: I64, turn: I64, offset: I64) -> I64:
    """Rows of the turns `offset` turns after others in their sessions; -1 for an offset of 0 or a turn that is missing.

    Rows of a session may have holes: a turn that may not be learned from is left out of the training table.
    """
    out, later = np.full(len(turn), -1, np.int64), np.flatnonzero(offset > 0)
    wanted = place[turn[later]] + offset[later]
    row = np.minimum(np.searchsorted(place, wanted), len(place) - 1)
    out[later] = np.where(place[row] == wanted, row, -1)
    return out


def _per_turn(rows: I64, values: F32, turns: int) -> F32:
    """Scatter candidate rows to their turns; NaN where a turn has none."""
    out = np.full((turns, values.shape[1]), np.nan, np.float32)
    out[rows] = values
    return out


def _largest(turn: I64, values: F32, out: F32) -> None:
    """Column-wise maximum over each turn's candidates, ignoring NaN, to its row of `out`. Turns are in order."""
    starts = _starts(turn)
    place = np.arange(len(turn)) - np.repeat(starts, np.diff(np.append(starts, len(turn))))
    out[turn[starts]] = values.take(starts, axis=0)
    # A place at a time over all turns: lists are short, and a reduction over each costs four times as much.
    for rows in np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place)))[1:]:
        out[turn[rows]] = np.fmax(out[turn[rows]], values.take(rows, axis=0))


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
    own, width = len(TURN_SIGNALS), len(table.names)
    values = np.full((n, own + 3 * width), np.nan, np.float32)
    values[:, :own] = np.stack([numbers(signals[name]) for name in TURN_SIGNALS]).T
    top, second, other = (values[:, own + k * width :][:, :width] for k in range(3))
    rank = table.evidence[:, EVIDENCE.index("rank")]
    others = ~table.is_top & (table.offset == 0)
    runner = others & (rank == _lowest(table.turn[others], rank[others], n)[table.turn])
    for part, which in ((top, table.is_top), (second, runner)):
        part[table.turn[which]] = table.evidence.take(np.flatnonzero(which), axis=0)
    _largest(table.turn[others], table.evidence.take(np.flatnonzero(others), axis=0), other)
    names = TURN_SIGNALS + tuple(f"{part}.{e}" for part in ("top", "second", "other") for e in table.names)
    return Design(values, names)


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
