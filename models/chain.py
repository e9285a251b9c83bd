"""The reformulation chain: what a request was taken for after users had put it right, pooled over all users.

An absorbing Markov chain over interpretations (Ponnusamy et al. 2019, arXiv 1911.02557): transient states are
readings, absorbing ones success and failure, moves are reformulations. For a start i the reading that the request is
likeliest to end well in is argmax_j N_ij r_j(success). A request starts at its words and reading together where enough
users said them, as a reading is wrong for some words and right for others; from the first reformulation on a state is
a reading. Moves that too few users made are no part of it: they end badly, or well elsewhere, as they did.

Like `models.pool` it is kept by fold of subject: a turn reads what the users of the other folds did.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from scipy.sparse import csr_matrix, diags

from features.hashing import mix
from features.interpretation import Candidates, flatten
from models.absorption import fundamental
from models.leading import NOTHING, leading_of
from schemas.chain import EDGE, ELSEWHERE, FAILURE, SUCCESS
from schemas.turn import INTERPRETATION

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

KINDS: Final = ("words", "reading")
_FIGURES: Final = ("p", "share", "users")
NAMES: Final = tuple(f"chain.{kind}.{figure}" for kind in KINDS for figure in _FIGURES)
# Users of each start who are taken to have gone elsewhere unseen: few users prove little, and every chain ends.
_DOUBT: Final = 1.0
_ENDS: Final = (SUCCESS, FAILURE, ELSEWHERE)
# Where probabilities are rounded: their last bits must not decide.
_DECIMALS: Final = 9


@dataclass(frozen=True)
class ChainOptions:
    """What the reformulation chain takes for known.

    Attributes
    ----------
    min_users : int
        Distinct users who made a move, beside those of the turn's own fold: one user's way is not a rule.
    targets : int
        Likeliest readings kept for a start, beside its own.
    least : float
        Least share of a reading that becomes a candidate, among those that requests from its start end well in other
        than their own; with less it is rarely the best one and costs the models time.
    """

    min_users: int = 3
    targets: int = 3
    least: float = 0.2


@dataclass(frozen=True)
class Chain:
    """Where requests end well, by start and fold; k starts, m targets beside a start's own reading.

    Attributes
    ----------
    starts : numpy.ndarray of int64, shape (k,)
        Ascending; a reading, or `words_start`.
    users : numpy.ndarray of float64, shape (k, folds)
        Distinct users of the other folds that a start's moves and ends were counted from; 0 = not known.
    target : numpy.ndarray of int64, shape (k, folds, 1 + m)
        The start's own reading, then the likeliest others; `NOTHING` where there are fewer.
    p : numpy.ndarray of float64, shape (k, folds, 1 + m)
        Probability that the request ends well there.
    other : numpy.ndarray of float64, shape (k, folds)
        Probability that it ends well in another reading than its own, or elsewhere.
    meanings : tuple of str
        The targets' interpretations as JSON.
    least : float
        See `ChainOptions`.
    """

    starts: I64
    users: F64
    target: I64
    p: F64
    other: F64
    meanings: tuple[str, ...]
    least: float

    @cached_property
    def interpretations(self) -> pa.Array:
        """Interpretations that can be proposed, shape (t,)."""
        return pa.array([json.loads(text) | {"score": None} for text in self.meanings], INTERPRETATION)

    @cached_property
    def readings(self) -> Candidates:
        """The same with their keys, by ascending candidate id."""
        each = pa.array(range(len(self.meanings) + 1), pa.int32())
        return flatten(pa.ListArray.from_arrays(each, self.interpretations))

    def place(self, candidate_id: I64) -> I64:
        """Place of each candidate among `interpretations`; -1 where it is none of them."""
        ids = self.readings.candidate_id
        if not len(ids):
            return np.full(len(candidate_id), -1, np.int64)
        at = np.minimum(np.searchsorted(ids, candidate_id), len(ids) - 1)
        return np.where(ids[at] == candidate_id, at, -1)

    def features(self, signals: pa.Table, turn: I64, candidate_id: I64, fold: I64) -> F32:
        """What the chain says of candidates, shape (m, len(NAMES)).

        For either kind of start: the probability that a request from there ends well in the candidate (NaN = the start
        is not known; 0 = the candidate is not among its targets); its share as of `proposals`, 0 for the start's own
        reading; and log(1 + users) of the start.

        Parameters
        ----------
        signals : pyarrow.Table
            n Signals rows.
        turn, candidate_id : numpy.ndarray of int64, shape (m,)
            Row of each candidate's turn, and the candidate.
        fold : numpy.ndarray of int64, shape (n,)
        """
        out = np.full((len(turn), len(NAMES)), np.nan, np.float32)
        for k, start in enumerate(starts(signals)):
            at = self._known(start, fold)[turn]
            rows = np.flatnonzero(at >= 0)
            where = at[rows], fold[turn[rows]]
            is_target = self.target[where] == candidate_id[rows, None]
            first = len(_FIGURES) * k
            out[rows, first] = np.where(is_target, self.p[where], 0.0).max(axis=1)
            out[rows, first + 1] = np.where(is_target[:, 1:], self._shares(where), 0.0).max(axis=1)
            out[:, first + 2] = 0.0
            out[rows, first + 2] = np.log1p(self.users[where])
        return out

    def _shares(self, where: tuple[I64, I64]) -> F64:
        """Shares of the targets beside the own reading, at places and folds, shape (m, targets)."""
        other = np.maximum(self.other[where], 10.0**-_DECIMALS)
        return np.asarray(self.p[where][:, 1:] / other[:, None])

    def proposals(self, signals: pa.Table, fold: I64) -> tuple[I64, I64, F64]:
        """Readings that requests with each turn's words end well in where their own reading fails.

        A reading alone does not tell enough: whose requests it fails, and what they meant, goes by the words.

        Returns
        -------
        turn, candidate_id : numpy.ndarray of int64, shape (m,)
            Turns in order, the likeliest candidate first.
        share : numpy.ndarray, shape (m,)
            Of the candidate among the requests that end well in another reading than their own, or elsewhere. Those
            that end badly say nothing of what was meant.
        """
        at = self._known(starts(signals)[0], fold)
        rows = np.flatnonzero(at >= 0)
        where = at[rows], fold[rows]
        target, share = self.target[where], self._shares(where)
        good = (target[:, 1:] != NOTHING) & (share >= self.least)
        turn, column = np.nonzero(good)
        return rows[turn], target[turn, column + 1], share[turn, column]

    def _known(self, start: I64, fold: I64) -> I64:
        """Place of each turn's start; -1 where the other folds do not know it."""
        if not len(self.starts):
            return np.full(len(start), -1, np.int64)
        at = np.minimum(np.searchsorted(self.starts, start), len(self.starts) - 1)
        return np.where((self.starts[at] == start) & (self.users[at, fold] > 0), at, -1)

    def plain(self) -> dict[str, Any]:
        """Plain data for a JSON file; arrays as base64 of little-endian bytes."""
        arrays = {name: _pack(getattr(self, name)) for name in ("starts", "users", "target", "p", "other")}
        return {"shape": list(self.p.shape), "meanings": list(self.meanings), "least": self.least, **arrays}

    @staticmethod
    def from_plain(held: Mapping[str, Any]) -> Chain:
        """Read what `plain` gave."""
        shape = tuple(int(n) for n in held["shape"])
        return Chain(
            starts=_unpack(held["starts"], "<i8", shape[:1]).astype(np.int64),
            users=_unpack(held["users"], "<f8", shape[:2]).astype(np.float64),
            target=_unpack(held["target"], "<i8", shape).astype(np.int64),
            p=_unpack(held["p"], "<f8", shape).astype(np.float64),
            other=_unpack(held["other"], "<f8", shape[:2]).astype(np.float64),
            meanings=tuple(held["meanings"]),
            least=float(held["least"]),
        )


