"""Sessions as hidden Markov chains of wishes, all of them a step at once: forward, backward, expected counts.

A state is one of the turn's candidates, or "other": none of them. From a turn to the next the wish is the same one
(again) or drawn anew. A wish that the next list lacks goes on as "other"; "other" goes on as a candidate that this list
lacks by how often that one is wanted at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import mix, strings
from models.design import EVIDENCE, CandidateTable
from models.prior import NAMES as PRIOR

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

AGAIN, NEW, END = range(3)
# Column of the evidence that counts the subjects of a candidate.
SUBJECTS: Final = PRIOR[0]
# Of belief: least share that no candidate of the list is meant, and what a list without scores is taken for.
_LEAST_OTHER: Final = 0.005
_UNSCORED_TOP: Final = 0.7
_UNSCORED_REST: Final = 0.2
# No belief is 0: it could never be mended.
_LEAST: Final = 1e-9
# Least share of wishes that are not in a list.
_LEAST_UNLISTED: Final = 0.05


@dataclass(frozen=True)
class Pass:
    """Belief in each candidate, shape (m,); expected counts of each turn's (missed, move), shape (n, 2, 3)."""

    belief: F64
    counts: F64


@dataclass(frozen=True)
class WishChain:
    """Sessions laid out so that all of them take a step at once.

    Attributes
    ----------
    turn : numpy.ndarray of int64, shape (m,)
        Turn of each candidate, ascending.
    missed : numpy.ndarray of int64, shape (m,)
        0 where the candidate is what was acted on, else 1.
    emission : numpy.ndarray, shape (m,)
        p(candidate | the turn's words), by the interpreter's scores.
    other : numpy.ndarray, shape (n,)
        The rest: no candidate of the list.
    ratio, ratio_other : numpy.ndarray, shapes (m,) and (n,)
        Emission over how often the candidate is wanted at all, and any that is not in the list.
    joins : numpy.ndarray, shape (m,)
        Of wishes that the list before lacks and that are wanted again: share that is this candidate.
    stay : numpy.ndarray, shape (n,)
        Of the same: share that this list lacks too.
    match : numpy.ndarray of int64, shape (m,)
        Row of the same candidate in the list of the turn before; -1 where it has none.
    onward : numpy.ndarray of int64, shape (m,)
        The same in the list of the turn after.
    has_next, is_last, follows : numpy.ndarray of bool, shape (n,)
        Whether the next row is the session's next turn; whether the session ends here (neither, where rows are
        missing); whether the row before is the turn before.
    steps : tuple of (turns, candidates)
        Rows of the turns, and of the candidates, at each place in their run of turns.
    """

    turn: I64
    missed: I64
    emission: F64
    other: F64
    ratio: F64
    ratio_other: F64
    joins: F64
    stay: F64
    match: I64
    onward: I64
    has_next: Mask
    is_last: Mask
    follows: Mask
    steps: tuple[tuple[I64, I64], ...]

    @staticmethod
    def of(signals: pa.Table, table: CandidateTable, readings: float) -> WishChain:
        """Lay out the turns of `signals` and their candidates; `readings` is what `popularity` is a share of."""
        n, turn = signals.num_rows, table.turn
        session = strings(signals["session_id"])
        position = signals["turns_before"].to_numpy().astype(np.int64)
        follows = np.zeros(n, bool)
        follows[1:] = (session[1:] == session[:-1]) & (np.diff(position) == 1)
        place = _run_places(follows)
        places = int(place.max(initial=-1)) + 1
        prior = popularity(table) / readings
        emission, other = _emission(table, prior, n)
        unlisted = np.maximum(1.0 - np.bincount(turn, prior, minlength=n), _LEAST_UNLISTED)
        match = _matches(table, follows)
        onward = np.full(len(turn), -1, np.int64)
        onward[match[match >= 0]] = np.flatnonzero(match >= 0)
        joins = np.where((match < 0) & follows[turn], np.minimum(prior / unlisted[turn - 1], 1.0), 0.0)
        joined = np.bincount(turn, joins, minlength=n)
        joins /= np.maximum(joined / (1.0 - _LEAST_UNLISTED), 1.0)[turn]
        return WishChain(
            turn=turn,
            missed=(~table.is_top).astype(np.int64),
            emission=emission,
            other=other,
            ratio=emission / prior,
            ratio_other=other / unlisted,
            joins=joins,
            stay=1.0 - np.minimum(joined, 1.0 - _LEAST_UNLISTED),
            match=match,
            onward=onward,
            has_next=np.append(follows[1:], False)[:n],
            is_last=signals["turns_after"].to_numpy() == 0,
            follows=follows,
            steps=tuple(zip(_by_place(place, places), _by_place(place[turn], places), strict=True)),
        )

    def emitting(self, emission: F64, other: F64) -> WishChain:
        """The same with other beliefs by the words, shapes (m,) and (n,)."""
        ratio = self.ratio * (emission / self.emission)
        ratio_other = self.ratio_other * (other / self.other)
        return replace(self, emission=emission, other=other, ratio=ratio, ratio_other=ratio_other)

    def pass_through(self, likelihood: F64) -> Pass:
        """Forward and backward.

        Parameters
        ----------
        likelihood : numpy.ndarray, shape (n, 2, 2)
            Of what follows each turn, by whether its wish was met (0) or missed (1), and by move (again, new); where
            nothing follows, both moves have what its end has.
        """
        forward, forward_other = self._forward(likelihood)
        return self._backward(likelihood, forward, forward_other)

    def _forward(self, likelihood: F64) -> tuple[F64, F64]:
        """Belief by the turn and those before it, scaled a turn, shapes (m,) and (n,)."""
        belief, other = self.emission.copy(), self.other.copy()
        fresh = np.zeros(len(other))
        for k, (turns, rows) in enumerate(self.steps):
            turn = self.turn[rows]
            local = np.searchsorted(turns, turn)
            if k:
                before, match = turn - 1, self.match[rows]
                same = belief[match] * likelihood[before, self.missed[match], AGAIN]
                named = other[before] * likelihood[before, 1, AGAIN] * self.joins[rows]
                again = np.where(match >= 0, same, named)
                belief[rows] = self.ratio[rows] * again + self.emission[rows] * fresh[before]
                lost = self._lost(k, belief, likelihood)
                stays = other[turns - 1] * likelihood[turns - 1, 1, AGAIN] * self.stay[turns]
                other[turns] = self.ratio_other[turns] * (lost + stays) + self.other[turns] * fresh[turns - 1]
            total = np.bincount(local, belief[rows], minlength=len(turns)) + other[turns]
            belief[rows] /= total[local]
            other[turns] /= total
            new = belief[rows] * likelihood[turn, self.missed[rows], NEW]
            fresh[turns] = np.bincount(local, new, minlength=len(turns)) + other[turns] * likelihood[turns, 1, NEW]
        return belief, other

    def _lost(self, k: int, belief: F64, likelihood: F64) -> F64:
        """Belief in candidates of the turns before that the lists at step k lack, wanted again."""
        turns, rows = self.steps[k][0], self.steps[k - 1][1]
        rows = rows[(self.onward[rows] < 0) & self.has_next[self.turn[rows]]]
        again = belief[rows] * likelihood[self.turn[rows], self.missed[rows], AGAIN]
        lost = np.bincount(np.searchsorted(turns, self.turn[rows] + 1), again, minlength=len(turns))
        return np.asarray(lost, dtype=np.float64)

    def _backward(self, likelihood: F64, forward: F64, forward_other: F64) -> Pass:
        m, n = len(forward), len(forward_other)
        after, after_other = np.zeros((m, 2)), np.zeros((n, 2))
        onward, onward_other, fresh, joined = np.zeros(m), np.zeros(n), np.ones(n), np.zeros(n)
        for turns, rows in reversed(self.steps):
            turn, missed = self.turn[rows], self.missed[rows]
            local = np.searchsorted(turns, turn)
            goes, target = self.has_next[turn], self.onward[rows]
            there = np.where(target >= 0, onward[target], onward_other[np.minimum(turn + 1, n - 1)])
            again = np.where(goes, there, 0.0) * likelihood[turn, missed, AGAIN]
            after[rows] = np.column_stack([again, fresh[turn] * likelihood[turn, missed, NEW]])
            following = np.minimum(turns + 1, n - 1)
            unlisted = joined[following] + self.stay[following] * onward_other[following]
            again = np.where(self.has_next[turns], unlisted, 0.0) * likelihood[turns, 1, AGAIN]
            after_other[turns] = np.column_stack([again, fresh[turns] * likelihood[turns, 1, NEW]])
            ahead, ahead_other = after[rows].sum(axis=1), after_other[turns].sum(axis=1)
            total = np.bincount(local, forward[rows] * ahead, minlength=len(turns)) + forward_other[turns] * ahead_other
            after[rows] /= total[local][:, None]
            after_other[turns] /= total[:, None]
            # What the turns before see of these: each wish taken up again, and one drawn anew.
            ahead, ahead_other = ahead / total[local], ahead_other / total
            onward[rows] = self.ratio[rows] * ahead
            onward_other[turns] = self.ratio_other[turns] * ahead_other
            drawn = np.bincount(local, self.emission[rows] * ahead, minlength=len(turns))
            before = turns[self.follows[turns]] - 1
            fresh[before] = (drawn + self.other[turns] * ahead_other)[self.follows[turns]]
            named = np.where(self.match[rows] < 0, self.joins[rows] * onward[rows], 0.0)
            joined[turns] = np.bincount(local, named, minlength=len(turns))
        return self._passed(forward[:, None] * after, forward_other[:, None] * after_other)

    def _passed(self, belief: F64, other: F64) -> Pass:
        """From belief by candidate and move to what is asked for."""
        n = len(other)
        counts = np.zeros((n, 2, 3))
        for w in (0, 1):
            at = self.missed == w
            for move in (AGAIN, NEW):
                counts[:, w, move] = np.bincount(self.turn[at], belief[at, move], minlength=n)
        counts[:, 1, :2] += other
        ends = counts[:, :, :2].sum(axis=2)
        counts[:, :, :2] *= self.has_next[:, None, None]
        counts[:, :, END] = ends * self.is_last[:, None]
        return Pass(belief.sum(axis=1), counts)


