"""Solve the reformulation chain of every fold from counted edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from scipy.sparse import csr_matrix

from models.absorption import fundamental
from models.chain import PLACES, Chain, ChainOptions, words_start
from models.edges import ENDS
from models.leading import NOTHING
from schemas.chain import EDGE, ELSEWHERE, SUCCESS

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Users of each start who are taken to have gone elsewhere unseen: few users prove little, and every chain ends.
_DOUBT: Final = 1.0
# Numbers of a block of starts that are held at once: 8 MB.
_DENSE: Final = 1 << 20


def fit_chain(edges: pa.Table, folds: int, options: ChainOptions | None = None) -> Chain:
    """Solve the chain of every fold.

    Parameters
    ----------
    edges : pyarrow.Table
        EDGE rows; each key once.
    folds : int
    options : ChainOptions, optional
    """
    options = options or ChainOptions()
    table = _Edges.of(edges, folds)
    kept = [_solve(table, k, options) for k in range(folds)]
    found = np.unique(np.concatenate([fold.index for fold in kept]))
    shape = (len(found), folds, 1 + options.targets)
    users, other, target, p = np.zeros(shape[:2]), np.zeros(shape[:2]), np.zeros(shape, np.int64), np.zeros(shape)
    for k, fold in enumerate(kept):
        at = np.searchsorted(found, fold.index)
        users[at, k], target[at, k], p[at, k], other[at, k] = fold.users, fold.target, fold.p, fold.other
    named = edges.filter(edges["interpretation"].is_valid())
    meant = pd.Series(named["interpretation"].to_pandas().to_numpy(object), named["target"].to_numpy())
    meant = meant.groupby(level=0).max()
    meant = meant[meant.index.isin(np.unique(target[:, :, 1:]))].sort_index()
    return Chain(found, users, target, p, other, tuple(meant.tolist()), options.least)


@dataclass(frozen=True)
class _Edges:
    """Moves with the users of each fold; e moves, s starts, n readings.

    Attributes
    ----------
    start : numpy.ndarray of int64, shape (e,)
        Number of each move's start.
    target : numpy.ndarray of int64, shape (e,)
        Number of the reading moved to; that of an end less n + 1, so below 0.
    users, well : numpy.ndarray of float64, shape (e, folds)
    words, own : numpy.ndarray, shape (s,)
        Hash of each start's words, 0 = none; number of its own reading, -1 = `NOTHING`.
    readings : numpy.ndarray of int64, shape (n,)
        Ascending.
    """

    start: I64
    target: I64
    users: F64
    well: F64
    words: I64
    own: I64
    readings: I64

    @staticmethod
    def of(edges: pa.Table, folds: int) -> _Edges:
        edges = edges.sort_by([(key, "ascending") for key in EDGE.key])
        columns = [edges["words"].fill_null(0), *(edges[name] for name in EDGE.key[1:3])]
        number, (words, reading, target) = _runs([column.to_numpy() for column in columns])
        users, well = np.zeros((len(target), folds)), np.zeros((len(target), folds))
        fold = edges["fold"].to_numpy()
        np.add.at(users, (number, fold), edges["users"].to_numpy())
        np.add.at(well, (number, fold), edges["well"].to_numpy())
        start, (start_words, start_reading) = _runs([words, reading])
        ends = np.isin(target, ENDS)
        readings = np.unique(np.concatenate([target[~ends], start_reading[start_reading != NOTHING]]))
        own = np.where(start_reading != NOTHING, np.searchsorted(readings, start_reading), -1)
        place = np.where(ends, target - len(readings) - 1, np.searchsorted(readings, target))
        return _Edges(start, place, users, well, start_words, own, readings)

    def keys(self, start: I64) -> I64:
        """Keys of starts, as `starts` gives them."""
        own = np.where(self.own >= 0, np.append(self.readings, NOTHING)[self.own], NOTHING)[start]
        return np.where(self.words[start] != 0, words_start(self.words[start], own), own)


def _runs(columns: list[I64]) -> tuple[I64, list[I64]]:
    """Number of each row's run of equal values in all columns, shape (n,), and the columns of one row a run."""
    begins = np.any([np.append(True, column[1:] != column[:-1]) for column in columns], axis=0)[: len(columns[0])]
    return np.cumsum(begins, dtype=np.int64) - 1, [column[begins] for column in columns]


@dataclass(frozen=True)
class _Solved:
    """One fold of a Chain, of the starts that it knows."""

    index: I64
    users: F64
    target: I64
    p: F64
    other: F64


