"""Gradient boosting over folds of subjects, the same bytes for the same data and seed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

import lightgbm as lgb
import numpy as np
import numpy.typing as npt

from models.attribution import Steps, steps
from models.design import Design
from models.forest import Forest
from models.trees import Tree, trees

S = TypeVar("S")
T = TypeVar("T")
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# Small trees and strong shrinkage: sessions are many but labels few, and neighbours in a session are alike.
PARAMETERS: Final[dict[str, Any]] = {
    "objective": "cross_entropy",
    # Random cuts: over many related columns they overfit less than the best cut.
    "extra_trees": True,
    "learning_rate": 0.1,
    "num_leaves": 15,
    "min_data_in_leaf": 20,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "max_bin": 127,
    # Byte-identical models: LightGBM's own conditions for it. By columns, as a tree asks half of them; by rows the same
    # trees take half as much CPU again.
    "deterministic": True,
    "force_col_wise": True,
    "verbosity": -1,
}
ROUNDS: Final = 120
# One thread a booster, and boosters side by side: the bytes do not depend on how many cores there are, and no thread
# waits for another at each of a tree's many barriers, which on a busy machine costs minutes.
_THREADS: Final = 1


class TrainingError(ValueError):
    """The training data cannot give a model."""


@dataclass(frozen=True)
class FoldModel:
    """One booster a fold; booster k has not seen the subjects of fold k.

    Attributes
    ----------
    boosters : tuple of str
        LightGBM text models.
    names : tuple of str
        Feature names, in order.
    """

    boosters: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def names_hash(self) -> str:
        """SHA-256 of the feature names in order."""
        return hashlib.sha256("\n".join(self.names).encode()).hexdigest()

    def predict(self, design: Design, fold: I64) -> F64:
        """Score each row with the booster of its fold, shape (n,), in (0, 1).

        Raises
        ------
        ValueError
            If the design's columns are not the ones trained on, in the same order.
        """
        self._same_columns(design)
        out = np.zeros(len(design.values))
        for k, forest in enumerate(self._forests):
            rows = np.flatnonzero(fold == k)
            out[rows] = forest.score(forest.leaves(design.values[rows]))
        return out

    def contributions(self, design: Design, fold: I64) -> F64:
        """What each feature adds to each row's log-odds (`models.attribution`), shape (n, features)."""
        self._same_columns(design)
        out = np.zeros(design.values.shape)
        for k, (forest, told) in enumerate(zip(self._forests, self._steps, strict=True)):
            rows = np.flatnonzero(fold == k)
            out[rows] = told.of(forest.leaves(design.values[rows]))
        return out

    @cached_property
    def _trees(self) -> tuple[list[Tree], ...]:
        return tuple(map(trees, self.boosters))

    @cached_property
    def _forests(self) -> tuple[Forest, ...]:
        return tuple(Forest.of(held, len(self.names)) for held in self._trees)

    @cached_property
    def _steps(self) -> tuple[Steps, ...]:
        return tuple(steps(held, len(self.names)) for held in self._trees)

    def _same_columns(self, design: Design) -> None:
        if design.names != self.names:
            missing = sorted(set(self.names) - set(design.names))
            extra = sorted(set(design.names) - set(self.names))
            raise ValueError(
                f"the model wants {len(self.names)} features (hash {self.names_hash[:12]}) in its own order; "
                f"missing: {missing or 'none'}, unknown: {extra or 'none'}. Compute signals and train with one version."
            )


def fit_folds(
    design: Design,
    label: F64,
    weight: F64,
    fold: I64,
    folds: int,
    seed: int,
    rounds: int = ROUNDS,
    stacked: Sequence[Design] = (),
) -> tuple[FoldModel, F64]:
    """Fit one booster a fold and score every row out of fold.

    Parameters
    ----------
    design : Design
        n rows.
    label : numpy.ndarray, shape (n,)
        In [0, 1]; shares of raters or votes are allowed.
    weight : numpy.ndarray, shape (n,)
        0 leaves a row out of the fit; it is still scored.
    fold : numpy.ndarray of int64, shape (n,)
    folds : int
    seed : int
    rounds : int
        Trees a booster.
    stacked : sequence of Design, length folds, optional
        Columns made of labels, after those of `design`: the k-th are booster k's own, for all n rows, and have seen
        the labels of neither fold k nor a row's own fold (`models.words`).

    Returns
    -------
    model : FoldModel
    out_of_fold : numpy.ndarray, shape (n,)

    Raises
    ------
    TrainingError
        If a label is not a number in [0, 1], or a fold's training rows hold one class only.
    """
    if not np.isfinite(label).all() or label.min(initial=0.0) < 0 or label.max(initial=0.0) > 1:
        raise TrainingError("labels must be numbers in [0, 1]; there are others (NaN, infinite or out of range)")
    parts = [_training_rows(label, weight, fold, k) for k in range(folds)]

    names = design.names + (stacked[0].names if stacked else ())

    def seen(k: int, rows: I64) -> F32:
        return np.hstack([design.values[rows], stacked[k].values[rows]]) if stacked else design.values[rows]

    def fit(k: int) -> str:
        rows = parts[k]
        data = lgb.Dataset(seen(k, rows), label[rows], weight=weight[rows], feature_name=list(names))
        parameters = PARAMETERS | {"seed": seed + k, "num_threads": _THREADS}
        return str(lgb.train(parameters, data, num_boost_round=rounds).model_to_string())

    with ThreadPoolExecutor(max_workers=min(folds, os.cpu_count() or 1)) as pool:
        boosters = list(pool.map(fit, range(folds)))
    model = FoldModel(tuple(boosters), names)
    if not stacked:
        return model, model.predict(design, fold)
    own = np.empty((len(fold), len(names)), np.float32)
    for k in range(folds):
        rows = np.flatnonzero(fold == k)
        own[rows] = seen(k, rows)
    return model, model.predict(Design(own, names), fold)


def at_once(first: Callable[[], S], second: Callable[[], T]) -> tuple[S, T]:
    """Results of two calls that fit boosters, made side by side: five folds alone leave a core idle at their end."""
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.submit(first), pool.submit(second)
        return one.result(), other.result()


def _training_rows(label: F64, weight: F64, fold: I64, k: int) -> I64:
    """Rows that booster k learns from."""
    rows = np.flatnonzero((fold != k) & (weight > 0))
    if not len(rows) or label[rows].max() == label[rows].min():
        raise TrainingError(
            f"fold {k}: the {len(rows)} training rows hold one class only; folds go by user, so more users are wanted, "
            "or gold labels of both kinds"
        )
    return rows
