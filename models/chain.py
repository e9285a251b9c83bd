"""The reformulation chain: what a request was taken for after users had put it right, pooled over all users.

An absorbing Markov chain over interpretations (Ponnusamy et al. 2019, arXiv 1911.02557): transient states are
readings, absorbing ones success and failure, moves are reformulations. For a start i the reading that the request is
likeliest to end well in is argmax_j N_ij r_j(success). A request starts at its words and reading together where enough
users said them, as a reading is wrong for some words and right for others; from the first reformulation on a state is
a reading.

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
from scipy.sparse import csr_matrix

from features.hashing import mix
from features.interpretation import Candidates, flatten
from models.absorption import absorption
from models.leading import NOTHING, leading_of
from schemas.chain import EDGE, FAILURE, SUCCESS
from schemas.turn import INTERPRETATION

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

KINDS: Final = ("words", "reading")
NAMES: Final = tuple(f"chain.{kind}.{figure}" for kind in KINDS for figure in ("p", "users"))
# Users of each start who are taken to have failed unseen: few users prove little, and every chain ends.
_DOUBT: Final = 1.0
# Where probabilities are rounded: their last bits must not decide.
_DECIMALS: Final = 9


@dataclass(frozen=True)
class ChainOptions:
    """What the reformulation chain takes for known.

    Attributes
    ----------
    min_users : int
        Distinct users who made a move, beside the turn's own fold: one user's way is not a rule. What fewer did counts
        as a failure.
    targets : int
        Likeliest readings kept for a start, beside its own.
    least : float
        Least probability of a reading that becomes a candidate, of the requests that its start's own reading fails;
        less likely, it is rarely the best one and costs the models time.
    """

    min_users: int = 3
    targets: int = 3
    least: float = 0.1


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
    meanings : tuple of str
        The targets' interpretations as JSON.
    least : float
        See `ChainOptions`.
    """

    starts: I64
    users: F64
    target: I64
    p: F64
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

        For either kind of start the probability that a request from there ends well in the candidate (NaN = the start
        is not known; 0 = the candidate is not among its targets), and log(1 + users) of the start.

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
            known = at >= 0
            target, p = self.target[at, fold[turn]], self.p[at, fold[turn]]
            found = np.where(target == candidate_id[:, None], p, 0.0).max(axis=1, initial=0.0)
            out[:, 2 * k] = np.where(known, found, np.nan)
            out[:, 2 * k + 1] = np.log1p(np.where(known, self.users[at, fold[turn]], 0.0))
        return out

    def proposals(self, signals: pa.Table, fold: I64) -> tuple[I64, I64, F64]:
        """Readings that requests like each turn's end well in when their own fails.

        By its words and reading where they are known, else by its reading.

        Returns
        -------
        turn, candidate_id : numpy.ndarray of int64, shape (m,)
            Turns in order, the likeliest candidate first.
        share : numpy.ndarray, shape (m,)
            Probability of the candidate, of the requests that do not end well in their own reading.
        """
        words, reading = (self._known(start, fold) for start in starts(signals))
        at = np.where(words >= 0, words, reading)
        rows = np.flatnonzero(at >= 0)
        target, p = self.target[at[rows], fold[rows]], self.p[at[rows], fold[rows]]
        share = p[:, 1:] / np.maximum(1.0 - p[:, :1], 1e-9)
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
        arrays = {name: _pack(getattr(self, name)) for name in ("starts", "users", "target", "p")}
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
    subject: I64, fold: I64, words: I64, reading: I64, target: I64, meaning: npt.NDArray[np.object_]
) -> pa.Table:
    """EDGE rows of moves: distinct users of each, by words and reading and by reading alone.

    Parameters
    ----------
    subject, fold : numpy.ndarray of int64, shape (m,)
        Whose move, and their fold.
    words, reading, target : numpy.ndarray of int64, shape (m,)
        0 for words = none.
    meaning : numpy.ndarray of object, shape (m,)
        The target's interpretation as JSON; None where it is an end.
    """
    frame = pd.DataFrame(
        {"words": words, "reading": reading, "target": target, "fold": fold, "subject": subject, "meaning": meaning}
    )
    parts = [frame[frame["words"] != 0], frame[frame["reading"] != NOTHING].assign(words=0)]
    both = pd.concat(parts, ignore_index=True)
    keys = ["words", "reading", "target", "fold"]
    grouped = both.drop_duplicates([*keys, "subject"]).groupby(keys, sort=True)
    users = grouped.size()
    # Readings with one id differ at most in letter case; the last by order has lower case.
    meant = both.dropna(subset=["meaning"]).groupby(keys, sort=True)["meaning"].max().reindex(users.index)
    index = users.index.to_frame(index=False)
    return _edges(index.assign(users=users.to_numpy(), interpretation=meant.to_numpy()))


def _edges(frame: pd.DataFrame) -> pa.Table:
    words = frame["words"].to_numpy(np.int64)
    columns = {name: pa.array(frame[name].to_numpy()) for name in ("reading", "target", "fold", "users")}
    texts = frame["interpretation"].astype(object).where(frame["interpretation"].notna(), None)
    return EDGE.conform(
        pa.table(columns | {"words": pa.array(words, mask=words == 0), "interpretation": pa.array(texts, pa.string())})
    )


def add_edges(tables: list[pa.Table]) -> pa.Table:
    """Sum EDGE rows of distinct users; sorted by key. Keeps the form, so partial sums can be summed."""
    keys = list(EDGE.key)
    whole = pa.concat_tables([EDGE.empty(), *tables])
    summed = whole.group_by(keys, use_threads=False).aggregate([("users", "sum"), ("interpretation", "max")])
    summed = summed.rename_columns([*keys, "users", "interpretation"])
    return EDGE.conform(summed.sort_by([(key, "ascending") for key in keys]))