def _pack(values: npt.NDArray[np.generic]) -> str:
    return base64.b64encode(values.astype("<i8" if values.dtype.kind == "i" else "<f8").tobytes()).decode("ascii")


def _unpack(text: str, type: str, shape: tuple[int, ...]) -> npt.NDArray[np.generic]:
    return np.frombuffer(base64.b64decode(text), type).reshape(shape)


def starts(signals: pa.Table) -> tuple[I64, I64]:
    """Start of each turn by its words and reading, and by its reading alone, shape (n,); `NOTHING` = has none."""
    reading = leading_of(signals)
    words = signals["utterance_id"].fill_null(0).to_numpy()
    return np.where(words != 0, words_start(words, reading), NOTHING), reading


def words_start(words: I64, reading: I64) -> I64:
    """Start of requests with these words that were taken for this reading, shape (n,)."""
    return mix(words, reading)


def count_edges(
    subject: I64, fold: I64, words: I64, reading: I64, target: I64, well: Mask, meaning: npt.NDArray[np.object_]
) -> pa.Table:
    """EDGE rows of moves: distinct users of each, by words and reading and by reading alone.

    Parameters
    ----------
    subject, fold : numpy.ndarray of int64, shape (m,)
        Whose move, and their fold.
    words, reading, target : numpy.ndarray of int64, shape (m,)
        0 for words = none.
    well : numpy.ndarray of bool, shape (m,)
        It ended well at last.
    meaning : numpy.ndarray of object, shape (m,)
        The target's interpretation as JSON; None where it is an end.
    """
    moved = {"words": words, "reading": reading, "target": target, "fold": fold}
    frame = pd.DataFrame(moved | {"subject": subject, "well": well, "meaning": meaning})
    parts = [frame[frame["words"] != 0], frame[frame["reading"] != NOTHING].assign(words=0)]
    both = pd.concat(parts, ignore_index=True)
    keys = ["words", "reading", "target", "fold"]
    # A user whom it ended both ways with counts as the first time.
    grouped = both.drop_duplicates([*keys, "subject"]).groupby(keys, sort=True)["well"]
    users = grouped.size()
    # Readings with one id differ at most in letter case; the last by order has lower case.
    meant = both.dropna(subset=["meaning"]).groupby(keys, sort=True)["meaning"].max().reindex(users.index)
    index = users.index.to_frame(index=False)
    return _edges(index.assign(users=users.to_numpy(), well=grouped.sum().to_numpy(), interpretation=meant.to_numpy()))


