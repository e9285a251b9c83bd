"""Calibration: scores become probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

F64 = npt.NDArray[np.float64]

_EDGE = 1e-6


@dataclass(frozen=True)
class BetaCalibration:
    """p = sigmoid(a ln s - b ln(1 - s) + c) (Kull, Silva Filho and Flach 2017); monotone, as a and b are not negative.

    a = b = 1, c = 0 leaves scores as they are.
    """

    a: float = 1.0
    b: float = 1.0
    c: float = 0.0

    def __call__(self, score: F64) -> F64:
        """Calibrated probabilities, shape (n,)."""
        s = np.clip(score, _EDGE, 1.0 - _EDGE)
        z = self.a * np.log(s) - self.b * np.log1p(-s) + self.c
        return np.asarray(1.0 / (1.0 + np.exp(-z)), dtype=np.float64)


def fit_beta(score: F64, truth: F64, weight: F64 | None = None) -> BetaCalibration:
    """Fit on out-of-fold scores by maximum likelihood; the identity where only one class is present.

    Parameters
    ----------
    score : numpy.ndarray, shape (n,)
        In (0, 1).
    truth : numpy.ndarray, shape (n,)
        Labels in [0, 1]; shares are allowed.
    weight : numpy.ndarray, shape (n,), optional
    """
    if not len(truth) or truth.min() == truth.max():
        return BetaCalibration()
    s = np.clip(score, _EDGE, 1.0 - _EDGE)
    x, y = np.log(s), -np.log1p(-s)
    w = np.ones(len(s)) if weight is None else weight

    def loss(theta: F64) -> tuple[float, F64]:
        z = theta[0] * x + theta[1] * y + theta[2]
        p = 1.0 / (1.0 + np.exp(-z))
        value = float(np.sum(w * (np.logaddexp(0.0, z) - truth * z)))
        slope = w * (p - truth)
        # NumPy's own sum: a BLAS cuts an inner product by threads, and its last digits with it.
        return value, np.array([(slope * x).sum(), (slope * y).sum(), slope.sum()])

    fit = minimize(
        loss, np.array([1.0, 1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0.0, None), (0.0, None), (None, None)]
    )
    a, b, c = (round(float(v), 6) for v in fit.x)
    return BetaCalibration(a, b, c)