def known_edges(edges: pa.Table, min_users: int) -> pa.Table:
    """EDGE rows that the chain can use: moves of too few users become failures; starts by words without any other move
    go, and so do readings of too few users.

    Parameters
    ----------
    edges : pyarrow.Table
        All EDGE rows of their starts (words and reading).
    min_users : int
    """
    frame = edges.to_pandas()
    frame["words"] = edges["words"].fill_null(0).to_numpy()
    start = frame.groupby(["words", "reading"], sort=False)
    moved = ~frame["target"].isin((SUCCESS, FAILURE))
    few = moved & (frame.groupby(["words", "reading", "target"], sort=False)["users"].transform("sum") < min_users)
    total = start["users"].transform("sum")
    has_move = (moved & ~few).groupby([frame["words"], frame["reading"]], sort=False).transform("any")
    frame.loc[few, "target"], frame.loc[few, "interpretation"] = FAILURE, None
    keep = np.where(frame["words"] != 0, has_move, total >= min_users)
    return add_edges([_edges(frame[keep])])


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
    users, target, p = np.zeros(shape[:2]), np.zeros(shape, np.int64), np.zeros(shape)
    for k, fold in enumerate(kept):
        at = np.searchsorted(found, fold.index)
        users[at, k], target[at, k], p[at, k] = fold.users, fold.target, fold.p
    named = edges.filter(edges["interpretation"].is_valid())
    meant = pd.Series(named["interpretation"].to_pandas().to_numpy(object), named["target"].to_numpy())
    meant = meant.groupby(level=0).max()
    meant = meant[meant.index.isin(np.unique(target[:, :, 1:]))].sort_index()
    return Chain(found, users, target, p, tuple(meant.tolist()), options.least)


@dataclass(frozen=True)
class _Edges:
    """Moves with the users of each fold; e moves, s starts, n readings.

    Attributes
    ----------
    start : numpy.ndarray of int64, shape (e,)
        Number of each move's start.
    target : numpy.ndarray of int64, shape (e,)
        Number of the reading moved to; `SUCCESS` and `FAILURE` less n + 1 for ends, so below 0.
    users : numpy.ndarray of float64, shape (e, folds)
    words, own : numpy.ndarray, shape (s,)
        Hash of each start's words, 0 = none; number of its own reading, -1 = `NOTHING`.
    readings : numpy.ndarray of int64, shape (n,)
        Ascending.
    """

    start: I64
    target: I64
    users: F64
    words: I64
    own: I64
    readings: I64

    @staticmethod
    def of(edges: pa.Table, folds: int) -> _Edges:
        frame = edges.select(["reading", "target", "fold", "users"]).to_pandas()
        frame["words"] = edges["words"].fill_null(0).to_numpy()
        grid = frame.set_index(["words", "reading", "target", "fold"])["users"].unstack("fold", fill_value=0)
        users = grid.reindex(columns=range(folds), fill_value=0).to_numpy(np.float64)
        words, reading, target = (grid.index.get_level_values(k).to_numpy(np.int64) for k in range(3))
        of_start = pd.MultiIndex.from_arrays([words, reading])
        start, held = pd.factorize(of_start)
        start_words, start_reading = (held.get_level_values(k).to_numpy(np.int64) for k in range(2))
        ends = np.isin(target, (SUCCESS, FAILURE))
        readings = np.unique(np.concatenate([target[~ends], start_reading[start_reading != NOTHING]]))
        own = np.where(start_reading != NOTHING, np.searchsorted(readings, start_reading), -1)
        number = np.where(ends, target - len(readings) - 1, np.searchsorted(readings, target))
        return _Edges(start.astype(np.int64), number, users, start_words, own, readings)

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


def _solve(table: _Edges, fold: int, options: ChainOptions) -> _Solved:
    """Where requests end well, by the users of the folds other than `fold`."""
    n, count = len(table.readings), len(table.words)
    users = table.users.sum(axis=1) - table.users[:, fold]
    total = np.bincount(table.start, weights=users, minlength=count)
    share = users / (total + _DOUBT)[table.start]
    kept = (table.target >= 0) & (users >= options.min_users)
    moves = csr_matrix((share[kept], (table.start[kept], table.target[kept])), shape=(count, n))
    well = table.target == SUCCESS - n - 1
    success = np.bincount(table.start[well], weights=share[well], minlength=count).astype(np.float64)
    ends = _ends(table, moves, success)
    known = np.flatnonzero(np.diff(moves.indptr) > 0)
    own, target, p = _targets(ends[known], table.own[known], success[known], options.targets)
    ids = np.append(table.readings, NOTHING)
    order = np.argsort(keys := table.keys(known))
    return _Solved(
        keys[order],
        total[known][order],
        ids[np.column_stack([table.own[known], target])][order],
        np.column_stack([own, p])[order],
    )


def _ends(table: _Edges, moves: csr_matrix, success: F64) -> csr_matrix:
    """Probability that a request from each start ends well in each reading, shape (s, n)."""
    n = len(table.readings)
    by_reading = np.flatnonzero(table.words == 0)
    place = csr_matrix((np.ones(len(by_reading)), (table.own[by_reading], by_reading)), shape=(n, len(table.words)))
    between = csr_matrix(place @ moves)
    absorbed = absorption(between, np.asarray(place @ success))
    has = np.flatnonzero(table.own >= 0)
    at_once = csr_matrix((success[has], (has, table.own[has])), shape=moves.shape)
    return csr_matrix(moves @ absorbed + at_once)


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
