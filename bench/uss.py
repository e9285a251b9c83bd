"""USS: how satisfied users of four task dialog sets seem, turn by turn, to three to seven raters (Sun et al. 2021).

A rating of user utterance k is held against what is known once it is said: the answer before it, the dialog so far,
and the utterance itself, which is the reaction. The utterance after it is not seen. Where the user speaks first the
judged turn is an opening turn without words. The sets' dialog acts are not read: a log has none. All four sets are
trained on together, as one log of several domains; a dialog's turns are judged by models that have not seen it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from sklearn.metrics import f1_score

from bench.dialogs import Dialogs, Judged, judged_turns, lines
from models.boost import fit_folds
from models.defect import fit_defect
from models.design import Design, turn_design
from models.folds import subject_folds
from models.metrics import auc
from models.words import fit_words

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

SETS: Final = ("mwoz", "sgd", "redial", "ccpe")
FOLDS: Final = 10
# Where a whole set is left out, nothing of it is learned in any fold; fewer folds take less time.
LEFT_OUT_FOLDS: Final = 3
SEED: Final = 7
# The middle of the raters' scale of five.
MIDDLE: Final = 3
# A user who negates, corrects, goes back, starts over or gives up: the simple rule.
_RULE: Final = ("negates_next", "corrects_next", "goes_back_next", "restarts_next", "gives_up_next")


@dataclass(frozen=True)
class Work:
    """Judged turns of the sets that are there, with their ratings.

    Attributes
    ----------
    judged : Judged
        n rows.
    set : numpy.ndarray of str, shape (n,)
    low, high, mean : numpy.ndarray, shape (n,)
        Shares of raters below and above the middle, and their mean score.
    """

    judged: Judged
    set: npt.NDArray[np.str_]
    low: F64
    high: F64
    mean: F64

    def fold(self, folds: int = FOLDS) -> I64:
        """By dialog."""
        return subject_folds(self.judged.subject, folds)


def load(data: Path, sets: tuple[str, ...] = SETS) -> Work | None:
    """Read the sets; None where there is none."""
    dialogs, judged, ratings, names = Dialogs(), [], [], []
    for name in sets:
        for held in lines(data / "uss", f"{name}.jsonl.gz"):
            turns = held["turns"]
            rows = dialogs.add(held["dialog_id"], [(t["role"] == "USER", t["text"] or "") for t in turns])
            rated = [(row, t["satisfaction"]) for row, t in zip(rows, turns, strict=True) if t["satisfaction"]]
            judged += [row - 1 for row, _ in rated]
            ratings += [np.array(scores, np.float64) for _, scores in rated]
            names += [name] * len(rated)
    if not judged:
        return None
    low, high, mean = (
        np.array([float(figure(r)) for r in ratings])
        for figure in (lambda r: (r < MIDDLE).mean(), lambda r: (r > MIDDLE).mean(), np.mean)
    )
    return Work(judged_turns(dialogs, np.array(judged), with_reaction=True), np.array(names), low, high, mean)


def figures(data: Path) -> dict[str, float]:
    """All figures of this work; empty where the data is absent."""
    work = load(data)
    if work is None:
        return {}
    design = turn_design(work.judged.signals)
    out: dict[str, float] = {f"{name}.turns": int((work.set == name).sum()) for name in np.unique(work.set)}
    return out | dissatisfied(work, design) | three(work, design) | left_out(work, design)


def dissatisfied(work: Work, design: Design) -> dict[str, float]:
    """AUC of "most raters are below the middle": the defect model with and without words, and the rule."""
    every = np.ones(len(work.low), bool)
    scores = {
        "auc": defect_scores(work, design, every, with_words=True),
        "nowords.auc": defect_scores(work, design, every, with_words=False),
        "baseline.auc": rule(design),
    }
    out: dict[str, float] = {}
    for metric, score in scores.items():
        for name in np.unique(work.set):
            out |= over_folds(f"{name}.dissatisfied.{metric}", work, name, lambda at, s=score: _auc(work, s, at))
    return out


def defect_scores(work: Work, design: Design, fit_rows: Mask, with_words: bool, folds: int = FOLDS) -> F64:
    """p(defect) of every turn, trained on the shares of raters of `fit_rows`, never of the turn's own dialog."""
    said = work.judged.said if with_words else None
    return fit_defect(design, work.low, work.low, fit_rows, work.fold(folds), folds, 1.0, SEED, said)[1]


