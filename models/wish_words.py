"""What words are usually wanted for: naive Bayes over hashed words, learned from what is believed of each turn's wish.

Semi-supervised naive Bayes by expectation maximisation (Nigam, McCallum, Thrun and Mitchell 2000), with what the
session tells (`models.wishes`) in the place of labels: a turn counts for each frame as far as its wish is believed to
be of it. So a repair that one user made teaches what another's like words mean, though that one took the wrong answer
in silence.

Counts are kept by fold of subject; a turn is read by the words of the other folds' users.

It is a part of `models.wishes`, inside its estimation, where there is no label and counts must be soft and many. The
classifiers of `models.reading` ask the same of words where labels are at hand, and `models.words` whether a turn was a
defect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_matrix
from scipy.special import log_softmax

from features.grams import Grams, grams
from features.hashing import mix
from models.design import CandidateTable
from models.packing import pack, unpack

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# 8,192 columns: half of what a few thousand short requests use; naive Bayes reads them as well as eight times as many.
BITS: Final = 13
# Frames that words are read for, those believed in most. More of them cost time and space, and are rare.
FRAMES: Final = 512
# Texts read together, so that a bucket's dense probabilities stay small.
CHUNK: Final = 4096
# Of a column, for each frame: what was never said is unlikely, not impossible.
_SMOOTHING: Final = 0.05
_LEAST_FRAME: Final = 0.5
_LEAST_OTHER: Final = 0.003


@dataclass(frozen=True)
class WishWords:
    """Expected counts of words by frame and fold.

    Attributes
    ----------
    frames : numpy.ndarray of int64, shape (k,)
        Ascending.
    counts : numpy.ndarray of float32, shape (folds, k, 2 ** BITS)
        Sums of `features.grams` rows, each as far as its turn's wish is of the frame.
    turns : numpy.ndarray of float64, shape (folds, k)
        Sums of that belief.
    """

    frames: I64
    counts: F32
    turns: F64

    def read(self, texts: csr_matrix, fold: int) -> F64:
        """p(frame | words) of each text by the users of the folds other than `fold`, shape (texts, k)."""
        weights, usual = self._weights[fold]
        return np.asarray(np.exp(log_softmax(np.asarray(texts @ weights.T) + usual, axis=1)), dtype=np.float64)

    @cached_property
    def _weights(self) -> tuple[tuple[F64, F64], ...]:
        """For each fold, by the others: log-probability of each column by frame, and of each frame."""
        out = []
        for of_fold, turns_of_fold in zip(self.counts, self.turns, strict=True):
            counts = self.counts.sum(axis=0, dtype=np.float64) - of_fold + _SMOOTHING
            turns = self.turns.sum(axis=0) - turns_of_fold + _LEAST_FRAME
            out.append((np.log(counts / counts.sum(axis=1, keepdims=True)), np.log(turns / turns.sum())))
        return tuple(out)

    def emission(self, said: Grams, frame: I64, table: CandidateTable, fold: I64, scores: F64) -> F64:
        """p(candidate | words) by other users' wishes, shape (m,).

        A frame's share goes to its candidates by their scores. A frame that words are not read for, one that is not
        known, and a turn without words, keep the scores.

        Parameters
        ----------
        said : Grams
            Of the n turns' utterances.
        frame : numpy.ndarray of int64, shape (m,)
        table : CandidateTable
            m candidates.
        fold : numpy.ndarray of int64, shape (n,)
        scores : numpy.ndarray, shape (m,)
            p(candidate | words) by the interpreter.
        """
        if not len(self.frames):
            return scores
        at = np.minimum(np.searchsorted(self.frames, frame), len(self.frames) - 1)
        known = np.flatnonzero((self.frames[at] == frame) & (said.text >= 0)[table.turn])
        _, group = np.unique(mix(table.turn, frame), return_inverse=True)
        share = scores / np.bincount(group, scores)[group]
        out = scores.copy()
        out[known] = self._read_at(said, fold, table.turn[known], at[known]) * share[known]
        return out

    def _read_at(self, said: Grams, fold: I64, turn: I64, at: I64) -> F64:
        """`read` of some turns at one frame each. A distinct text is read once a fold, some at a time: a bucket's texts
        at all frames would fill a worker's memory.
        """
        out = np.empty(len(turn))
        for k in np.unique(fold[turn]).tolist():
            of_fold = np.flatnonzero(fold[turn] == k)
            used, text = np.unique(said.text[turn[of_fold]], return_inverse=True)
            order = np.argsort(text, kind="stable")
            for start in range(0, len(used), CHUNK):
                first, last = np.searchsorted(text[order], [start, start + CHUNK])
                rows = order[first:last]
                read = self.read(said.counts[used[start : start + CHUNK]], k)
                out[of_fold[rows]] = read[text[rows] - start, at[of_fold[rows]]]
        return out

    def plain(self) -> dict[str, Any]:
        """Plain data, for a JSON file: of the counts those that are not 0."""
        where = np.flatnonzero(self.counts)
        return {
            "frames": pack(self.frames, "<i8"),
            "where": pack(where, "<i8"),
            "counts": pack(self.counts.ravel()[where], "<f4"),
            "turns": self.turns.tolist(),
        }

    @staticmethod
    def from_plain(held: Mapping[str, Any]) -> WishWords:
        """Read what `plain` gave."""
        turns, frames = np.array(held["turns"], np.float64), unpack(held["frames"], "<i8").astype(np.int64)
        counts = np.zeros(turns.size << BITS, np.float32)
        counts[unpack(held["where"], "<i8")] = unpack(held["counts"], "<f4")
        return WishWords(frames, counts.reshape((*turns.shape, 1 << BITS)), turns)


def word_grams(utterance: pa.Array | pa.ChunkedArray) -> Grams:
    """Normalised utterances as `WishWords` reads them."""
    return grams(utterance, bits=BITS)


def fit_wish_words(said: Grams, frame: I64, table: CandidateTable, belief: F64, fold: I64, folds: int) -> WishWords:
    """Count words by frame, each turn as far as its wish is believed to be of the frame.

    Parameters
    ----------
    said : Grams
        Of the n turns' utterances.
    frame, belief : numpy.ndarray, shape (m,)
        Of each candidate. What the reformulation chain proposes has no frame (0) and is not counted.
    table : CandidateTable
    fold : numpy.ndarray of int64, shape (n,)
    folds : int
    """
    frames, group = np.unique(frame, return_inverse=True)
    total = np.bincount(group, belief)
    most = np.lexsort((frames, -total))
    kept = np.sort(most[frames[most] != 0][:FRAMES])
    place = np.full(len(frames), -1)
    place[kept] = np.arange(len(kept))
    rows = np.flatnonzero((place[group] >= 0) & (said.text >= 0)[table.turn])
    shape = (len(fold), len(kept))
    believed = csr_matrix((belief[rows], (table.turn[rows], place[group[rows]])), shape=shape)
    texts = said.matrix()
    counts = np.empty((folds, len(kept), texts.shape[1]), np.float32)
    turns = np.empty((folds, len(kept)))
    for k in range(folds):
        at = np.flatnonzero(fold == k)
        counts[k] = np.round((believed[at].T @ texts[at]).toarray(), 4)
        turns[k] = np.round(np.asarray(believed[at].sum(axis=0)).ravel(), 4)
    return WishWords(frames[kept], counts, turns)


def pooled(scores: F64, words: F64, other: F64, turn: I64) -> tuple[F64, F64]:
    """Geometric mean of what scores and words say of each candidate, and of the rest; a turn's add up to 1.

    The two rest on the same words, so neither is evidence beside the other: their logarithms are averaged.

    Parameters
    ----------
    scores, words : numpy.ndarray, shape (m,)
    other : numpy.ndarray, shape (n,)
        The rest by the scores.
    turn : numpy.ndarray of int64, shape (m,)
    """
    rest = np.maximum(1.0 - np.bincount(turn, words, minlength=len(other)), _LEAST_OTHER)
    both, neither = np.sqrt(scores * words), np.sqrt(other * rest)
    total = np.bincount(turn, both, minlength=len(other)) + neither
    return both / total[turn], neither / total
