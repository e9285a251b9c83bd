"""Precision, recall and prevalence from a stratified sample that people have judged, with intervals.

Turns are drawn within cells of (domain, decision), each turn of a cell with the same probability, so the share of a
cell is estimated by its sample's mean and a domain's, or the whole log's, by the mean of cells weighted by their turns
(Horvitz and Thompson 1952). What is estimated are shares of the finite log, not of a population behind it: how turns
hang together by user does not matter to that.

For the interval the cells of one decision are put together to a share and the number of turns that, drawn by
themselves, would tell it as well (Kish 1965; Korn and Graubard 1998 for its use with an exact interval); the at most
three shares are melded. bench/audit.py measures how often the intervals cover, beside other methods.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.melding import DELTA, DRAWS, Figure, Share, ratio, weighted
from models.sampling import DECISIONS

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Strata:
    """Cells of the sample with what people said.

    Attributes
    ----------
    decision : numpy.ndarray of int64, shape (h,)
        Place in `DECISIONS`.
    size : numpy.ndarray of int64, shape (h,)
        Turns of the log in the cell.
    answered : numpy.ndarray of int64, shape (h,)
        Turns that people could judge. Those they could not are taken to be like the others of their cell.
    total : numpy.ndarray of float64, shape (h,)
        Sum over them of the share of raters who say yes.
    """

    decision: I64
    size: I64
    answered: I64
    total: F64

    def take(self, rows: npt.NDArray[np.bool_]) -> Strata:
        """Some of the cells."""
        return Strata(self.decision[rows], self.size[rows], self.answered[rows], self.total[rows])


def pooled(strata: Strata) -> Share:
    """The share over cells, weighted by their turns.

    The effective number is the smaller of two: that by weights alone (Kish), which supposes the same share in every
    cell, and that by the spread seen (Korn and Graubard), which is nothing to go by where few are positive.
    """
    seen = strata.answered > 0
    size, covered = int(strata.size.sum()), int(strata.size[seen].sum())
    if not covered:
        return Share(size, 0, float("nan"), 0.0, 1.0 if size else 0.0)
    n = strata.answered[seen].astype(np.float64)
    weight = strata.size[seen] / covered
    mean = strata.total[seen] / n
    share = float(weight @ mean)
    # Of a cell judged whole nothing is left to chance.
    left = weight**2 * (1.0 - n / strata.size[seen])
    by_weight, spread = float((left / n).sum()), float((left * mean * (1.0 - mean) / np.maximum(n - 1.0, 1.0)).sum())
    variance = share * (1.0 - share)
    by_spread = spread / variance if variance > 0.0 else 0.0
    worst = max(by_weight, by_spread)
    effective = 1.0 / worst if worst > 0.0 else float("inf")
    return Share(size, int(n.sum()), share, effective, 1.0 - covered / size)


def defect_figures(strata: Strata, delta: float = DELTA, draws: int = DRAWS) -> dict[str, Figure]:
    """Precision and recall of the judgement, and prevalence of defects, over some cells.

    Parameters
    ----------
    strata : Strata
        What people said of "the interpretation is wrong".
    """
    shares = [pooled(strata.take(strata.decision == k)) for k in range(len(DECISIONS))]
    flagged, kept = shares[:2], shares[2:]
    return {
        "prevalence": weighted(shares, delta, draws),
        "precision": weighted(flagged, delta, draws),
        "recall": ratio(flagged, kept, delta, draws),
    }


def correction_precision(strata: Strata, delta: float = DELTA, draws: int = DRAWS) -> Figure:
    """Share of accepted corrections that are right.

    Parameters
    ----------
    strata : Strata
        What people said of "the correction is right"; only the cells of corrected turns count.
    """
    return weighted([pooled(strata.take(strata.decision == DECISIONS.index("corrected")))], delta, draws)
