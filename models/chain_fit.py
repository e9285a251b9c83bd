"""Solve the reformulation chain of every fold from counted edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from scipy.sparse import csr_matrix, diags

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
        columns = [edges["words"].fill_null(0), *(edges[name] for name in EDGE.key[1:3])]
        number, moves = pd.factorize(pd.MultiIndex.from_arrays([column.to_numpy() for column in columns]))
        words, reading, target = (moves.get_level_values(k).to_numpy(np.int64) for k in range(3))
        users, well = np.zeros((len(moves), folds)), np.zeros((len(moves), folds))
        fold = edges["fold"].to_numpy()
        np.add.at(users, (number, fold), edges["users"].to_numpy())
        np.add.at(well, (number, fold), edges["well"].to_numpy())
        of_start = pd.MultiIndex.from_arrays([words, reading])
        start, held = pd.factorize(of_start)
        start_words, start_reading = (held.get_level_values(k).to_numpy(np.int64) for k in range(2))
        ends = np.isin(target, ENDS)
        readings = np.unique(np.concatenate([target[~ends], start_reading[start_reading != NOTHING]]))
        own = np.where(start_reading != NOTHING, np.searchsorted(readings, start_reading), -1)
        place = np.where(ends, target - len(readings) - 1, np.searchsorted(readings, target))
        return _Edges(start.astype(np.int64), place, users, well, start_words, own, readings)

    def keys(self, start: I64) -> I64:
        """Keys of starts, as `starts` gives them."""
        own = np.where(self.own >= 0, np.append(self.readings, NOTHING)[self.own], NOTHING)[start]
        return np.where(self.words[start] != 0, words_start(self.words[start], own), own)


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
    ends, lost = _ends(table, moves, success, elsewhere)
    known = np.flatnonzero(np.diff(moves.indptr) > 0)
    own, target, p = _targets(ends[known], table.own[known], success[known], options.targets)
    others = np.asarray(ends.sum(axis=1)).ravel()[known] - np.where(table.own[known] >= 0, own, 0.0)
    ids = np.append(table.readings, NOTHING)
    order = np.argsort(keys := table.keys(known))
    return _Solved(
        keys[order],
        np.asarray(total[known] - _DOUBT)[order],
        ids[np.column_stack([table.own[known], target])][order],
        np.column_stack([own, p])[order],
        np.round(others + lost[known], PLACES)[order],
    )


def _ends(table: _Edges, moves: csr_matrix, success: F64, elsewhere: F64) -> tuple[csr_matrix, F64]:
    """Probability that a request from each start ends well in each reading, shape (s, n), and elsewhere, (s,)."""
    n = len(table.readings)
    by_reading = np.flatnonzero(table.words == 0)
    place = csr_matrix((np.ones(len(by_reading)), (table.own[by_reading], by_reading)), shape=(n, len(table.words)))
    visits = fundamental(csr_matrix(place @ moves))
    has = np.flatnonzero(table.own >= 0)
    at_once = csr_matrix((success[has], (has, table.own[has])), shape=moves.shape)
    ends = moves @ visits @ diags(np.asarray(place @ success)) + at_once
    return csr_matrix(ends), np.asarray(moves @ (visits @ (place @ elsewhere)) + elsewhere)


def _targets(ends: csr_matrix, own: I64, success: F64, count: int) -> tuple[F64, I64, F64]:
    """Probability of each row's own reading; its likeliest others, -1 where there are fewer, and theirs.

    A request that nothing was made of ends well in nothing where it ends well at once.
    """
    held = ends.tocoo()
    row, column, p = held.row.astype(np.int64), held.col.astype(np.int64), np.round(held.data, PLACES)
    is_own = column == own[row]
    first = np.where(own < 0, np.round(success, PLACES), 0.0)
    first[row[is_own]] = p[is_own]
    row, column, p = (values[~is_own & (p > 0)] for values in (row, column, p))
    order = np.lexsort((column, -p, row))
    row, column, p = row[order], column[order], p[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    target, probability = np.full((len(own), count), -1, np.int64), np.zeros((len(own), count))
    inside = place < count
    target[row[inside], place[inside]], probability[row[inside], place[inside]] = column[inside], p[inside]
    return first, target, probability
