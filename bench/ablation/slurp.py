"""Spoken requests to a home assistant: the correction model over the systems' intents."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np

from bench import slurp
from bench.ablation.groups import groups_in, without
from bench.ablation.study import Study, ranking
from models.boost import fit_folds
from models.design import Design

# What the words are usually taken to mean, and that part of it which the NLU model's own training set teaches.
READING: Final = "reading"
KNOWN: Final = "NLU training set"


def studies(data: Path) -> Iterator[Study]:
    """Nothing where the recordings are absent.

    `top` = share of turns whose likeliest candidate is right; AUC and AP are of the candidates.
    """
    work = slurp.load(data)
    if work is None:
        return
    truth, design, fold = work.truth, work.table.candidate_rows, work.table.fold[work.table.candidates.turn]
    every = np.ones(len(fold), bool)

    @cache
    def reading(known: bool) -> list[Design]:
        task = slurp.reading_task(work, work.known if known else None)
        readers = task.fit(combinations(range(slurp.FOLDS), 2))
        return task.stacked(readers, fold, range(slurp.FOLDS), every)

    def figures(group: str | None, seed: int) -> dict[str, float]:
        stacked = [] if group == READING else reading(group != KNOWN)
        weight = every.astype(np.float64)
        fitted = fit_folds(without(design, group), truth.right, weight, fold, slurp.FOLDS, seed, stacked=stacked)
        return {"top": truth.right_share(fitted[1]), **ranking(truth.right, fitted[1])}

    yield Study("slurp", (*groups_in(design), READING, KNOWN), figures)