def rule(design: Design) -> F64:
    """How many of the simple signs of trouble the reaction has."""
    return np.nan_to_num(design.select(_RULE).values).sum(axis=1).astype(np.float64)


def _auc(work: Work, score: F64, at: Mask) -> float:
    return auc((work.low[at] > 0.5).astype(np.float64), score[at])


def three(work: Work, design: Design) -> dict[str, float]:
    """Mean rating below, at or above the middle: accuracy and macro F1; always the commonest class beside it."""
    truth = np.sign(work.mean - MIDDLE)
    below, above = (truth < 0).astype(np.float64), (truth > 0).astype(np.float64)
    said, fold, one = work.judged.said, work.fold(), np.ones(len(truth))
    # Words learn both ends from the shares of raters; the boosters learn the classes themselves.
    ends = [fit_words(said, share, one, fold, FOLDS)[1] for share in (work.low, work.high)]
    stacked = [
        Design(
            np.hstack([low.values, high.values]),
            tuple(f"{end}.{n}" for end in ("low", "high") for n in low.names),
        )
        for low, high in zip(*ends, strict=True)
    ]
    p = [fit_folds(design, end, one, fold, FOLDS, SEED, stacked=stacked)[1] for end in (below, above)]
    said_class = likeliest(*p)
    common = np.zeros(len(truth))
    for name in np.unique(work.set):
        values, counts = np.unique(truth[work.set == name], return_counts=True)
        common[work.set == name] = values[counts.argmax()]
    out: dict[str, float] = {}
    for prefix, guess in (("", said_class), ("baseline.", common)):
        for name in np.unique(work.set):
            out |= over_folds(f"{name}.three.{prefix}acc", work, name, lambda at, g=guess: _share(truth, g, at))
            out |= over_folds(f"{name}.three.{prefix}f1", work, name, lambda at, g=guess: _f1(truth, g, at))
    return out


def likeliest(below: F64, above: F64) -> F64:
    """The class (-1, 0 or 1) of highest probability, given those of the two ends."""
    return np.asarray(np.argmax([below, 1.0 - below - above, above], axis=0) - 1.0, dtype=np.float64)


def _share(truth: F64, guess: F64, at: Mask) -> float:
    return float((truth == guess)[at].mean())


def _f1(truth: F64, guess: F64, at: Mask) -> float:
    return float(f1_score(truth[at], guess[at], average="macro", labels=[-1.0, 0.0, 1.0], zero_division=0.0))


def left_out(work: Work, design: Design) -> dict[str, float]:
    """AUC on each set by models trained on the others: what words carry over to dialogs of another kind."""
    out: dict[str, float] = {}
    for name in np.unique(work.set):
        at = work.set == name
        if at.all():
            continue
        for with_words, metric in ((True, "auc"), (False, "nowords.auc")):
            out[f"lodo.{name}.{metric}"] = _auc(work, defect_scores(work, design, ~at, with_words, LEFT_OUT_FOLDS), at)
    return out


def over_folds(key: str, work: Work, name: str, figure: Callable[[Mask], float]) -> dict[str, float]:
    """Mean and standard deviation over the folds of a figure of one set, given the rows to take it of."""
    at, fold = work.set == name, work.fold()
    each = [figure(at & (fold == k)) for k in range(FOLDS) if (at & (fold == k)).any()]
    return {key: float(np.nanmean(each)), f"{key}.std": float(np.nanstd(each))}