def popularity(table: CandidateTable) -> F64:
    """Other subjects who were taken to want each candidate, and one more, shape (m,)."""
    if SUBJECTS not in table.names:
        return np.ones(len(table.turn))
    return 1.0 + np.expm1(np.nan_to_num(table.evidence[:, table.names.index(SUBJECTS)]).astype(np.float64))


def _run_places(follows: Mask) -> I64:
    """Place of each row in its run of rows that follow each other, from 0."""
    rows = np.arange(len(follows))
    return np.asarray(rows - np.maximum.accumulate(np.where(follows, 0, rows)), dtype=np.int64)


def _by_place(place: I64, places: int) -> list[I64]:
    """Rows at each place, in order."""
    order = np.argsort(place, kind="stable")
    return np.split(order, np.cumsum(np.bincount(place, minlength=places))[:-1]) if places else []


def _matches(table: CandidateTable, follows: Mask) -> I64:
    """Row of the same candidate in the list of the turn before, shape (m,); -1 = none."""
    key, wanted = mix(table.turn, table.candidate_id), mix(table.turn - 1, table.candidate_id)
    order = np.argsort(key, kind="stable")
    at = np.minimum(np.searchsorted(key[order], wanted), max(len(key) - 1, 0))
    found = (key[order[at]] == wanted) & follows[table.turn] if len(key) else np.zeros(0, bool)
    return np.where(found, order[at], -1) if len(key) else np.zeros(0, np.int64)