def _edges(frame: pd.DataFrame) -> pa.Table:
    words = frame["words"].to_numpy(np.int64)
    columns = {name: pa.array(frame[name].to_numpy()) for name in ("reading", "target", "fold", "users", "well")}
    texts = frame["interpretation"].astype(object).where(frame["interpretation"].notna(), None)
    return EDGE.conform(
        pa.table(columns | {"words": pa.array(words, mask=words == 0), "interpretation": pa.array(texts, pa.string())})
    )


def add_edges(tables: list[pa.Table]) -> pa.Table:
    """Sum EDGE rows of distinct users; sorted by key. Keeps the form, so partial sums can be summed."""
    keys = list(EDGE.key)
    whole = pa.concat_tables([EDGE.empty(), *tables])
    summed = whole.group_by(keys, use_threads=False).aggregate(
        [("users", "sum"), ("well", "sum"), ("interpretation", "max")]
    )
    summed = summed.rename_columns([*keys, "users", "well", "interpretation"])
    return EDGE.conform(summed.sort_by([(key, "ascending") for key in keys]))


def known_edges(edges: pa.Table, min_users: int) -> pa.Table:
    """EDGE rows that the chain can use: of moves of too few users only the end is kept; starts by words without any
    other move are left out, and so are readings of too few users.

    Parameters
    ----------
    edges : pyarrow.Table
        All EDGE rows of their starts (words and reading).
    min_users : int
    """
    frame = edges.to_pandas()
    frame["words"] = edges["words"].fill_null(0).to_numpy()
    start = frame.groupby(["words", "reading"], sort=False)
    moved = ~frame["target"].isin(_ENDS)
    few = moved & (frame.groupby(["words", "reading", "target"], sort=False)["users"].transform("sum") < min_users)
    total = start["users"].transform("sum")
    has_move = (moved & ~few).groupby([frame["words"], frame["reading"]], sort=False).transform("any")
    keep = np.where(frame["words"] != 0, has_move, total >= min_users)
    rare = frame[few & keep].assign(interpretation=None)
    well = rare.assign(target=ELSEWHERE, users=rare["well"])
    badly = rare.assign(target=FAILURE, users=rare["users"] - rare["well"], well=0)
    parts = [frame[~few & keep], well[well["users"] > 0], badly[badly["users"] > 0]]
    return add_edges([_edges(part) for part in parts])


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
        ends = np.isin(target, _ENDS)
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
        np.round(others + lost[known], _DECIMALS)[order],
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
    row, column, p = held.row.astype(np.int64), held.col.astype(np.int64), np.round(held.data, _DECIMALS)
    is_own = column == own[row]
    first = np.where(own < 0, np.round(success, _DECIMALS), 0.0)
    first[row[is_own]] = p[is_own]
    row, column, p = (values[~is_own & (p > 0)] for values in (row, column, p))
    order = np.lexsort((column, -p, row))
    row, column, p = row[order], column[order], p[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    target, probability = np.full((len(own), count), -1, np.int64), np.zeros((len(own), count))
    inside = place < count
    target[row[inside], place[inside]], probability[row[inside], place[inside]] = column[inside], p[inside]
    return first, target, probability
