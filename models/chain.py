"""The reformulation chain: what a request was taken for after users had put it right, pooled over all users.

An absorbing Markov chain over interpretations (Ponnusamy et al. 2019, arXiv 1911.02557): transient states are
readings, absorbing ones success and failure, moves are reformulations. For a start i the reading that the request is
likeliest to end well in is argmax_j N_ij r_j(success). A request starts at its words and reading together where enough
users said them, as a reading is wrong for some words and right for others; from the first reformulation on a state is
a reading. Moves that too few users made are no part of it: they end badly, or well elsewhere, as they did.

Like `models.pool` it is kept by fold of subject: a turn reads what the users of the other folds did.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import mix
from features.interpretation import Candidates, flatten
from models.leading import NOTHING, leading_of
from models.packing import pack, unpack
from schemas.turn import INTERPRETATION

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

KINDS: Final = ("words", "reading")
_FIGURES: Final = ("p", "share", "users")
NAMES: Final = tuple(f"chain.{kind}.{figure}" for kind in KINDS for figure in _FIGURES)
# Where probabilities are rounded: their last bits must not decide.
PLACES: Final = 9
# How the arrays are kept in a model file.
_FORMS: Final = {"starts": "<i8", "users": "<f8", "target": "<i8", "p": "<f8", "other": "<f8"}


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
            p, share, users = out.T[len(_FIGURES) * k :][: len(_FIGURES)]
            at = self._known(start, fold)[turn]
            rows = np.flatnonzero(at >= 0)
            where = at[rows], fold[turn[rows]]
            users[:] = 0.0
            p[rows], share[rows], users[rows] = 0.0, 0.0, np.log1p(self.users[where])
            hit, target = np.nonzero(self.target[where] == candidate_id[rows, None])
            which = where[0][hit], where[1][hit], target
            p[rows[hit]], share[rows[hit]] = self.p[which], self._share[which]
        return out

    @cached_property
    def _share(self) -> F64:
        """Shares of the targets beside the own reading, which has 0; shape (k, folds, 1 + m)."""
        share = self.p / np.maximum(self.other, 10.0**-PLACES)[:, :, None]
        share[:, :, 0] = 0.0
        return np.asarray(share)

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
        target, share = self.target[where][:, 1:], self._share[where][:, 1:]
        good = (target != NOTHING) & (share >= self.least)
        turn, column = np.nonzero(good)
        return rows[turn], target[turn, column], share[turn, column]

    def _known(self, start: I64, fold: I64) -> I64:
        """Place of each turn's start; -1 where the other folds do not know it."""
        if not len(self.starts):
            return np.full(len(start), -1, np.int64)
        at = np.minimum(np.searchsorted(self.starts, start), len(self.starts) - 1)
        return np.where((self.starts[at] == start) & (self.users[at, fold] > 0), at, -1)

    def plain(self) -> dict[str, Any]:
        """Plain data for a JSON file; arrays as base64 of little-endian bytes."""
        arrays = {name: pack(getattr(self, name), form) for name, form in _FORMS.items()}
        return {"shape": list(self.p.shape), "meanings": list(self.meanings), "least": self.least, **arrays}

    @staticmethod
    def from_plain(held: Mapping[str, Any]) -> Chain:
        """Read what `plain` gave."""
        shape = tuple(int(n) for n in held["shape"])
        arrays = {name: unpack(held[name], form) for name, form in _FORMS.items()}
        return Chain(
            starts=arrays["starts"].astype(np.int64),
            users=arrays["users"].reshape(shape[:2]).astype(np.float64),
            target=arrays["target"].reshape(shape).astype(np.int64),
            p=arrays["p"].reshape(shape).astype(np.float64),
            other=arrays["other"].reshape(shape[:2]).astype(np.float64),
            meanings=tuple(held["meanings"]),
            least=float(held["least"]),
        )


def starts(signals: pa.Table) -> tuple[I64, I64]:
    """Start of each turn by its words and reading, and by its reading alone, shape (n,); `NOTHING` = has none."""
    reading = leading_of(signals)
    words = signals["utterance_id"].fill_null(0).to_numpy()
    return np.where(words != 0, words_start(words, reading), NOTHING), reading


def words_start(words: I64, reading: I64) -> I64:
    """Start of requests with these words that were taken for this reading, shape (n,)."""
    return mix(words, reading)