def _emission(table: CandidateTable, prior: F64, turns: int) -> tuple[F64, F64]:
    """p(candidate | words) by the interpreter's scores, shape (m,), and what is left for all others, shape (turns,).

    Scores that add up to more than 1 are scaled down. A list without scores is taken for a usual one. What is not in
    the turn's own list has its share, by popularity, of what the list leaves.
    """
    own = table.offset == 0
    mass = np.where(own, np.nan_to_num(table.evidence[:, EVIDENCE.index("mass")]).astype(np.float64), 0.0)
    mass = np.maximum(mass, 0.0)
    total = np.bincount(table.turn, mass, minlength=turns)
    listed = np.bincount(table.turn, own & ~table.is_top, minlength=turns)
    usual = np.where(table.is_top, _UNSCORED_TOP, _UNSCORED_REST / np.maximum(listed, 1.0)[table.turn])
    mass = np.where(own & (total == 0.0)[table.turn], usual, mass)
    total = np.bincount(table.turn, mass, minlength=turns)
    mass *= (np.minimum(1.0 - _LEAST_OTHER, total) / np.maximum(total, _LEAST_OTHER))[table.turn]
    left = 1.0 - np.minimum(1.0 - _LEAST_OTHER, total)
    unlisted = np.maximum(1.0 - np.bincount(table.turn[own], prior[own], minlength=turns), _LEAST_UNLISTED)
    mass = np.where(own, mass, left[table.turn] * np.minimum(prior / unlisted[table.turn], 1.0))
    named = np.bincount(table.turn[~own], mass[~own], minlength=turns)
    return np.maximum(mass, _LEAST), np.maximum(left - named, _LEAST)
