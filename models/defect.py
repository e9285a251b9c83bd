"""Defect identification: p(defect | turn) (Park et al. 2021, arXiv 2010.12251, section on the defect model)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.boost import FoldModel, fit_folds
from models.calibration import BetaCalibration, fit_beta
from models.design import Design

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class DefectModel:
    """Boosters by fold of subject, and the calibration of their pooled out-of-fold scores."""

    folds: FoldModel
    calibration: BetaCalibration

    def predict(self, design: Design, fold: I64) -> F64:
        """p(defect) of each turn from the booster that has not seen its subject, shape (n,)."""
        return self.calibration(self.folds.predict(design, fold))


def defect_labels(weak: F64, gold: F64, weak_weight: float) -> tuple[F64, F64]:
    """Labels and weights of turns: gold where there is any, else what the labelling functions say.

    Parameters
    ----------
    weak : numpy.ndarray, shape (n,)
        From `models.weak.weak_labels`.
    gold : numpy.ndarray, shape (n,)
        Share of raters who say defect; NaN = no gold.
    weak_weight : float
        Weight of a row without gold; a gold row weighs 1. Without any gold all rows weigh 1.
    """
    known = ~np.isnan(gold)
    label = np.where(known, gold, weak)
    weight = np.where(known, 1.0, weak_weight if known.any() else 1.0)
    return label, weight


def fit_defect(
    design: Design, gold: F64, weak: F64, fit_rows: Mask, fold: I64, folds: int, weak_weight: float, seed: int
) -> tuple[DefectModel, F64]:
    """Fit the defect model.

    Parameters
    ----------
    design : Design
        n turns.
    gold : numpy.ndarray, shape (n,)
        NaN = no gold.
    fit_rows : numpy.ndarray of bool, shape (n,)
        Turns that may be trained on; the others are scored only.
    fold : numpy.ndarray of int64, shape (n,)
    folds : int
    weak_weight : float
    seed : int

    Returns
    -------
    model : DefectModel
    probability : numpy.ndarray, shape (n,)
        Calibrated, from boosters that have not seen the turn's subject.

    Raises
    ------
    models.boost.TrainingError
        If a fold has one class only.
    """
    label, weight = defect_labels(weak, gold, weak_weight)
    weight = np.where(fit_rows, weight, 0.0)
    model, score = fit_folds(design, label, weight, fold, folds, seed)
    known = fit_rows & ~np.isnan(gold)
    by = known if known.any() else fit_rows
    calibration = fit_beta(score[by], label[by], weight[by])
    return DefectModel(model, calibration), calibration(score)
