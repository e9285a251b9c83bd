"""Weak supervision: labelling functions over signals (Ratner et al. 2017, arXiv 1711.10160), put together by
order.

A function votes only on what speaks of the meaning: the user denies it, goes back, says it differently,
settles on another; or the system cannot serve it. What speaks of doubt alone (scores, apologies, a question
asked again) does not vote: a system asks again where it was right but unsure, and a user starts over for a
new wish. Doubt is a view of its own in `models.weak`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from models.dawid_skene import dawid_skene
from models.design import Design

F64 = npt.NDArray[np.float64]
Votes = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]
Column = Callable[[str], npt.NDArray[np.float32]]

# Two texts from here on say the same in other words; below UNLIKE they are about something else.
ALIKE: Final = 0.6
UNLIKE: Final = 0.5
# Off the middle of a scale of five, on either side.
RATED_LOW: Final = 0.4
RATED_HIGH: Final = 0.6

# A comparison with NaN (a missing signal) is False, so a function abstains where it has nothing to go by.
DEFECT: Final[dict[str, Callable[[Column], Mask]]] = {
    "next turn negates": lambda s: (s("negates_next") > 0) & ~(s("confirmation") < 0),
    "next turn corrects": lambda s: s("corrects_next") > 0,
    "next turn goes back": lambda s: s("goes_back_next") > 0,
    "confirmation denied": lambda s: (s("confirmation") < 0) | (s("top.denied_after") > 0),
    "rephrased to another reading": lambda s: (s("rephrase_next") >= ALIKE) & (s("same_interpretation_next") == 0),
    "later turns settle on another reading": lambda s: (s("other.affirmed_after") > 0) & ~(s("top.affirmed_after") > 0),
    "same frame, other values later": lambda s: (s("top.later_frame") > 0) & (s("top.later_top") == 0),
    "next turn gives up or asks for a person": lambda s: (s("gives_up_next") > 0) | (s("escalates_next") > 0),
    "the system could not use it": lambda s: (s("cannot_help") > 0) | (s("outcome_failed") > 0),
    "rated low": lambda s: s("explicit_rating") <= RATED_LOW,
}
SATISFIED: Final[dict[str, Callable[[Column], Mask]]] = {
    "confirmed": lambda s: (s("confirmation") > 0) | (s("top.affirmed_after") > 0),
    "next turn thanks": lambda s: (s("thanks_next") > 0) & ~(s("outcome_failed") > 0) & ~(s("cannot_help") > 0),
    "said again and understood the same": lambda s: (s("top.later_top") > 0) & ~(s("top.later_frame") > 0),
    "the dialog moves on": lambda s: (
        (s("system_repeat") < UNLIKE)
        & (s("rephrase_next") < UNLIKE)
        & (s("negates_next") == 0)
        & (s("goes_back_next") == 0)
        & (s("restarts_next") == 0)
        & ~(s("skipped_after") > 0)
    ),
    "rated high": lambda s: s("explicit_rating") >= RATED_HIGH,
}
# The user says it outright; the others are traces.
EXPLICIT: Final = frozenset({"confirmation denied", "rated low", "confirmed", "rated high"})


def votes(design: Design) -> Votes:
    """Each function's vote: +1 defect, -1 satisfied, 0 abstains; shape (n, functions)."""
    at = {name: k for k, name in enumerate(design.names)}

    def column(name: str) -> npt.NDArray[np.float32]:
        return design.values[:, at[name]]

    against = [function(column).astype(np.int8) for function in DEFECT.values()]
    in_favour = [-function(column).astype(np.int8) for function in SATISFIED.values()]
    return np.column_stack(against + in_favour).astype(np.int8)


def voting(cast: Votes) -> tuple[str, ...]:
    """Names of the functions that vote on any row."""
    held = zip([*DEFECT, *SATISFIED], cast.T, strict=True)
    return tuple(name for name, column in held if column.any())


def reads(functions: Iterable[str]) -> frozenset[str]:
    """Columns of the turns' design that some functions read."""
    seen: set[str] = set()

    def column(name: str) -> npt.NDArray[np.float32]:
        seen.add(name)
        return np.zeros(0, np.float32)

    for name in functions:
        (DEFECT | SATISFIED)[name](column)
    return frozenset(seen)


def majority(cast: Votes) -> tuple[F64, F64]:
    """Share of cast votes that say defect, and how many were cast; 0.5 where none was."""
    counted = np.abs(cast).sum(axis=1).astype(np.float64)
    against = (cast > 0).sum(axis=1)
    share = np.divide(against, counted, out=np.full(len(cast), 0.5), where=counted > 0)
    return share, counted


def aggregated(cast: Votes) -> F64:
    """p(defect) by Dawid and Skene's method, shape (n,). That a function abstains counts as an answer."""
    share, _ = majority(cast)
    return dawid_skene(cast.astype(np.int64) + 1, np.column_stack([1.0 - share, share]))[:, 1]


def waterfall(cast: Votes) -> tuple[F64, Mask]:
    """Label by order: explicit feedback first, then traces (Park et al. 2020 call it the waterfall).

    What the user says outright (a rating, the answer to a confirmation) settles a turn, a complaint before praise.
    Without it one trace of trouble outweighs any of satisfaction: trouble leaves one trace and is then repaired, so
    the turns after it look fine. Where the waterfall of Park et al. ends in a model of annotations, a turn that people
    have judged takes their judgement before any of this (`with_gold`): it is of this very turn, and
    of the very question that is learned.

    Returns
    -------
    label : numpy.ndarray, shape (n,)
        1 defect, 0 satisfied, 0.5 where no function votes.
    voted : numpy.ndarray of bool, shape (n,)
    """
    names = [*DEFECT, *SATISFIED]
    explicit = np.array([name in EXPLICIT for name in names])
    said, seen = cast[:, explicit], cast[:, ~explicit]
    steps = [(said > 0), (said < 0), (seen > 0), (seen < 0)]
    label = np.select([step.any(axis=1) for step in steps], [1.0, 0.0, 1.0, 0.0], 0.5)
    return np.asarray(label, dtype=np.float64), np.asarray((cast != 0).any(axis=1), dtype=bool)


def with_gold(weak: F64, gold: F64, weak_weight: float) -> tuple[F64, F64]:
    """Labels and weights of rows to learn from: gold where there is any, else the weak label.

    Parameters
    ----------
    weak : numpy.ndarray, shape (n,)
    gold : numpy.ndarray, shape (n,)
        Share of raters; NaN = no gold.
    weak_weight : float
        Weight of a row without gold; a gold row weighs 1. Without any gold all rows weigh 1.
    """
    known = ~np.isnan(gold)
    label = np.where(known, gold, weak)
    return label, np.where(known, 1.0, weak_weight if known.any() else 1.0)
