"""Let's Go: real callers of a bus line, with the truth of every hypothesis.

Scored are the transcribed turns with a hypothesis, and only labels that a person gave or that follow from the
transcription; the reader leaves labels made from the caller's own confirmation out. Folds go by call.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.relabels import PRECISION, Truth, relabels
from bench.weak import aggregations, blind
from features.hashing import strings
from features.said import said
from features.signals import signals
from features.timeline import sort
from models.boost import FoldModel, fit_folds
from models.calibration import fit_beta
from models.defect import fit_defect
from models.design import Design, numbers
from models.folds import subject_folds
from models.metrics import ap, auc, clopper_pearson_low, ece, ece_floor
from models.options import TrainOptions
from models.training_table import TrainingTable, training_table
from models.verdicts import Judged, Verdicts, fit_verdicts
from models.weak import weak_labels
from models.words import fit_words
from pipeline.readers.dstc import DstcReader
from pipeline.transforms.check import check

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FOLDS: Final = 5
# Inside a training part: for calibration and thresholds. Another key than the outer folds'.
INNER_FOLDS: Final = 5
INNER_KEY: Final = "afterword/inner1"
# Calls with gold where few have it, and how often they are drawn.
CALLS: Final = 25
DRAWS: Final = 10
SEED: Final = 7


@dataclass(frozen=True)
class Work:
    """The calls as tables: what is scored, and the truth."""

    table: TrainingTable
    scored: Mask
    right: F64
    said: pa.Table

    @property
    def turn(self) -> I64:
        """Row of each candidate's turn."""
        return self.table.candidates.turn


def load(data: Path) -> Work | None:
    """Read the calls; None where the data is absent."""
    batches = []
    for path in sorted((data / "dstc1_letsgo").glob("*.jsonl.gz")):
        with gzip.open(path) as stream:
            batches += DstcReader().read(stream, path.name)
    if not batches:
        return None
    turns, _ = check(pa.concat_tables([b.turns for b in batches]), DstcReader.zone)
    gold = pa.concat_tables([b.gold for b in batches])
    transcribed = gold.filter(pa.compute.starts_with(gold["source"], "transcribed/"))
    ordered = sort(turns)
    rows = signals(ordered)
    table = own_candidates(training_table(rows, transcribed, FOLDS))
    return Work(table, ~np.isnan(table.wrong), np.nan_to_num(table.right), said(ordered, rows))


def own_candidates(table: TrainingTable) -> TrainingTable:
    """Without the candidates that come from rephrases: the transcription says nothing of them."""
    rows = np.flatnonzero(table.candidates.offset == 0)
    design = Design(table.candidate_rows.values[rows], table.candidate_rows.names)
    return replace(table, candidates=table.candidates.take(rows), candidate_rows=design, right=table.right[rows])


def figures(data: Path) -> dict[str, float]:
    """All figures of this work; empty where the data is absent."""
    work = load(data)
    if work is None:
        return {}
    out: dict[str, float] = {
        "calls": len(work.table.signals["subject_id"].unique()),
        "turns": len(work.scored),
        "turns_scored": int(work.scored.sum()),
    }
    return out | with_gold(work) | few_labels(work) | without_gold(work) | corrections(work)


def nested(
    design: Design, label: F64, weight: F64, table: TrainingTable, rows: I64, judged: Judged | None = None
) -> tuple[F64, list[F64]]:
    """Out-of-fold scores; and for each fold all rows' scores by models that were fitted on its training part alone.

    The second are what the product would give: boosters by inner fold, each row scored by the one that has not seen
    its subject, so that a threshold chosen on the training part's scores fits those of the part that is scored.

    Parameters
    ----------
    design : Design
        n rows.
    label, weight : numpy.ndarray, shape (n,)
    table : TrainingTable
    rows : numpy.ndarray of int64, shape (n,)
        Turn of each row.
    judged : Judged, optional
        Keys of rows that are candidates: verdicts on like ones are columns then.
    """
    fold = table.fold[rows]
    inner = subject_folds(table.signals["subject_id"], INNER_FOLDS, INNER_KEY)[rows]
    _, outer, _ = _fitted(design, label, weight, fold, FOLDS, judged)
    inside = []
    for k in range(FOLDS):
        part = np.flatnonzero(fold != k)
        few = Design(design.values[part], design.names)
        of_part = None if judged is None else judged.take(part)
        model, _, verdicts = _fitted(few, label[part], weight[part], inner[part], INNER_FOLDS, of_part)
        seen = design if judged is None or verdicts is None else design.beside(verdicts.columns(judged, inner))
        inside.append(model.predict(seen, inner))
    return outer, inside


