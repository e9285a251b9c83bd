"""Candidates asked about at a turn: its own hypotheses, and what later rephrases were taken for.

The interpretation of a rephrase that satisfied is a candidate for the turn that it repairs (Park et al. 2021, arXiv
2010.12251; self-annotation by paraphrase, Falke et al. 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from features.hashing import mix
from features.interpretation import Candidates
from features.rephrase import Ahead

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# A later turn less like this is about something else more often than it repairs.
REPHRASE_LIKENESS: Final = 0.5


@dataclass(frozen=True)
class Asked:
    """Entries of `Candidates` asked about at turns: first all own ones in order, then those of rephrases.

    Attributes
    ----------
    turn : numpy.ndarray of int64, shape (k,)
        Row of the turn asked about.
    entry : numpy.ndarray of int64, shape (k,)
        Entry of the hypothesis; of another turn where `offset` is not 0.
    offset : numpy.ndarray of int64, shape (k,)
        Turns ahead that the hypothesis was taken from; 0 = the turn's own.
    like : numpy.ndarray of float32, shape (k,)
        Likeness of that turn's words; NaN = the turn's own.
    own : int
        How many are own.
    """

    turn: I64
    entry: I64
    offset: I64
    like: npt.NDArray[np.float32]
    own: int

    def __len__(self) -> int:
        """Candidates asked about."""
        return len(self.turn)

    def listed(self, turns: int) -> tuple[I64, I64]:
        """Order that puts each turn's candidates together (own first, then the nearest rephrase), and its offsets."""
        order = np.argsort(self.turn, kind="stable")
        counts = np.bincount(self.turn, minlength=turns)
        return order, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def asked(
    candidates: Candidates,
    ahead: Sequence[Ahead],
    is_request: Mask,
    corrects: Mask,
    likeness: float = REPHRASE_LIKENESS,
) -> Asked:
    """Own hypotheses and those of rephrases.

    A turn in reach gives its leading hypothesis where it is a request, its words are alike (`likeness` counts as
    alike) or it says that it corrects, and the hypothesis is not in the turn's own list. The nearest turn that gives a
    hypothesis stands for all that give it.

    Parameters
    ----------
    candidates : Candidates
        Hypotheses of n turns.
    ahead : sequence of Ahead
        Turns in reach, nearest first.
    is_request, corrects : numpy.ndarray of bool, shape (n,)
        Whether each turn's leading hypothesis is a request and no act of the dialog, and whether its words correct.
    likeness : float
    """
    lead = candidates.offsets[:-1]
    gives = is_request & (np.diff(candidates.offsets) > 0)
    turns, entries, offsets, likes = [], [], [], []
    for later in ahead:
        wanted = later.near & gives[later.row] & ((later.like >= likeness) | corrects[later.row])
        rows = np.flatnonzero(wanted)
        turns.append(rows)
        entries.append(lead[later.row[rows]])
        offsets.append(np.full(len(rows), later.offset, np.int64))
        likes.append(later.like[rows])
    turn, entry = np.concatenate(turns), np.concatenate(entries)
    # One number a (turn, candidate): two pairs share one by a chance of 2^-64.
    key = mix(turn, candidates.candidate_id[entry])
    asking = np.zeros(len(lead), bool)
    asking[turn] = True
    own = np.flatnonzero(asking[candidates.turn])
    new = ~np.isin(key, mix(candidates.turn[own], candidates.candidate_id[own]))
    new &= _first(key)
    m = len(candidates)
    return Asked(
        turn=np.concatenate([candidates.turn, turn[new]]),
        entry=np.concatenate([np.arange(m), entry[new]]),
        offset=np.concatenate([np.zeros(m, np.int64), np.concatenate(offsets)[new]]),
        like=np.concatenate([np.full(m, np.nan, np.float32), np.concatenate(likes)[new]]),
        own=m,
    )


def _first(key: I64) -> Mask:
    out = np.zeros(len(key), bool)
    out[np.unique(key, return_index=True)[1]] = True
    return out
