"""What a fit was made of, and how well it says how sure it is: figures for the card and the closing table."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from models.design import Design
from models.labelling import majority, votes
from models.metrics import auc, ece, ece_floor, reliability

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_DECIMALS: Final = 4


def report(design: Design, wrong: F64, p_defect: F64, early: Mask, fitted: Mask, labels: str) -> dict[str, Any]:
    """Figures of a fit; none of them depends on the order of rows that are equal.

    Parameters
    ----------
    design : Design
        n turns.
    wrong : numpy.ndarray, shape (n,)
        Gold; NaN where there is none.
    p_defect : numpy.ndarray, shape (n,)
        Out of fold.
    early : numpy.ndarray of bool, shape (n,)
        Turns that may be trained on.
    fitted : numpy.ndarray of bool, shape (n,)
        Turns that the defect model was trained on.
    labels : str
        `TrainOptions.labels`.
    """
    known = ~np.isnan(wrong)
    return {
        "turns": len(early),
        "turns_fitted": int(fitted.sum()),
        "gold_turns": int(known.sum()),
        "gold_turns_fitted": int((known & fitted).sum()) if labels != "weak" else 0,
        "labels": _learned_from(known & early, fitted, labels),
        "votes": _votes(design, wrong, p_defect),
        "calibration": calibration(wrong, p_defect, known & ~early),
    }


def _learned_from(known: Mask, fitted: Mask, labels: str) -> str:
    if labels == "weak" or not known.any():
        return "labelling functions"
    return "gold" if known[fitted].all() else "gold and functions"


def _votes(design: Design, wrong: F64, p_defect: F64) -> dict[str, Any]:
    """The labelling functions' majority vote beside the model: on turns with gold, else only how far the votes reach.

    `auc` and `model_auc` are of the same turns: those with gold, a share of raters of a half or more being a defect.
    """
    cast = votes(design)
    share, counted = majority(cast)
    at = ~np.isnan(wrong)
    truth = (wrong[at] >= 0.5).astype(np.float64)
    return {
        "functions": int((cast != 0).any(axis=0).sum()),
        "share": _number(float((counted > 0).mean()) if len(counted) else float("nan")),
        "auc": _number(auc(truth, share[at])),
        "model_auc": _number(auc(truth, p_defect[at])),
    }


def calibration(wrong: F64, p_defect: F64, later: Mask) -> dict[str, Any]:
    """How far p(defect) is from what people say of later turns, and the reliability curve.

    Parameters
    ----------
    wrong, p_defect : numpy.ndarray, shape (n,)
    later : numpy.ndarray of bool, shape (n,)
        Turns with gold that nothing was fitted on, later than all that was.

    Returns
    -------
    dict
        `turns`; `ece` (null without any); `floor`, the ECE that a perfectly calibrated model would show on so many; and
        `curve`: mean p, share of defects and turns of parts of equal size, by p.
    """
    truth, p = wrong[later], p_defect[later]
    if not len(truth):
        return {"turns": 0, "ece": None, "floor": None, "curve": []}
    curve = [{"p": _number(m), "share": _number(s), "turns": n} for m, s, n in reliability(truth, p)]
    return {"turns": len(truth), "ece": _number(ece(truth, p)), "floor": _number(ece_floor(p)), "curve": curve}


def _number(value: float) -> float | None:
    """Rounded; None for what is no number."""
    return None if np.isnan(value) else round(value, _DECIMALS)