def _fitted(
    design: Design, label: F64, weight: F64, fold: I64, folds: int, judged: Judged | None
) -> tuple[FoldModel, F64, Verdicts | None]:
    """Boosters, scores out of fold, and the verdicts that are columns of them."""
    if judged is None:
        return *fit_folds(design, label, weight, fold, folds, SEED), None
    verdicts = fit_verdicts(judged, label, weight > 0, fold, folds)
    stacked = verdicts.stacked(judged, fold, folds)
    return *fit_folds(design, label, weight, fold, folds, SEED, stacked=stacked), verdicts


def calibrated(outer: F64, inside: list[F64], label: F64, counted: Mask, fold: I64) -> F64:
    """Scores of each fold through a calibration that was fitted on the others."""
    out = np.zeros(len(outer))
    for k, scores in enumerate(inside):
        learn = counted & (fold != k)
        out[fold == k] = fit_beta(scores[learn], label[learn])(outer[fold == k])
    return out


def with_gold(work: Work) -> dict[str, float]:
    """The defect model trained on gold, against 1 - top score; beside it the same with `train.words`."""
    table, at = work.table, work.scored
    label = np.nan_to_num(table.wrong)
    outer, inside = nested(table.turns, label, at.astype(np.float64), table, np.arange(len(at)))
    p = calibrated(outer, inside, label, at, table.fold)
    worded = with_words(work, label)
    simple = 1.0 - np.nan_to_num(numbers(table.signals["top_score"])).astype(np.float64)
    return _ranking("defect.gold", label[at], p[at], simple[at]) | {
        "defect.gold.ece": ece(label[at], p[at]),
        "defect.gold.ece_floor": ece_floor(p[at]),
        "defect.gold.baseline.ece": ece(label[at], simple[at]),
        "defect.gold.words.auc": auc(label[at], worded[at]),
        "defect.gold.words.ap": ap(label[at], worded[at]),
        "defect.gold.words.ece": ece(label[at], worded[at]),
    }


def with_words(work: Work, label: F64) -> F64:
    """p(defect) of each turn by boosters that read words too; the calibration of each fold is of the others."""
    table, weight = work.table, work.scored.astype(np.float64)
    inner = subject_folds(table.signals["subject_id"], INNER_FOLDS, INNER_KEY)

    def scores(rows: I64, fold: I64, folds: int) -> F64:
        _, stacked = fit_words(work.said.take(pa.array(rows)), label[rows], weight[rows], fold, folds)
        few = Design(table.turns.values[rows], table.turns.names)
        return fit_folds(few, label[rows], weight[rows], fold, folds, SEED, stacked=stacked)[1]

    outer = scores(np.arange(len(label)), table.fold, FOLDS)
    out = np.zeros(len(label))
    for k in range(FOLDS):
        part = np.flatnonzero(table.fold != k)
        inside, learn = scores(part, inner[part], INNER_FOLDS), work.scored[part]
        out[table.fold == k] = fit_beta(inside[learn], label[part][learn])(outer[table.fold == k])
    return out


def few_labels(work: Work) -> dict[str, float]:
    """With the gold of 25 calls and labelling functions for the rest, as the product fits it.

    Scored are the turns of all other calls; mean and standard deviation over draws of the calls. Beside it the same
    boosters on the gold of the 25 calls alone.
    """
    table, at = work.table, work.scored
    truth, weak = np.nan_to_num(table.wrong), weak_labels(table.turns, table.fold, FOLDS, SEED)
    every, weight = np.ones(len(at), bool), TrainOptions().weak_weight
    calls = strings(table.signals["subject_id"])
    drawn = np.random.default_rng(SEED)
    found = []
    for _ in range(DRAWS):
        labelled = np.isin(calls, drawn.choice(np.unique(calls[at]), CALLS, replace=False))
        gold = np.where(labelled, table.wrong, np.nan)
        rest = at & ~labelled
        _, p = fit_defect(table.turns, gold, weak, every, table.fold, FOLDS, weight, SEED)
        alone = (at & labelled).astype(np.float64)
        _, simple = fit_folds(table.turns, truth, alone, table.fold, FOLDS, SEED)
        found.append([auc(truth[rest], p[rest]), ap(truth[rest], p[rest])])
        found[-1] += [auc(truth[rest], simple[rest]), ap(truth[rest], simple[rest])]
    names = ("auc", "ap", "baseline.auc", "baseline.ap")
    mean, std = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    return {f"defect.labels25.{n}": float(v) for n, v in zip(names, mean, strict=True)} | {
        f"defect.labels25.{n}.std": float(v) for n, v in zip(names[:2], std[:2], strict=True)
    }


