"""What the user wanted, followed through a session: a hidden Markov chain that learns, without labels, how users react.

Each turn has a wish, one of its candidates or none of them. The interpreter's scores say how well each wish goes with
the turn's words. What comes next depends on whether the wish was met: the user ends, goes on to a new wish, or has the
same wish again, in other words; and how the next turn comes (how soon, over the answer, how like, with a denial)
depends on both. Nothing of it is assumed but that a wish that was not met comes again more often than one that was: all
rates are found by expectation maximisation (Baum et al. 1970; Rabiner 1989), so a habit of this log's users that says
nothing counts for nothing. A repair in quite other words is seen as one because what it was taken for also stands in
the failed turn's list, though no word is shared.

The reactions are taken to be independent of each other given wish and move, as in naive Bayes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.grams import Grams
from features.hashing import strings
from models.boost import TrainingError
from models.design import CandidateTable, frames, numbers
from models.wish_chain import AGAIN, END, NEW, WishChain, popularity
from models.wish_words import WishWords, fit_wish_words, pooled

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NAMES: Final = ("wish.p", "wish.gain")
# Signals of the reaction and the bounds of their bins; a bound belongs to the bin above it, null is a bin of its own.
# Those of the pause are its deciles in the log: what is soon differs from log to log.
LIKENESS: Final = (0.3, 0.4, 0.5, 0.6, 0.8)
FLAG: Final = (0.5,)
REACTIONS: Final[dict[str, tuple[float, ...]]] = {
    "gap_after": (),
    "barge_in_next": FLAG,
    "rephrase_next": LIKENESS,
    "negates_next": FLAG,
    "corrects_next": FLAG,
}
_PAUSES: Final = np.linspace(0.1, 0.9, 9)
# Where the estimation starts, and all that it is told: moves (again, new, end) after a wish that was met, and after one
# that was not.
START: Final = ((0.1, 0.6, 0.3), (0.5, 0.3, 0.2))
STEPS: Final = 15
# Rounds in which words learn what is believed, and steps after each: belief and words feed each other, and go astray
# together if they are left to it.
WORD_ROUNDS: Final = 3
WORD_STEPS: Final = 3
# Turns that the rates are estimated on, whole sessions from the first row on: a few hundred numbers need no more.
FIT_ROWS: Final = 50_000
_EDGE: Final = 1e-4


@dataclass(frozen=True)
class Wishes:
    """What users of a log do after a wish was met, and after it was not.

    Attributes
    ----------
    moves : numpy.ndarray, shape (2, 3)
        Shares of again, new, end; first row: the wish was met.
    bounds : dict of str to tuple of float
        Bins of each reaction.
    reactions : dict of str to numpy.ndarray, shape (2, 2, bins)
        Shares of bins by whether the wish was met, and by move (again, new).
    readings : float
        Subjects of all readings, one more each: what a reading's own are a share of.
    words : WishWords or None
        What words are usually wanted for; None = by the interpreter's scores alone.
    """

    moves: F64
    bounds: dict[str, tuple[float, ...]]
    reactions: dict[str, F64]
    readings: float
    words: WishWords | None = None

    def posterior(self, signals: pa.Table, table: CandidateTable, heard: Heard | None = None) -> F64:
        """p(the user wanted this candidate | the whole session), shape (m,).

        Parameters
        ----------
        signals : pyarrow.Table
            n Signals rows of whole sessions, in order.
        table : CandidateTable
            m candidates of these turns, ordered by turn.
        heard : Heard, optional
            The turns' words; wanted by a model with words.
        """
        chain = self._chain(signals, table, heard)
        return chain.pass_through(self._likelihood(signals, chain)).belief

    def columns(self, signals: pa.Table, table: CandidateTable, heard: Heard | None = None) -> F32:
        """`NAMES` of each candidate, shape (m, 2): the posterior, and its log-odds less those by the turn alone."""
        chain = self._chain(signals, table, heard)
        p, alone = chain.pass_through(self._likelihood(signals, chain)).belief, chain.emission
        return np.column_stack([p, _log_odds(p) - _log_odds(alone)]).astype(np.float32)

    def _chain(self, signals: pa.Table, table: CandidateTable, heard: Heard | None) -> WishChain:
        chain = WishChain.of(signals, table, self.readings)
        if self.words is None:
            return chain
        if heard is None:
            raise ValueError("the model was trained with train.weak_from = words and wants the words of the turns")
        by_words = self.words.emission(heard.said, frames(signals, table), table, heard.fold, chain.emission)
        return chain.emitting(*pooled(chain.emission, by_words, chain.other, table.turn))

    def _likelihood(self, signals: pa.Table, chain: WishChain) -> F64:
        """Of each turn's move and reaction, by whether its wish was met, shape (n, 2, 2); the end's stands in both."""
        log = np.log(self.moves[None, :, :2]) + np.zeros((signals.num_rows, 1, 1))
        for name, edges in self.bounds.items():
            log += np.log(self.reactions[name])[:, :, binned(numbers(signals[name]), edges)].transpose(2, 0, 1)
        ends = np.where(chain.is_last, self.moves[:, END, None], 1.0 - self.moves[:, END, None]).T
        return np.where(chain.has_next[:, None, None], np.exp(log), ends[:, :, None])

    def plain(self) -> dict[str, Any]:
        """Plain data, for a JSON file."""
        return {
            "moves": self.moves.tolist(),
            "bounds": {name: list(edges) for name, edges in self.bounds.items()},
            "reactions": {name: shares.tolist() for name, shares in self.reactions.items()},
            "readings": self.readings,
            "words": self.words.plain() if self.words else None,
        }

    @staticmethod
    def from_plain(held: Mapping[str, Any]) -> Wishes:
        """Read what `plain` gave."""
        return Wishes(
            np.array(held["moves"], np.float64),
            {name: tuple(edges) for name, edges in held["bounds"].items()},
            {name: np.array(shares, np.float64) for name, shares in held["reactions"].items()},
            float(held["readings"]),
            WishWords.from_plain(held["words"]) if held.get("words") else None,
        )


def binned(values: F32, edges: tuple[float, ...]) -> I64:
    """Bin of each value in [0, len(edges)]; len(edges) + 1 = null."""
    null = np.isnan(values)
    return np.where(null, len(edges) + 1, np.searchsorted(edges, values, side="right")).astype(np.int64)


@dataclass(frozen=True)
class Heard:
    """The words of n turns, and the fold of each turn's subject in [0, folds)."""

    said: Grams
    fold: I64
    folds: int


