"""Defect correction: p(candidate is what the user meant), one candidate at a time (Park et al. 2021)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from models.boost import FoldModel, fit_folds
from models.calibration import BetaCalibration, fit_beta
from models.design import EVIDENCE, CandidateTable, Design
from models.labelling import with_gold
from models.reading import ReadingModel, ReadingTask, fit_reading
from models.verdicts import Judged, Verdicts, fit_verdicts

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Evidence for a meaning that is not in the list, beside one later turn that repeats a candidate and satisfied.
_NONE_EVIDENCE: Final = 0.25
# What the chain proposes is never sure: what its users meant is not known either.
_MOST_SHARE: Final = 0.9
# More repeats of one reading are one wish said over and over.
_MOST_REPEATS: Final = 2.0


@dataclass(frozen=True)
class CorrectionModel:
    """Boosters by fold of subject over candidates and their calibration; readings of words where they are used, and
    verdicts on like candidates where people gave any.

    Without boosters nothing is ever right.
    """

    folds: FoldModel
    calibration: BetaCalibration
    reading: ReadingModel | None = None
    verdicts: Verdicts | None = None

    def predict(self, design: Design, fold: I64) -> F64:
        """p(correct) of each candidate; `fold` is its turn's, shape (m,).

        A model with readings, with verdicts, wants their columns in this order after those of `candidate_design`.
        """
        return self.calibration(self.folds.predict(design, fold))

    def plain(self) -> dict[str, Any]:
        """The model as plain data, for a JSON file."""
        reading = None if self.reading is None else self.reading.plain()
        verdicts = None if self.verdicts is None else self.verdicts.plain()
        calibration = asdict(self.calibration)
        return {"folds": asdict(self.folds), "calibration": calibration, "reading": reading, "verdicts": verdicts}


def weak_candidate_labels(table: CandidateTable, defect: F64) -> F64:
    """Soft truth of candidates from p(defect): the best one is right with 1 - p, the others share p.

    They share it by how many later turns repeat them, an affirmed confirmation counting twice, beside a constant for a
    meaning that is not in the list. A repeat counts as far as the first turn that gives it satisfied, (1 - p)^2: the
    interpretation of a rephrase that failed as well is no repair (Park et al. 2021 take rephrases that satisfied).
    What the reformulation chain proposes left no trace in its session; it stands beside the others by its share.

    Parameters
    ----------
    table : CandidateTable
        m candidates of n turns.
    defect : numpy.ndarray, shape (n,)
    """
    supported = table.support >= 0
    satisfied = np.zeros(len(table.turn))
    satisfied[supported] = (1.0 - defect[table.support[supported]]) ** 2
    repeats = np.nan_to_num(table.evidence[:, EVIDENCE.index("later_top")])
    affirmed = np.nan_to_num(table.evidence[:, EVIDENCE.index("affirmed_after")])
    later = np.minimum(repeats, _MOST_REPEATS) * satisfied + 2.0 * affirmed
    later = np.where(table.is_top, 0.0, later)
    if table.share is not None:
        # Beside nothing else, what the chain proposes has its own share.
        share = np.minimum(table.share, _MOST_SHARE)
        later = later + _NONE_EVIDENCE * share / (1.0 - share)
    total = np.bincount(table.turn, weights=later, minlength=len(defect)) + _NONE_EVIDENCE
    shared = defect[table.turn] * later / total[table.turn]
    return np.where(table.is_top, 1.0 - defect[table.turn], shared)


def fit_correction(
    design: Design,
    table: CandidateTable,
    gold: F64,
    weak: F64,
    fit_rows: Mask,
    fold: I64,
    folds: int,
    weak_weight: float,
    seed: int,
    task: ReadingTask | None = None,
    judged: Judged | None = None,
) -> tuple[CorrectionModel, F64]:
    """Fit the correction model.

    Parameters
    ----------
    design : Design
        m candidates.
    table : CandidateTable
        The same candidates.
    gold : numpy.ndarray, shape (m,)
        Share of raters who say the candidate is right; NaN = no gold.
    weak : numpy.ndarray, shape (m,)
        p(right) of each candidate, for those without gold.
    fit_rows : numpy.ndarray of bool, shape (m,)
        Candidates that may be trained on.
    fold : numpy.ndarray of int64, shape (m,)
        Fold of each candidate's subject.
    folds : int
    weak_weight : float
    seed : int
    task : ReadingTask, optional
        Words and lessons of the same candidates: what the words usually mean then is evidence too.
    judged : Judged, optional
        Keys of the same candidates: what people said of like ones then is evidence too.

    Returns
    -------
    model : CorrectionModel
    probability : numpy.ndarray, shape (m,)
        Calibrated, from boosters that have not seen the subject.
    """
    if not (fit_rows & ~table.is_top).any():
        # Logs without an n-best have no candidate to choose: nothing is corrected, but turns are still judged.
        nothing = CorrectionModel(FoldModel((), design.names), BetaCalibration())
        return nothing, nothing.predict(design, fold)
    known = fit_rows & ~np.isnan(gold)
    label, weight = with_gold(weak, gold, weak_weight)
    weight = np.where(fit_rows, weight, 0.0)
    reading, stacked = (None, []) if task is None else fit_reading(task, fold, folds, fit_rows)
    verdicts = None
    if judged is not None and known.any():
        verdicts = fit_verdicts(judged, gold, known, fold, folds)
        said = verdicts.stacked(judged, fold, folds)
        stacked = [own.beside(more) for own, more in zip(stacked, said, strict=True)] if stacked else said
    model, score = fit_folds(design, label, weight, fold, folds, seed, stacked=stacked)
    by = known if known.any() else fit_rows
    calibration = fit_beta(score[by], label[by], weight[by])
    return CorrectionModel(model, calibration, reading, verdicts), calibration(score)


# Probabilities are rounded before anything is decided by them: their last bits must not decide.
DECIMALS: Final = 6


def rounded(probability: F64) -> F64:
    """Probabilities as they are decided by and written. None is 1, so that a threshold of 1 takes nothing."""
    return np.minimum(np.round(probability, DECIMALS), 1.0 - 10.0**-DECIMALS)


@dataclass(frozen=True)
class Choice:
    """The best alternative to each turn's top candidate.

    Attributes
    ----------
    row : numpy.ndarray of int64, shape (n,)
        Its row in the candidate table; -1 where the turn has no alternative.
    probability : numpy.ndarray, shape (n,)
        Its p(correct); 0 where there is none.
    margin : numpy.ndarray, shape (n,)
        Its lead: less the highest p(correct) of any other candidate of the turn, the top one among them; 0 where there
        is none. Rounded, as corrections are accepted by it.
    """

    row: I64
    probability: F64
    margin: F64


def highest_other(table: CandidateTable, p_correct: F64) -> F64:
    """For each candidate the highest p(correct) among the turn's other candidates; 0 where there is none."""
    order = np.lexsort((-p_correct, table.turn))
    turn = table.turn[order]
    first = np.ones(len(order), bool)
    first[1:] = turn[1:] != turn[:-1]
    turns = int(table.turn.max(initial=-1)) + 1
    best, second = np.zeros(turns), np.zeros(turns)
    best_row = np.full(turns, -1, np.int64)
    best[turn[first]], best_row[turn[first]] = p_correct[order[first]], order[first]
    rest = order[~first]
    np.maximum.at(second, table.turn[rest], p_correct[rest])
    is_best = best_row[table.turn] == np.arange(len(p_correct))
    return np.where(is_best, second[table.turn], best[table.turn])


