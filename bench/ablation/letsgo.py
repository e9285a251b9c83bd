"""The bus line's callers: the defect model from truth and from labelling functions alone, and the correction model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from bench import letsgo
from bench.ablation.groups import groups_in, without
from bench.ablation.study import Study, of_design, ranking
from bench.relabels import Truth
from models.boost import fit_folds
from models.design import Design
from models.training_table import TrainingTable
from models.verdicts import Judged, fit_verdicts
from models.weak import weak_labels

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

VERDICTS: Final = "verdicts"


def studies(data: Path) -> Iterator[Study]:
    """Nothing where the calls are absent."""
    work = letsgo.load(data)
    if work is None:
        return
    yield from defects("letsgo", work.table, np.nan_to_num(work.table.wrong), work.scored)
    yield corrections("letsgo", work.table, work.right, work.scored)


def defects(name: str, table: TrainingTable, wrong: F64, scored: Mask) -> Iterator[Study]:
    """The defect model of a log of n turns, whose truth is `wrong` where `scored`; folds by user."""
    fold, folds = table.fold, int(table.fold.max()) + 1

    def gold(design: Design, seed: int) -> F64:
        return fit_folds(design, wrong, scored.astype(np.float64), fold, folds, seed)[1]

    def no_gold(design: Design, seed: int) -> F64:
        label = weak_labels(design, fold, folds, seed)
        return fit_folds(design, label, np.ones(len(label)), fold, folds, seed)[1]

    yield of_design(f"{name}.gold", table.turns, gold, wrong, scored)
    yield of_design(f"{name}.nogold", table.turns, no_gold, wrong, scored)


def corrections(name: str, table: TrainingTable, right: F64, scored: Mask) -> Study:
    """The correction model of the same log, from truth.

    `right` is that of all m candidates. `top` = share of turns whose likeliest candidate is right; AUC and AP are of
    the candidates.
    """
    design, turn, folds = table.candidate_rows, table.candidates.turn, int(table.fold.max()) + 1
    at, fold = scored[turn], table.fold[turn]
    weight = at.astype(np.float64)
    judged = Judged.of(table.signals, table.candidates)
    columns = fit_verdicts(judged, right, at, fold, folds).stacked(judged, fold, folds)
    truth = Truth(table.candidates, right, scored, table.fold)

    def figures(group: str | None, seed: int) -> dict[str, float]:
        stacked = () if group == VERDICTS else columns
        score = fit_folds(without(design, group), right, weight, fold, folds, seed, stacked=stacked)[1]
        return {"top": truth.right_share(score), **ranking(right[at], score[at])}

    return Study(f"{name}.correction", (*groups_in(design), VERDICTS), figures)