def fit_wishes(signals: pa.Table, table: CandidateTable, heard: Heard | None = None) -> Wishes:
    """Estimate the rates of a log, and what its words are wanted for. Reads no label.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows in order.
    table : CandidateTable
        Their candidates.
    heard : Heard, optional
        The turns' words; without them the interpreter's scores alone say what goes with the words.
    """
    if signals.num_rows > FIT_ROWS:
        signals, table, heard = _first_sessions(signals, table, heard, FIT_ROWS)
    gaps = numbers(signals["gap_after"])
    pauses = np.unique(np.round(np.nanquantile(gaps, _PAUSES), 3)) if (~np.isnan(gaps)).any() else np.zeros(0)
    bounds = {name: edges or tuple(float(p) for p in pauses) for name, edges in REACTIONS.items()}
    flat = {name: np.full((2, 2, len(edges) + 2), 1.0 / (len(edges) + 2)) for name, edges in bounds.items()}
    bins = {name: binned(numbers(signals[name]), edges) for name, edges in bounds.items()}
    wishes = _steps(Wishes(np.array(START), bounds, flat, _readings(table)), signals, table, heard, bins, STEPS)
    if heard is None or not len(table.turn):
        return wishes
    frame = frames(signals, table)
    for _ in range(WORD_ROUNDS):
        belief = wishes.posterior(signals, table, heard)
        words = fit_wish_words(heard.said, frame, table, belief, heard.fold, heard.folds)
        wishes = _steps(replace(wishes, words=words), signals, table, heard, bins, WORD_STEPS)
    return wishes


