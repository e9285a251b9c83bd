"""Thresholds: chosen for a wished precision, and certified where later gold proves it."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from features.hashing import hash64
from models.calibration import fit_beta
from models.metrics import clopper_pearson_low

F64 = npt.NDArray[np.float64]

# Tested from the strictest to the loosest; the order is fixed before any data is seen.
GRID: Final = tuple(round(0.99 - 0.01 * k, 2) for k in range(80))
CONFIDENCE: Final = 0.95


@dataclass(frozen=True)
class Threshold:
    """A threshold with what is known of it.

    Attributes
    ----------
    value : float
        Rows at or above it are taken; estimated on out-of-fold scores.
    wished : float
        The precision asked for.
    certified_at : float or None
        Rows at or above this are certified: a one-sided bound reached the wished precision on gold later than
        training. None where no threshold is proved.
    precision, low : float or None
        Seen at `certified_at`, one turn a subject, and its lower bound.
    labels : int
        Gold turns at or above `certified_at`, one a subject.
    basis : str
        What it rests on: one of `schemas.judgement.BASES`.
    """

    value: float
    wished: float
    certified_at: float | None = None
    precision: float | None = None
    low: float | None = None
    labels: int = 0
    basis: str = "estimated"


def least_labels(wished: float) -> int:
    """Labels that prove a precision if all of them are right: 29 for .90, at 95% confidence."""
    if wished >= 1.0:
        return sys.maxsize
    return max(1, math.ceil(math.log(1.0 - CONFIDENCE) / math.log(wished))) if wished > 0.0 else 1


def estimate(score: F64, truth: F64, wished: float, fallback: float) -> float:
    """Loosest threshold at which the precision, less one standard error, reaches the wished one.

    The loosest of many cuts is the luckiest; the standard error (Breiman et al. 1984) takes that luck back.

    Parameters
    ----------
    score, truth : numpy.ndarray, shape (n,)
        Out-of-fold scores and labels in [0, 1].
    wished : float
        Precision.
    fallback : float
        Given where no threshold reaches it.
    """
    if not len(score):
        return fallback
    order = np.argsort(-score, kind="stable")
    taken = np.arange(1, len(order) + 1)
    precision = np.cumsum(truth[order]) / taken
    # One label more of each kind, so that a few right ones are not taken for certainty.
    smoothed = (np.cumsum(truth[order]) + 1.0) / (taken + 2.0)
    error = np.sqrt(smoothed * (1.0 - smoothed) / taken)
    last_of_tie = np.append(score[order][1:] != score[order][:-1], True)
    reached = np.flatnonzero(last_of_tie & (precision - error >= wished))
    return float(score[order][reached[-1]]) if len(reached) else fallback


def estimate_each(score: F64, truth: F64, wished: float, fallback: float) -> float:
    """Lowest threshold from which every single row has the wished probability, by a calibration of these rows.

    Stricter than `estimate`, whose rows reach it on average, and steadier where few rows are taken: two or three
    numbers are fitted to all of them, instead of the cut that happens to be luckiest.

    Parameters
    ----------
    score, truth, wished, fallback
        As for `estimate`.
    """
    if not len(score):
        return fallback
    reached = fit_beta(score, truth)(score) >= wished
    return float(score[reached].min()) if reached.any() and truth.any() else fallback


def one_per_subject(subjects: npt.NDArray[np.object_], turn_ids: npt.NDArray[np.object_]) -> npt.NDArray[np.int64]:
    """One row of each subject, the one whose turn id hashes lowest, so that rows are independent."""
    order, subject = _by_subject(subjects, turn_ids)
    return np.sort(order[_first(subject)])


def _by_subject(
    subjects: npt.NDArray[np.object_], turn_ids: npt.NDArray[np.object_]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows by subject, then by the hash of the turn id; and the number of each one's subject, shape (n,)."""
    number = pd.factorize(subjects)[0]
    order = np.lexsort((hash64(turn_ids, "afterword/pick/1"), number))
    return order, number[order]


def _first(subject: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """The first row of each run of one subject."""
    first = np.ones(len(subject), bool)
    first[1:] = subject[1:] != subject[:-1]
    return first


def certify(
    score: F64,
    truth: npt.NDArray[np.bool_],
    subjects: npt.NDArray[np.object_],
    turn_ids: npt.NDArray[np.object_],
    wished: float,
    estimated: float,
) -> Threshold:
    """Loosest threshold of the grid whose precision is proved, by fixed-sequence testing (Angelopoulos et al. 2021,
    arXiv 2110.01052): go down the grid and stop at the first that fails.

    Cuts below `estimated` are not tested, as no row below it is ever taken. Cuts that take too few subjects to pass
    even without an error are not tested and do not stop the sequence: whether they are is known from the scores alone,
    before any label is read.

    Parameters
    ----------
    score, truth, subjects, turn_ids : numpy.ndarray, shape (n,)
        Rows with gold, later than everything the scores were trained on.
    wished : float
        Precision to prove, at 95% confidence.
    estimated : float
        The threshold to use; the proved one stands beside it.
    """
    passed: Threshold | None = None
    # Sorted once: a cut leaves rows out and keeps the order.
    order, subject = _by_subject(subjects, turn_ids)
    for cut in (c for c in GRID if c >= estimated):
        taken = np.flatnonzero(score[order] >= cut)
        rows = order[taken[_first(subject[taken])]]
        if len(rows) < least_labels(wished):
            continue
        right = int(truth[rows].sum())
        low = clopper_pearson_low(right, len(rows), CONFIDENCE)
        if low < wished:
            break
        passed = Threshold(estimated, wished, cut, right / len(rows), low, len(rows))
    return passed or Threshold(estimated, wished)
