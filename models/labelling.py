"""Weak supervision: labelling functions over signals, put together by vote (Ratner et al. 2017, arXiv 1711.10160)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from models.design import Design

F64 = npt.NDArray[np.float64]
Votes = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]
Column = Callable[[str], npt.NDArray[np.float32]]

# A comparison with NaN (a missing signal) is False, so a function abstains where it has nothing to go by.
DEFECT: Final[dict[str, Callable[[Column], Mask]]] = {
    "next turn negates": lambda s: (s("negates_next") > 0) & ~(s("confirmation") < 0),
    "next turn goes back or restarts": lambda s: (s("goes_back_next") > 0) | (s("restarts_next") > 0),
    "confirmation denied": lambda s: (s("confirmation") < 0) | (s("top.denied_after") > 0),
    "system repeats its question": lambda s: s("system_repeat") >= 0.8,
    "rephrased to another reading": lambda s: (s("rephrase_next") >= 0.6) & (s("same_interpretation_next") == 0),
    "later turns settle on another reading": lambda s: (s("other.affirmed_after") > 0) & ~(s("top.affirmed_after") > 0),
    "same frame, other values later": lambda s: (s("top.later_frame") > 0) & (s("top.later_top") == 0),
    "the system could not use it": lambda s: s("outcome_failed") > 0,
    "rated low": lambda s: s("explicit_rating") <= 0.4,
    "the recogniser was unsure": lambda s: s("asr_confidence") < 0.3,
    "the interpreter was unsure": lambda s: s("top_score") < 0.3,
}
SATISFIED: Final[dict[str, Callable[[Column], Mask]]] = {
    "confirmed": lambda s: (s("confirmation") > 0) | (s("top.affirmed_after") > 0),
    "said again and understood the same": lambda s: (s("top.later_top") > 0) & ~(s("top.later_frame") > 0),
    "the dialog moves on": lambda s: (
        (s("system_repeat") < 0.5) & (s("rephrase_next") < 0.5) & (s("negates_next") == 0)
        & (s("goes_back_next") == 0) & (s("restarts_next") == 0) & ~(s("skipped_after") > 0)
    ),
    "the interpreter was sure": lambda s: (s("top_score") >= 0.8) & ~(s("system_repeat") >= 0.8),
    "rated high": lambda s: s("explicit_rating") >= 0.6,
}


def votes(design: Design) -> Votes:
    """Each function's vote: +1 defect, -1 satisfied, 0 abstains; shape (n, functions)."""
    at = {name: k for k, name in enumerate(design.names)}

    def column(name: str) -> npt.NDArray[np.float32]:
        return design.values[:, at[name]]

    against = [function(column).astype(np.int8) for function in DEFECT.values()]
    in_favour = [-function(column).astype(np.int8) for function in SATISFIED.values()]
    return np.column_stack(against + in_favour).astype(np.int8)


def majority(cast: Votes) -> tuple[F64, F64]:
    """Share of cast votes that say defect, and how many were cast; 0.5 where none was."""
    counted = np.abs(cast).sum(axis=1).astype(np.float64)
    against = (cast > 0).sum(axis=1)
    share = np.divide(against, counted, out=np.full(len(cast), 0.5), where=counted > 0)
    return share, counted


def agreement_model(cast: Votes, iterations: int = 50) -> F64:
    """p(defect) from the functions' own agreement: two-class Dawid-Skene (1979) by EM, started at the majority vote.

    Whether a function votes at all tells as well, so abstaining is a third answer. Counts are smoothed by one.

    Parameters
    ----------
    cast : numpy.ndarray of int8, shape (n, functions)
    iterations : int

    Returns
    -------
    numpy.ndarray, shape (n,)
    """
    p, _ = majority(cast)
    if not len(cast):
        return p
    answers = np.stack([cast == v for v in (-1, 0, 1)], axis=2).astype(np.float64)
    for _ in range(iterations):
        prior = np.clip(p.mean(), 0.02, 0.98)
        given_defect = np.einsum("n,nfa->fa", p, answers) + 1.0
        given_fine = np.einsum("n,nfa->fa", 1.0 - p, answers) + 1.0
        given_defect /= given_defect.sum(axis=1, keepdims=True)
        given_fine /= given_fine.sum(axis=1, keepdims=True)
        odds = np.einsum("nfa,fa->n", answers, np.log(given_defect) - np.log(given_fine))
        p = 1.0 / (1.0 + np.exp(-(odds + np.log(prior / (1.0 - prior)))))
    return np.asarray(p, dtype=np.float64)
