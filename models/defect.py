"""Defect identification: p(defect | turn) (Park et al. 2021, arXiv 2010.12251, section on the defect model)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from models.boost import FoldModel, fit_folds
from models.calibration import BetaCalibration, fit_beta
from models.design import Design
from models.labelling import with_gold
from models.words import WordsModel, fit_words

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class DefectModel:
    """Boosters by fold of subject, the calibration of their pooled out-of-fold scores, and the model over words."""

    folds: FoldModel
    calibration: BetaCalibration
    words: WordsModel | None = None

    def predict(self, design: Design, fold: I64) -> F64:
        """p(defect) of each turn from the booster that has not seen its subject, shape (n,).

        `design` is what `seen` gives.
        """
        return self.calibration(self.folds.predict(design, fold))

    def seen(self, design: Design, said: pa.Table | None, fold: I64) -> Design:
        """A turn design with the columns over words, where the model was trained with them.

        Parameters
        ----------
        design : Design
            n turns.
        said : pyarrow.Table or None
            Their Said rows; not read by a model without words.
        fold : numpy.ndarray of int64, shape (n,)

        Raises
        ------
        ValueError
            If the model reads words and none are given.
        """
        if self.words is None:
            return design
        if said is None:
            raise ValueError("the model was trained with train.words and wants the words of the turns (features.said)")
        return design.beside(self.words.columns(said, fold))

    def plain(self) -> dict[str, Any]:
        """The model as plain data, for a JSON file."""
        words = None if self.words is None else self.words.plain()
        return {"folds": asdict(self.folds), "calibration": asdict(self.calibration), "words": words}


def fit_defect(
    design: Design,
    gold: F64,
    weak: F64,
    fit_rows: Mask,
    fold: I64,
    folds: int,
    weak_weight: float,
    seed: int,
    said: pa.Table | None = None,
) -> tuple[DefectModel, F64]:
    """Fit the defect model.

    Where some turns have gold and others have none, it is fitted twice (self-training, Yarowsky 1995): the second time
    the turns without gold have what the first model says of them, out of fold, in place of the weak labels. What few
    labels of people teach is so spread to all turns. The second fit knows of a gold turn what the first had made of it
    for others; what is certified is later than both.

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
    said : pyarrow.Table, optional
        Said rows of the turns: the model then reads words too.

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
    label, weight = with_gold(weak, gold, weak_weight)
    weight = np.where(fit_rows, weight, 0.0)

    def fit(label: F64, seed: int) -> tuple[FoldModel, F64, WordsModel | None]:
        words, stacked = (None, []) if said is None else fit_words(said, label, weight, fold, folds)
        return *fit_folds(design, label, weight, fold, folds, seed, stacked=stacked), words

    known = fit_rows & ~np.isnan(gold)
    model, score, words = fit(label, seed)
    if known.any() and (weight[~known] > 0).any():
        label = np.where(np.isnan(gold), score, label)
        model, score, words = fit(label, seed + 1)
    by = known if known.any() else fit_rows
    calibration = fit_beta(score[by], label[by], weight[by])
    return DefectModel(model, calibration, words), calibration(score)