def _solve(table: _Edges, fold: int, options: ChainOptions) -> _Solved:
    """Where requests end well, by the users of the folds other than `fold`."""
    n, count = len(table.readings), len(table.words)
    users, well = (by_fold.sum(axis=1) - by_fold[:, fold] for by_fold in (table.users, table.well))
    total = np.bincount(table.start, weights=users, minlength=count) + _DOUBT
    moved = table.target >= 0
    kept = moved & (users >= options.min_users)

    def share(at: Mask, counted: F64) -> F64:
        return np.asarray(np.bincount(table.start[at], weights=counted[at], minlength=count) / total)

    held = users[kept] / total[table.start[kept]]
    moves = csr_matrix((held, (table.start[kept], table.target[kept])), shape=(count, n))
    success = share(table.target == SUCCESS - n - 1, users)
    elsewhere = share(table.target == ELSEWHERE - n - 1, users) + share(moved & ~kept, well) + _DOUBT / total
    known = np.flatnonzero(np.diff(moves.indptr) > 0)
    solved = _Ends.of(table, moves, success, elsewhere)
    step = max(1, _DENSE // max(n, 1))
    blocks = [_targets(solved, known[at : at + step], options.targets) for at in range(0, max(len(known), 1), step)]
    own, other, target, p = (np.concatenate(columns) for columns in zip(*blocks, strict=True))
    ids = np.append(table.readings, NOTHING)
    order = np.argsort(keys := table.keys(known))
    return _Solved(
        keys[order],
        np.asarray(total[known] - _DOUBT)[order],
        ids[np.column_stack([table.own[known], target])][order],
        np.column_stack([own, p])[order],
        other[order],
    )


@dataclass(frozen=True)
class _Ends:
    """Where requests from each start end well, one block of starts at a time: of a large log all at once are gigabytes.

    Attributes
    ----------
    moves : scipy.sparse.csr_matrix of float64, shape (s, n)
        Probability of moving from each start to each reading.
    visits : scipy.sparse.csr_matrix of float64, shape (n, n)
        Expected visits of each reading from each, before the request ends.
    at_reading : numpy.ndarray of float64, shape (n,)
        Probability that a request ends well in a reading that it is in.
    own : numpy.ndarray of int64, shape (s,)
        Each start's own reading; -1 = `NOTHING`.
    at_once : numpy.ndarray of float64, shape (s,)
        Probability that it ends well without a move.
    lost : numpy.ndarray of float64, shape (s,)
        Probability that it ends well elsewhere.
    """

    moves: csr_matrix
    visits: csr_matrix
    at_reading: F64
    own: I64
    at_once: F64
    lost: F64

    @staticmethod
    def of(table: _Edges, moves: csr_matrix, success: F64, elsewhere: F64) -> _Ends:
        """Solve the chain of readings, whatever the words."""
        n = len(table.readings)
        by_reading = np.flatnonzero(table.words == 0)
        place = csr_matrix((np.ones(len(by_reading)), (table.own[by_reading], by_reading)), shape=(n, len(table.words)))
        visits = fundamental(csr_matrix(place @ moves))
        lost = np.asarray(moves @ (visits @ (place @ elsewhere)) + elsewhere)
        return _Ends(moves, visits, np.asarray(place @ success), table.own, success, lost)

    def block(self, starts: I64) -> F64:
        """Probability that a request from each of some starts ends well in each reading, shape (len(starts), n)."""
        ends = np.asarray((self.moves[starts] @ self.visits).toarray()) * self.at_reading
        has = np.flatnonzero(self.own[starts] >= 0)
        ends[has, self.own[starts][has]] += self.at_once[starts][has]
        return ends


def _targets(solved: _Ends, starts: I64, count: int) -> tuple[F64, F64, I64, F64]:
    """Probability that a request from each start ends well in its own reading, and in any other place; its likeliest
    other readings, -1 where there are fewer, and their probabilities.

    A request that nothing was made of ends well in nothing where it ends well at once.
    """
    ends, own = solved.block(starts), solved.own[starts]
    whole, rows = ends.sum(axis=1), np.arange(len(starts))
    ends = np.round(ends, PLACES)
    has = own >= 0
    first = np.where(has, ends[rows, own], np.round(solved.at_once[starts], PLACES))
    other = np.round(whole - np.where(has, first, 0.0) + solved.lost[starts], PLACES)
    ends[rows[has], own[has]] = 0.0
    # Of each row what is no less than its `count`-th: those, and what is as likely as the last of them.
    least = np.partition(ends, -count, axis=1)[:, -count] if 0 < count < ends.shape[1] else np.zeros(len(starts))
    row, column = np.nonzero((ends > 0) & (ends >= least[:, None]))
    p = ends[row, column]
    order = np.lexsort((column, -p, row))
    row, column, p = row[order], column[order], p[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    target, probability = np.full((len(own), count), -1, np.int64), np.zeros((len(own), count))
    inside = place < count
    target[row[inside], place[inside]], probability[row[inside], place[inside]] = column[inside], p[inside]
    return first, other, target, probability
