"""A linear classifier of texts into readings: one weight a hashed word, pair or letter sequence and label.

Linear support vector machines, one a label against all others (Fan et al. 2008, LIBLINEAR), over texts whose columns
count by how rare they are. Small weights are dropped: thirty in a thousand are left, and scoring costs that much less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.svm import LinearSVC

from features.grams import Grams
from models.packing import pack, unpack

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# Loss of a row against the ridge; .5 and 1 are alike on SLURP's other folds.
COST: Final = 1.0
# The order of the labels stands still well before liblinear's own 0.0001.
_TOLERANCE: Final = 0.1
_SEED: Final = 7
# Weights smaller than this move no decision: a text has some twenty of them, each times a count of about 0.2.
LEAST_WEIGHT: Final = 0.05
# Of the one-against-all margins, so that a lead of 1 is odds of 20 to 1.
SHARPNESS: Final = 3.0
# What a label scores that a training part has not seen: the margin of "no".
_UNSEEN: Final = -1.0
# Liblinear draws from one generator of the whole process: two fits at once would not give the same bytes again.
_ALONE: Final = Lock()
# Texts scored together, so that a bucket's dense scores stay small.
CHUNK: Final = 8192


@dataclass(frozen=True)
class Reader:
    """Weights of every label.

    Attributes
    ----------
    weights : scipy.sparse.csc_matrix of float32, shape (columns, labels)
    intercept : numpy.ndarray of float32, shape (labels,)
    """

    weights: csc_matrix
    intercept: F32

    def scores(self, held: Grams, rows: I64) -> Iterator[tuple[I64, F32]]:
        """Chunks of rows of `held`: which of `rows` (their places), and their margins, shape (chunk, labels).

        Each distinct text of a chunk is scored once; a null one has the intercepts.
        """
        order = np.argsort(held.text[rows], kind="stable")
        for start in range(0, len(rows), CHUNK):
            at = order[start : start + CHUNK]
            used, text = np.unique(held.text[rows[at]], return_inverse=True)
            counts = Grams(held.counts, used).matrix()
            each = np.asarray((counts @ self.weights).todense(), dtype=np.float32) + self.intercept
            yield at, each[text]

    def plain(self) -> dict[str, Any]:
        """Columns as 16-bit and weights as 8-bit numbers, base64 of little-endian bytes, for a JSON file."""
        return {
            "labels": len(self.intercept),
            "count": np.diff(self.weights.indptr).tolist(),
            "columns": pack(self.weights.indices, "<u2"),
            "values": pack(np.round(self.weights.data / self._step), "<i1"),
            "step": self._step,
            "intercept": pack(self.intercept, "<f4"),
        }

    @property
    def _step(self) -> float:
        return float(np.abs(self.weights.data).max(initial=0.0)) / 127.0 or 1.0

    @staticmethod
    def from_plain(held: Mapping[str, Any], columns: int) -> Reader:
        """Read what `plain` gave."""
        values = unpack(held["values"], "<i1").astype(np.float32) * np.float32(held["step"])
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(held["count"], dtype=np.int64)])
        indices = unpack(held["columns"], "<u2").astype(np.int64)
        weights = csc_matrix((values, indices, indptr), shape=(columns, int(held["labels"])))
        return Reader(weights, unpack(held["intercept"], "<f4").astype(np.float32))

    def stored(self) -> Reader:
        """As it will be read back from a file."""
        return Reader.from_plain(self.plain(), self.weights.shape[0])


def fit_reader(held: Grams, text: I64, label: I64, weight: F64, labels: int) -> Reader:
    """Fit one classifier.

    Parameters
    ----------
    held : Grams
    text, label : numpy.ndarray of int64, shape (r,)
        Rows to learn: which of `held.counts`, and what it means, in [0, labels).
    weight : numpy.ndarray, shape (r,)
        Above 0.
    labels : int
        One that no row has scores as a plain "no".
    """
    found = np.unique(label)
    if len(found) < 2:
        return _nothing(held.counts.shape[1], labels)
    model = LinearSVC(C=COST, tol=_TOLERANCE, random_state=_SEED)
    with _ALONE:
        model.fit(held.counts[text].astype(np.float64), label, sample_weight=weight)
    coefficients, constant = np.asarray(model.coef_), np.asarray(model.intercept_)
    if len(found) == 2:
        # Of two labels liblinear keeps the second's only.
        coefficients, constant = np.vstack([-coefficients, coefficients]), np.append(-constant, constant)
    kept = np.where(np.abs(coefficients) >= LEAST_WEIGHT, coefficients, 0.0).astype(np.float32)
    place = csr_matrix((np.ones(len(found), np.float32), (found, np.arange(len(found)))), shape=(labels, len(found)))
    intercept = np.full(labels, _UNSEEN, np.float32)
    intercept[found] = constant
    return Reader(csc_matrix((place @ csr_matrix(kept)).T), intercept)


def mean_reader(readers: Sequence[Reader]) -> Reader:
    """The mean of linear models is one linear model."""
    total = readers[0].weights.copy()
    for reader in readers[1:]:
        total = total + reader.weights
    total = csc_matrix(total / np.float32(len(readers)), dtype=np.float32)
    total.data[np.abs(total.data) < LEAST_WEIGHT] = 0.0
    total.eliminate_zeros()
    total.sort_indices()
    intercept = np.vstack([r.intercept for r in readers]).mean(axis=0, dtype=np.float64)
    return Reader(total, np.asarray(intercept, dtype=np.float32))


def _nothing(columns: int, labels: int) -> Reader:
    return Reader(csc_matrix((columns, labels), dtype=np.float32), np.full(labels, _UNSEEN, np.float32))