def best_alternative(table: CandidateTable, probability: F64, turns: int) -> Choice:
    """Pick each turn's most probable candidate other than the top one; n-best order breaks ties."""
    best, margin = np.zeros(turns), np.zeros(turns)
    row = np.full(turns, -1, np.int64)
    order = np.lexsort((table.entry, -probability, table.turn))
    order = order[~table.is_top[order]]
    turn = table.turn[order]
    first = np.ones(len(order), bool)
    first[1:] = turn[1:] != turn[:-1]
    row[turn[first]], best[turn[first]] = order[first], probability[order[first]]
    margin[turn[first]] = np.round(probability - highest_other(table, probability), DECIMALS)[order[first]]
    return Choice(row, best, margin)


def eligible(table: CandidateTable, choice: Choice, is_defect: Mask, least_correct: float) -> Mask:
    """Turns whose best alternative is accepted if its lead reaches tau, shape (n,).

    The turn is defective, the alternative is likelier than every other candidate and has the least p(correct) asked
    for, and the later turns that support it, the first and the one it was taken from, where there are any, are not
    defective themselves. Tau is a lead and no p(correct): several readings of a turn may be right, and to replace one
    right reading by another corrects nothing. A lead over readings that are all unlikely says little, though.
    """
    passed = is_defect & (choice.margin > 0) & (choice.probability >= least_correct)
    rows = np.flatnonzero(passed)
    for later in (table.support, table.origin):
        at = later[choice.row[rows]]
        passed[rows] &= ~((at >= 0) & is_defect[at])
    return passed
