"""The NLU model of the loop: words, word pairs and letters to an intent, with a true n-best and calibrated scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_matrix, hstack
from scipy.special import log_softmax, softmax
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.svm import LinearSVC

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Texts = npt.NDArray[np.object_]

NBEST: Final = 5
# Folds by which the scores of a model's own rows are found, to calibrate on.
_FOLDS: Final = 4
# Rows that the calibration is fitted on at most: one number needs no more.
_MOST: Final = 2_000
_WORDS: Final = HashingVectorizer(ngram_range=(1, 2), n_features=1 << 15, alternate_sign=False, token_pattern=r"\w+")
_LETTERS: Final = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 4), n_features=1 << 15, alternate_sign=False)


def features(texts: Texts) -> csr_matrix:
    """Hashed words, word pairs and letter sequences of texts, shape (n, 65536)."""
    return csr_matrix(hstack([_WORDS.transform(texts), _LETTERS.transform(texts)]))


@dataclass(frozen=True)
class Nlu:
    """A linear model over hashed words whose scores were made probabilities by one temperature (Guo et al. 2017).

    Attributes
    ----------
    model : sklearn.svm.LinearSVC
    temperature : float
    labels : int
        How many labels there are, known to the model or not.
    """

    model: LinearSVC
    temperature: float
    labels: int

    def scores(self, rows: csr_matrix) -> F64:
        """p(label) of each text, shape (n, labels); 0 for a label that training did not have."""
        out = np.zeros((rows.shape[0], self.labels))
        out[:, self.model.classes_] = softmax(_margins(self.model, rows) * self.temperature, axis=1)
        return out

    def best(self, rows: csr_matrix) -> I64:
        """The likeliest label of each text, shape (n,)."""
        return np.asarray(self.model.classes_[_margins(self.model, rows).argmax(axis=1)], dtype=np.int64)

    def nbest(self, rows: csr_matrix) -> tuple[I64, F64]:
        """The `NBEST` likeliest labels of each text, best first, and their scores; both of shape (n, places)."""
        scores = self.scores(rows)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :NBEST]
        return order, np.take_along_axis(scores, order, axis=1)


def fit(rows: csr_matrix, label: I64, labels: int, seed: int, temperature: float | None = None) -> Nlu:
    """Train on texts.

    Parameters
    ----------
    rows : scipy.sparse.csr_matrix, shape (n, columns)
        From `features`.
    label : numpy.ndarray of int64, shape (n,)
        In [0, labels).
    labels : int
    seed : int
    temperature : float, optional
        Where none is given it is found on scores of rows by models that have not seen them.
    """
    model = _linear(rows, label, seed)
    return Nlu(model, temperature or _temperature(rows, label, seed), labels)


def _linear(rows: csr_matrix, label: I64, seed: int) -> LinearSVC:
    return LinearSVC(C=1.0, random_state=seed).fit(rows, label)


def _margins(model: LinearSVC, rows: csr_matrix) -> F64:
    """One margin a known label; of two labels the library gives one number."""
    margins = model.decision_function(rows)
    return np.column_stack([-margins, margins]) if margins.ndim == 1 else margins


def _temperature(rows: csr_matrix, label: I64, seed: int) -> float:
    """The factor of margins under which the truth of rows that a model has not seen is likeliest."""
    fold = np.random.default_rng([seed, 2]).permutation(len(label)) % _FOLDS
    margins, places = [], []
    for k in range(_FOLDS):
        learn, other = np.flatnonzero(fold != k), np.flatnonzero(fold == k)[: _MOST // _FOLDS]
        if len(np.unique(label[learn])) < 2:
            continue
        model = _linear(rows[learn], label[learn], seed)
        known = other[np.isin(label[other], model.classes_)]
        if len(known):
            margins.append(_margins(model, rows[known]))
            places.append(np.searchsorted(model.classes_, label[known]))

    def loss(log_factor: float) -> float:
        each = (log_softmax(m * np.exp(log_factor), axis=1) for m in margins)
        return -sum(float(of[np.arange(len(p)), p].sum()) for of, p in zip(each, places, strict=True))

    return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 4.0), method="bounded").x)) if margins else 1.0
