"""What the same systems made of other users' alike requests: n-best lists pooled over like words. Reads no truth.

In a log many users say the same; a reading that holds for one of them speaks for the others. Every pair of utterances
is compared, which serves a bench and no large log; `models.reading` is the product's way, and learns from the folds
that it may see alone. Here other recordings of the same sentence are seen, with what the systems made of them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from features.grams import Grams
from models.design import CandidateTable, Design

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# Least cosine of words that are alike, and the power of it that an utterance counts by.
LIKENESS: Final = ((0.3, 3), (0.5, 4), (0.8, 1))
# Weight of "nobody says anything like it" beside that of one equal utterance.
_NOBODY: Final = 0.3
_CHUNK: Final = 1000


def alike(held: Grams, table: CandidateTable, frame: I64, votes: F64, event: npt.NDArray[np.object_]) -> Design:
    """Share of each candidate's frame in the n-best lists of alike utterances, and how many are alike.

    Parameters
    ----------
    held : Grams
        Words of n turns.
    table : CandidateTable
        m candidates, all of the turns' own n-best.
    frame : numpy.ndarray of int64, shape (m,)
    votes : numpy.ndarray, shape (m,)
        Entries of the turn's n-best that say the candidate.
    event : numpy.ndarray of str, shape (n,)
        One spoken request; what one turn of it shows is not told to another.
    """
    n = len(held.text)
    number, frames = pd.factorize(frame)
    shares = np.zeros((n, len(frames)), np.float32)
    np.add.at(shares, (table.turn, number), votes)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    of_event = pd.factorize(event)[0]
    counts = held.matrix().astype(np.float32)
    out = np.zeros((len(frame), 2 * len(LIKENESS)), np.float32)
    for start in range(0, n, _CHUNK):
        turns = np.arange(start, min(start + _CHUNK, n))
        like = (counts[turns] @ counts.T).toarray()
        like[of_event[turns][:, None] == of_event[None, :]] = 0.0
        rows = np.flatnonzero((table.turn >= start) & (table.turn < start + _CHUNK))
        at = table.turn[rows] - start
        for k, (least, power) in enumerate(LIKENESS):
            weight = np.where(like >= least, like**power, np.float32(0.0))
            mass = weight.sum(axis=1)
            out[rows, 2 * k] = (weight @ shares)[at, number[rows]] / (mass[at] + _NOBODY)
            out[rows, 2 * k + 1] = np.log1p(mass[at])
    return Design(out, tuple(f"alike.{part}.{least}" for least, _ in LIKENESS for part in ("share", "many")))
