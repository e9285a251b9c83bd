"""Labels without gold, held against gold: how the votes are put together, and what the model adds to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from models.boost import fit_folds
from models.dawid_skene import dawid_skene
from models.design import Design
from models.labelling import Votes, aggregated, majority, reads, votes, voting, waterfall
from models.metrics import ap, auc

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def _strangers(cast: Votes) -> F64:
    """Dawid and Skene's method as it is mostly used: who abstains says nothing."""
    share, _ = majority(cast)
    answers = np.select([cast > 0, cast < 0], [1, 0], -1).astype(np.int64)
    return dawid_skene(answers, np.column_stack([1.0 - share, share]))[:, 1]


AGGREGATIONS: Final[dict[str, Callable[[Votes], F64]]] = {
    "vote": lambda cast: majority(cast)[0],
    "waterfall": lambda cast: waterfall(cast)[0],
    "dawid_skene": aggregated,
    "dawid_skene.cast_only": _strangers,
}


def aggregations(design: Design, truth: F64, at: Mask) -> dict[str, float]:
    """AUC and AP of each way to put the votes together, on the rows `at`."""
    cast = votes(design)
    out: dict[str, float] = {"functions": len(voting(cast)), "voted": float((cast[at] != 0).any(axis=1).mean())}
    for name, aggregate in AGGREGATIONS.items():
        p = aggregate(cast)[at]
        out |= {f"{name}.auc": auc(truth[at], p), f"{name}.ap": ap(truth[at], p)}
    return out


def blind(design: Design, label: F64, fold: I64, folds: int, seed: int) -> F64:
    """Scores of a model that learns weak labels without the columns that the voting functions read, shape (n,).

    A model of weak labels can learn its functions by heart; what is left here it has found elsewhere.
    """
    hidden = reads(voting(votes(design)))
    few = design.select(tuple(n for n in design.names if n not in hidden))
    return fit_folds(few, label, np.ones(len(label)), fold, folds, seed)[1]
