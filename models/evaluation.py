"""Judgements and corrections held against labels of people."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from models.metrics import ap, auc, ece, ece_floor, reliability

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Figures = dict[str, float | int | None]

# From this share of raters on, a label counts as yes where a figure wants a yes or a no.
MAJORITY: Final = 0.5
# Points of a reliability curve; of fewer rows than so many a point each would only show noise.
CURVE_POINTS: Final = 10
CURVE_ROWS: Final = 10


def scored(share: F64, probability: F64) -> Figures:
    """How well probabilities rank and are calibrated.

    Parameters
    ----------
    share : numpy.ndarray, shape (n,)
        Share of raters who say yes. Ranking (AUC, AP) takes the majority's word; calibration the share itself.
    probability : numpy.ndarray, shape (n,)

    Returns
    -------
    dict
        `rows`, `positive`, `auc`, `ap`, `ece`, `ece_floor`; None where a figure is not defined. The floor supposes
        one rater a label, so that of shares of several lies lower.
    """
    truth = (share >= MAJORITY).astype(np.float64)
    held: Figures = {"rows": len(share), "positive": int(truth.sum())}
    if not len(share):
        return held | {"auc": None, "ap": None, "ece": None, "ece_floor": None}
    return held | {
        "auc": _plain(auc(truth, probability)),
        "ap": _plain(ap(truth, probability)),
        "ece": _plain(ece(share, probability)),
        "ece_floor": _plain(ece_floor(probability)),
    }


def decided(share: F64, taken: Mask) -> Figures:
    """Precision and recall of a decision; None where nothing was taken, or nothing is positive."""
    truth = share >= MAJORITY
    right = int((truth & taken).sum())
    count, positive = int(taken.sum()), int(truth.sum())
    return {
        "taken": count,
        "precision": _plain(right / count) if count else None,
        "recall": _plain(right / positive) if positive else None,
    }


def curve(share: F64, probability: F64) -> list[dict[str, float | int]]:
    """The reliability curve (`models.metrics.reliability`) as plain data, with as many points as the rows bear."""
    points = min(CURVE_POINTS, len(share) // CURVE_ROWS)
    if not points:
        return []
    return [
        {"rows": rows, "probability": round(mean, _DECIMALS), "share": round(positive, _DECIMALS)}
        for mean, positive, rows in reliability(share, probability, points)
    ]


_DECIMALS: Final = 6


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), _DECIMALS)
