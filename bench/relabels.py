"""What taking the likeliest candidate changes: turns right before and after, and relabels at a wished precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from models.certify import estimate_each
from models.correction import best_alternative
from models.design import CandidateTable
from models.training import TrainOptions

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PRECISION: Final = 0.90
LEAST_CORRECT: Final = TrainOptions().least_correct
# No cut passes: nothing is relabelled.
NEVER: Final = 2.0


@dataclass(frozen=True)
class Truth:
    """Candidates with the truth of each.

    Attributes
    ----------
    candidates : CandidateTable
        m candidates of n turns.
    right : numpy.ndarray, shape (m,)
        0 or 1.
    scored : numpy.ndarray of bool, shape (n,)
        Turns that count.
    fold : numpy.ndarray of int64, shape (n,)
    """

    candidates: CandidateTable
    right: F64
    scored: Mask
    fold: I64

    def chosen_right(self, score: F64) -> F64:
        """1 where a turn's candidate of highest score is right, else 0, shape (n,); n-best order breaks ties."""
        table = self.candidates
        order = np.lexsort((table.entry, -score, table.turn))
        turn = table.turn[order]
        first = order[np.append(True, turn[1:] != turn[:-1])]
        picked = np.zeros(len(self.scored))
        picked[table.turn[first]] = self.right[first]
        return picked

    def right_share(self, score: F64) -> float:
        """Share of scored turns whose candidate of highest score is right."""
        return float(self.chosen_right(score)[self.scored].mean())


@dataclass(frozen=True)
class Relabels:
    """Turns with an accepted candidate other than the top one.

    Attributes
    ----------
    turn, row : numpy.ndarray of int64, shape (taken,)
        The turns, and the rows of their candidates.
    right, needless : numpy.ndarray of bool, shape (taken,)
        The candidate is right; the top one was.
    """

    turn: I64
    row: I64
    right: Mask
    needless: Mask

    @property
    def precision(self) -> float:
        """0 where nothing was taken."""
        return float(self.right.mean()) if len(self.right) else 0.0


def relabels(truth: Truth, scores: list[F64], by_lead: bool = True) -> Relabels:
    """Relabels at the threshold that each fold's training part chose for the wished precision.

    As in the product the lead of a turn's best alternative decides, if its p(correct) is at least
    `train.least_correct`; see `models.correction.eligible`.

    Parameters
    ----------
    truth : Truth
    scores : list of numpy.ndarray, shape (m,)
        For each fold p(right) of all candidates by what its training part alone taught; rows of that part by models
        that have not seen their subject.
    by_lead : bool
        Else its score alone decides, for comparison, even where the top candidate's is higher.
    """
    table, fold = truth.candidates, truth.fold
    top_right = np.zeros(len(truth.scored), bool)
    top_right[table.turn[table.is_top]] = truth.right[table.is_top] > 0
    turns, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for k, score in enumerate(scores):
        chosen = best_alternative(table, score, len(truth.scored))
        decides = chosen.margin if by_lead else chosen.probability
        likely = chosen.probability >= LEAST_CORRECT
        may = truth.scored & (chosen.row >= 0) & ((chosen.margin > 0) | (not by_lead))
        known = may & (fold != k)
        cut = estimate_each(decides[known], truth.right[chosen.row[known]], PRECISION, NEVER)
        accepted = np.flatnonzero(may & (fold == k) & (likely | (not by_lead)) & (decides >= cut))
        turns.append(accepted)
        rows.append(chosen.row[accepted])
    turn, row = np.concatenate(turns), np.concatenate(rows)
    return Relabels(turn, row, truth.right[row] > 0, top_right[turn])
