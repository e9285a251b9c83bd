"""Logistic regression with a ridge over sparse texts, by Newton's method; the same bytes on any number of cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from features.grams import Grams

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# Of the summed loss: a weight of 1 costs as much as a row that is fairly wrong. Chosen by looking at
# the cross-validated figures of the USS dialogs, where 1 to 5 are alike: those figures are not quite blind to it.
RIDGE: Final = 2.0
# Newton's steps and, in each, those of the conjugate gradients: the ranking of the rows stands still well before.
STEPS: Final = 6
INNER_STEPS: Final = 8
_INNER_TOLERANCE: Final = 0.05
_CLOSE: Final = 1e-4


@dataclass(frozen=True)
class Field:
    """Rows of one field as the solver wants them: each distinct text once, and which one each row has.

    Attributes
    ----------
    counts, transposed : scipy.sparse.csr_matrix of float64
        Shapes (t, columns) and (columns, t).
    text : numpy.ndarray of int64, shape (n,)
        Row of `counts`; t = null.
    """

    counts: csr_matrix
    transposed: csr_matrix
    text: I64

    @staticmethod
    def of(held: Grams, rows: I64) -> Field:
        """The given rows only."""
        used, text = np.unique(held.text[rows], return_inverse=True)
        has_null = bool(len(used)) and used[0] < 0
        used = used[used >= 0]
        text = (text - 1) % (len(used) + 1) if has_null else text
        counts = csr_matrix(held.counts[used], dtype=np.float64)
        return Field(counts, counts.T.tocsr(), text)

    def forward(self, weights: F64) -> F64:
        """Counts times weights, shape (n,); 0 for null."""
        return np.asarray(np.append(self.counts @ weights, 0.0)[self.text], dtype=np.float64)

    def backward(self, of_rows: F64) -> F64:
        """Transposed counts times a value a row, shape (columns,)."""
        each = np.bincount(self.text, of_rows, minlength=self.counts.shape[0] + 1)[: self.counts.shape[0]]
        return np.asarray(self.transposed @ each, dtype=np.float64)


def fit_logistic(fields: Sequence[Field], label: F64, weight: F64, ridge: float = RIDGE) -> tuple[F64, float]:
    """Weights of all fields' columns, one field after the other, and the intercept, which is not held back.

    Parameters
    ----------
    fields : sequence of Field
        Of the same n rows.
    label : numpy.ndarray, shape (n,)
        In [0, 1], not all the same.
    weight : numpy.ndarray, shape (n,)
    ridge : float
        Times half the squared length of the weights, added to the summed loss.
    """
    widths = [f.counts.shape[1] for f in fields]
    cuts = np.cumsum(widths)
    size = int(cuts[-1])

    def forward(theta: F64) -> F64:
        parts = np.split(theta[:size], cuts[:-1])
        return np.asarray(sum(f.forward(p) for f, p in zip(fields, parts, strict=True)) + theta[size])

    def backward(of_rows: F64, theta: F64) -> F64:
        out = np.concatenate([*(f.backward(of_rows) for f in fields), [of_rows.sum()]])
        out[:size] += ridge * theta[:size]
        return out

    def loss_at(margin: F64, theta: F64) -> float:
        fit = (weight * (np.logaddexp(0.0, margin) - label * margin)).sum()
        return float(fit) + 0.5 * ridge * _dot(theta[:size], theta[:size])

    theta = np.zeros(size + 1)
    mean = float((weight * label).sum() / weight.sum())
    theta[size] = np.log(mean / (1.0 - mean))
    margin = forward(theta)
    loss = loss_at(margin, theta)
    for _ in range(STEPS):
        p = 1.0 / (1.0 + np.exp(-margin))
        slope = backward(weight * (p - label), theta)
        curve = weight * p * (1.0 - p)

        def product(direction: F64, curve: F64 = curve) -> F64:
            return backward(curve * forward(direction), direction)

        step = _conjugate_gradients(product, -slope)
        theta, margin, better = _descend(theta, step, forward, loss_at, loss)
        if loss - better < _CLOSE * abs(loss):
            break
        loss = better
    return theta[:size], float(theta[size])


def _dot(a: F64, b: F64) -> float:
    """Inner product by NumPy's own sum: a BLAS cuts it by threads, and the last digits with it."""
    return float((a * b).sum())


def _conjugate_gradients(product: Callable[[F64], F64], target: F64) -> F64:
    """Roughly solve `product(x) = target` (Hestenes and Stiefel 1952)."""
    x, residual = np.zeros_like(target), target.copy()
    direction, length = residual, _dot(residual, residual)
    goal = length * _INNER_TOLERANCE**2
    for _ in range(INNER_STEPS):
        if length <= goal or length == 0.0:
            break
        image = product(direction)
        rate = length / _dot(direction, image)
        x = x + rate * direction
        residual = residual - rate * image
        length, before = _dot(residual, residual), length
        direction = residual + (length / before) * direction
    return x


def _descend(
    theta: F64, step: F64, forward: Callable[[F64], F64], loss: Callable[[F64, F64], float], now: float
) -> tuple[F64, F64, float]:
    """Go along the step, by halves until the loss falls; stay where it never does."""
    for half in range(10):
        there = theta + step * 0.5**half
        margin = forward(there)
        value = loss(margin, there)
        if value < now:
            return there, margin, value
    return theta, forward(theta), now
