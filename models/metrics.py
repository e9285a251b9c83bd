"""Figures by which the models are held."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import beta
from sklearn.metrics import average_precision_score, roc_auc_score

F64 = npt.NDArray[np.float64]

ECE_BINS = 15
CURVE_BINS = 10


def auc(truth: F64, score: F64) -> float:
    """Area under the ROC curve; NaN where only one class is present."""
    return float(roc_auc_score(truth, score)) if len(np.unique(truth)) == 2 else float("nan")


def ap(truth: F64, score: F64) -> float:
    """Average precision; NaN where nothing is positive."""
    return float(average_precision_score(truth, score)) if truth.any() else float("nan")


def ece(truth: F64, probability: F64, bins: int = ECE_BINS) -> float:
    """Expected calibration error with equal-mass bins (Naeini et al. 2015; equal-mass after Nixon et al. 2019).

    The mean over the parts of the reliability curve, weighted by size, of |mean probability - share positive|.
    """
    return sum(n * abs(mean - share) for mean, share, n in reliability(truth, probability, bins)) / len(truth)


def reliability(truth: F64, probability: F64, bins: int = CURVE_BINS) -> list[tuple[float, float, int]]:
    """The reliability curve: mean probability, share positive and size of each part, by rising probability.

    Rows are ordered by probability (ties by position) and cut into `bins` parts of nearly equal size.
    """
    order = np.argsort(probability, kind="stable")
    parts = np.array_split(order, min(bins, len(order)))
    return [(float(probability[p].mean()), float(truth[p].mean()), len(p)) for p in parts]


def ece_floor(probability: F64, bins: int = ECE_BINS, draws: int = 200, seed: int = 0) -> float:
    """ECE that a perfectly calibrated model would show at this size: the mean over labels drawn from its own scores."""
    generator = np.random.default_rng(seed)
    order = np.argsort(probability, kind="stable")
    sizes = np.array([len(part) for part in np.array_split(order, min(bins, len(order)))])
    starts = np.cumsum(sizes) - sizes
    expected = np.add.reduceat(probability[order], starts)
    gaps = []
    # One draw at a time: all of them at once would be hundreds of copies of the labels.
    for _ in range(draws):
        drawn = (generator.random(len(order)) < probability)[order].astype(np.float64)
        gaps.append(np.abs(np.add.reduceat(drawn, starts) - expected).sum())
    return float(np.mean(gaps)) / len(order)


def clopper_pearson_low(right: int, total: int, confidence: float = 0.95) -> float:
    """One-sided lower confidence bound of a proportion (Clopper and Pearson 1934); 0 with nothing right."""
    if right == 0:
        return 0.0
    return float(beta.ppf(1.0 - confidence, right, total - right + 1))


def clopper_pearson_high(right: int, total: int, confidence: float = 0.95) -> float:
    """One-sided upper confidence bound of a proportion; 1 with nothing wrong."""
    if right == total:
        return 1.0
    return float(beta.ppf(confidence, right + 1, total - right))