def without_gold(work: Work) -> dict[str, float]:
    """The defect model trained on labelling functions alone, against the rule; the functions' vote beside it."""
    table, at = work.table, work.scored
    label = weak_labels(table.turns, table.fold, FOLDS, SEED)
    _, p = fit_folds(table.turns, label, np.ones(len(label)), table.fold, FOLDS, SEED)
    truth = np.nan_to_num(table.wrong)
    unread = blind(table.turns, label, table.fold, FOLDS, SEED)
    votes_alone = aggregations(table.turns, truth, at)
    return (
        _ranking("defect.nogold", truth[at], p[at], rule(table.turns)[at])
        | {f"defect.nogold.{key}": value for key, value in votes_alone.items()}
        | {"defect.nogold.blind.auc": auc(truth[at], unread[at]), "defect.nogold.blind.ap": ap(truth[at], unread[at])}
        | {"defect.nogold.labels.auc": auc(truth[at], label[at]), "defect.nogold.labels.ap": ap(truth[at], label[at])}
    )


def rule(design: Design) -> F64:
    """1 where the next turn negates, goes back or restarts, or the system repeats its question; else 0."""
    held = [design.select((n,)).values[:, 0] for n in ("negates_next", "goes_back_next", "restarts_next")]
    repeats = design.select(("system_repeat",)).values[:, 0] >= 0.8
    return np.asarray(np.any([h > 0 for h in held], axis=0) | repeats, dtype=np.float64)


def corrections(work: Work) -> dict[str, float]:
    """The correction model: turns right before and after taking its best candidate, and relabels at precision .90."""
    table, turn = work.table, work.turn
    truth = Truth(table.candidates, work.right, work.scored, table.fold)
    weight = work.scored[turn].astype(np.float64)
    outer, inside = nested(
        table.candidate_rows, work.right, weight, table, turn, Judged.of(table.signals, table.candidates)
    )
    mass = np.nan_to_num(table.candidates.evidence[:, table.candidates.names.index("mass")]).astype(np.float64)
    out = {
        "top_right.before": truth.right_share(table.candidates.is_top.astype(np.float64)),
        "top_right.after": truth.right_share(outer),
        "top_right.baseline.after": truth.right_share(mass),
        "top_right.oracle": truth.right_share(work.right),
    }
    learn = [work.scored[turn] & (table.fold[turn] != k) for k in range(FOLDS)]
    p = [fit_beta(scores[at], work.right[at])(scores) for scores, at in zip(inside, learn, strict=True)]
    out |= _relabels(truth, "relabels90", p)
    out |= _relabels(truth, "relabels90.nolead", p, by_lead=False)
    # The second-best score by itself can have no lead over the best one, so none is asked of it.
    return out | _relabels(truth, "relabels90.baseline", [mass] * FOLDS, by_lead=False)


def _relabels(truth: Truth, name: str, scores: list[F64], by_lead: bool = True) -> dict[str, float]:
    """Number of relabels, 0 if they fall short of the wished precision, and what they are."""
    found = relabels(truth, scores, by_lead)
    taken, right = len(found.turn), int(found.right.sum())
    return {
        name: float(taken if found.precision >= PRECISION else 0),
        f"{name}.made": float(taken),
        f"{name}.precision": found.precision,
        f"{name}.needless": float(found.needless.sum()),
        f"{name}.low95": clopper_pearson_low(right, taken) if taken else 0.0,
    }


def _ranking(name: str, truth: F64, score: F64, simple: F64) -> dict[str, float]:
    return {
        f"{name}.auc": auc(truth, score),
        f"{name}.ap": ap(truth, score),
        f"{name}.baseline.auc": auc(truth, simple),
        f"{name}.baseline.ap": ap(truth, simple),
    }
