"""Dialogs that people rated turn by turn, USS and DBDC3: signals, and a model over words with `train.words`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench import dbdc3, uss
from bench.ablation.groups import EVERY, groups_in, without
from bench.ablation.study import Study
from models.boost import fit_folds
from models.design import Design, turn_design
from models.metrics import ap, auc
from models.words import fit_words

F64 = npt.NDArray[np.float64]

# Texts that the model over words reads. Signals are made of the same texts; they stay when a text goes.
TEXTS: Final = {
    "text of request": ("utterance",),
    "text of answer": ("answer",),
    "text of reaction": ("reaction",),
    "all text": ("utterance", "answer", "reaction"),
}


def groups_of(design: Design, said: pa.Table) -> tuple[str, ...]:
    """Groups of signals that tell anything, all signals, and the texts that are there."""
    texts = [group for group, held in TEXTS.items() if any(said[f].null_count < len(said) for f in held)]
    return (*groups_in(design), EVERY, *texts)


def said_without(said: pa.Table, group: str | None) -> pa.Table:
    """The Said rows with a group's texts null; with None, or a group of signals, as they are."""
    for name in TEXTS.get(group or "", ()):
        at = said.schema.get_field_index(name)
        said = said.set_column(at, said.schema.field(at), pa.nulls(len(said), said.schema.field(at).type))
    return said


def of_uss(data: Path) -> Iterator[Study]:
    """The defect model of each set; all are trained together. AUC and AP are means over the folds, as in its bench."""
    work = uss.load(data)
    if work is None:
        return
    fold, truth = work.fold(), (work.low > 0.5).astype(np.float64)
    design, one = turn_design(work.judged.signals), np.ones(len(truth))

    @cache
    def words(text: str | None) -> list[Design]:
        return fit_words(said_without(work.judged.said, text), work.low, one, fold, uss.FOLDS)[1]

    @cache
    def scores(group: str | None, seed: int) -> F64:
        stacked = words(group if group in TEXTS else None)
        return fit_folds(without(design, group), work.low, one, fold, uss.FOLDS, seed, stacked=stacked)[1]

    def figures(name: str, group: str | None, seed: int) -> dict[str, float]:
        p = scores(group, seed)
        return {
            key: uss.over_folds(key, work, name, lambda at, metric=metric: metric(truth[at], p[at]))[key]
            for key, metric in (("auc", auc), ("ap", ap))
        }

    groups = groups_of(design, work.judged.said)
    for name in np.unique(work.set).tolist():
        yield Study(f"uss.{name}", groups, partial(figures, name))


def of_dbdc3(data: Path) -> Iterator[Study]:
    """Distributions of breakdown, judged before the reaction and with it: divergence (lower is better) and AUC."""
    for name, with_reaction in (("dbdc3", False), ("dbdc3.with_reaction", True)):
        known, asked = (dbdc3.load(data, part, with_reaction) for part in ("dev", "eval"))
        if known is not None and asked is not None:
            yield _breakdowns(name, known, asked)


def _breakdowns(name: str, known: dbdc3.Work, asked: dbdc3.Work) -> Study:
    said, label, fold = known.judged.said, known.label, known.fold
    learned, scored = known.design, asked.design

    @cache
    def words(text: str | None) -> list[dbdc3.Words]:
        return dbdc3.fit_words_of_labels(said_without(said, text), label, fold)

    def figures(group: str | None, seed: int) -> dict[str, float]:
        told = words(group if group in TEXTS else None)
        model = dbdc3.fit_boosters(without(learned, group), told, label, fold, seed)
        guess = model.predict(without(scored, group), said_without(asked.judged.said, group))
        return {"jsd": dbdc3.divergence(guess, asked.shares), "auc": dbdc3.breakdown_auc(asked, guess[:, 2])}

    return Study(name, groups_of(learned, said), figures)