def _steps(
    wishes: Wishes, signals: pa.Table, table: CandidateTable, heard: Heard | None, bins: Mapping[str, I64], steps: int
) -> Wishes:
    """Rates after some steps of expectation maximisation; what the words say stays as it is."""
    chain = wishes._chain(signals, table, heard)
    for _ in range(steps):
        counts = chain.pass_through(wishes._likelihood(signals, chain)).counts
        wishes = _estimated(counts, bins, wishes)
    return wishes


def _readings(table: CandidateTable) -> float:
    """Subjects of the readings that turns were acted on by, and one more each."""
    _, first = np.unique(table.candidate_id[table.is_top], return_index=True)
    return float(np.round(popularity(table)[table.is_top][first].sum(), 3)) or 1.0


def _first_sessions(
    signals: pa.Table, table: CandidateTable, heard: Heard | None, rows: int
) -> tuple[pa.Table, CandidateTable, Heard | None]:
    session = strings(signals["session_id"])
    end = rows + int(np.argmax(np.append(session[rows:] != session[rows - 1], True)))
    if heard is not None:
        heard = Heard(Grams(heard.said.counts, heard.said.text[:end]), heard.fold[:end], heard.folds)
    return signals.slice(0, end).combine_chunks(), table.take(np.flatnonzero(table.turn < end)), heard


def _estimated(counts: F64, bins: Mapping[str, I64], wishes: Wishes) -> Wishes:
    """Shares from expected counts, shape (n, 2, 3), with one of each kind beside them."""
    moves = counts.sum(axis=0) + 1.0
    reactions = {}
    for name, at in bins.items():
        size = len(wishes.bounds[name]) + 2
        seen = [[np.bincount(at, counts[:, w, m], minlength=size) for m in (AGAIN, NEW)] for w in (0, 1)]
        reactions[name] = _shares(np.array(seen) + 1.0)
    return replace(wishes, moves=_shares(moves), reactions=reactions)


def _shares(counts: F64) -> F64:
    return np.asarray(np.round(counts / counts.sum(axis=-1, keepdims=True), 9), dtype=np.float64)


def with_wishes(
    signals: pa.Table, table: CandidateTable, wishes: Wishes | None, heard: Heard | None = None
) -> CandidateTable:
    """The table with `NAMES` as further evidence; as it is without a model of wishes."""
    if wishes is None:
        return table
    held = np.hstack([table.evidence, wishes.columns(signals, table, heard)])
    return replace(table, evidence=held, names=table.names + NAMES)


def weak_defects(table: CandidateTable, turns: int) -> F64:
    """p(defect) of each turn by its wish, shape (turns,): what was acted on is not what was wanted.

    A turn that has no candidate has the mean.

    Raises
    ------
    models.boost.TrainingError
        If no turn has one.
    """
    if not table.is_top.any():
        raise TrainingError("no turn has an interpretation, so there are no wishes; train.weak_from = functions")
    wanted = np.full(turns, np.nan)
    wanted[table.turn[table.is_top]] = weak_rights(table)[table.is_top]
    return np.asarray(1.0 - np.where(np.isnan(wanted), np.nanmean(wanted), wanted), dtype=np.float64)


def weak_rights(table: CandidateTable) -> F64:
    """p(right) of each candidate by its turn's wish, shape (m,)."""
    return np.clip(table.evidence[:, table.names.index(NAMES[0])].astype(np.float64), 0.0, 1.0)


def _log_odds(p: F64) -> F64:
    clipped = np.clip(p, _EDGE, 1.0 - _EDGE)
    return np.asarray(np.log(clipped) - np.log1p(-clipped), dtype=np.float64)
