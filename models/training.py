"""Fit both models on one table of signals, and set the thresholds they are used with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import hash64, strings
from features.interpretation import hex_id
from models.boost import at_once
from models.certify import Threshold, certify, estimate, estimate_each
from models.correction import DECIMALS, CorrectionModel, best_alternative, eligible, fit_correction
from models.defect import DefectModel, fit_defect
from models.design import CandidateTable, Design, candidate_design, candidate_table, turn_design
from models.folds import subject_folds
from models.prior import Prior, fit_prior
from models.reading import ReadingTask, turn_lessons
from models.weak import weak_labels

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
# Scores, labels, wished precision, fallback; to a threshold.
Estimator = Callable[[F64, F64, float, float], float]


@dataclass(frozen=True)
class TrainOptions:
    """Numbers that decide how the models are fitted.

    Attributes
    ----------
    folds : int
        Folds of subjects; each turn is judged by a booster that has not seen its subject.
    seed : int
        Seed of the boosters; the same seed and data give the same bytes.
    weak_weight : float
        Weight of a row labelled by functions where others have gold: ten say as much as three people.
    precision : float
        Wished precision of both decisions.
    margin : float
        Least lead (delta) of an accepted candidate over every other.
    certify_share : float
        Latest share of the gold turns, kept out of training to prove the thresholds on.
    weak_threshold, weak_tau : float
        Thresholds without gold: estimated, never certified.
    correction_rows : int
        At most so many candidates are learned from, all of a turn or none; a turn has several, and more of them cost
        time without telling more.
    reading : bool
        Whether the correction model also learns what words are usually taken to mean (`models.reading`). It tells much
        where n-best lists are of several systems or without scores; the model file then holds weights of hashed words.
    """

    folds: int = 5
    seed: int = 20210
    weak_weight: float = 0.3
    precision: float = 0.90
    margin: float = 0.2
    certify_share: float = 0.3
    weak_threshold: float = 0.5
    weak_tau: float = 0.6
    correction_rows: int = 30_000
    reading: bool = False


@dataclass(frozen=True)
class Models:
    """Everything that a judgement needs."""

    prior: Prior
    defect: DefectModel
    correction: CorrectionModel
    threshold: Threshold
    tau: Threshold
    options: TrainOptions
    report: dict[str, float | int | str | None]

    @cached_property
    def defect_id(self) -> str:
        """SHA-256 of all that a judgement follows from."""
        return _digest(self._of_defect)

    @cached_property
    def correction_id(self) -> str:
        """SHA-256 of all that a correction follows from, the defect model among it."""
        corrects = {"correction": self.correction.plain(), "tau": asdict(self.tau), "margin": self.options.margin}
        return _digest(self._of_defect | corrects)

    @property
    def _of_defect(self) -> dict[str, object]:
        return {"prior": self.prior.plain(), "defect": asdict(self.defect), "threshold": asdict(self.threshold)}


def _digest(value: object) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def canonical(value: object) -> bytes:
    """JSON with sorted keys and no spaces: equal values are equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass(frozen=True)
class TrainingTable:
    """Signals with their designs, folds and gold; shapes (n,) for turns, (m,) for candidates."""

    signals: pa.Table
    candidates: CandidateTable
    turns: Design
    candidate_rows: Design
    fold: I64
    prior: Prior
    early: Mask
    wrong: F64
    right: F64


def training_table(signals: pa.Table, gold: pa.Table, folds: int, certify_share: float = 0.0) -> TrainingTable:
    """Join gold to signals; NaN where there is none. Several sources' values for one key are averaged.

    The pooled prior reads the turns that may be trained on, so that what is certified later is later for it too.
    """
    fold = subject_folds(signals["subject_id"], folds)
    turn_ids = strings(signals["turn_id"])
    labels = gold.to_pandas()
    wrong = labels[labels["definition"] == "wrong_interpretation"].groupby("turn_id")["value"].mean()
    wrong_value = wrong.reindex(turn_ids).to_numpy(np.float64)
    early = earlier_rows(signals, wrong_value, certify_share)
    prior = fit_prior(signals.filter(pa.array(early)), fold[early], folds)
    candidates = candidate_table(signals, prior, fold)
    turns = turn_design(signals, candidates)
    right = labels[labels["definition"] == "right_interpretation"]
    by_candidate = (right["turn_id"] + "\x1f" + right["candidate_id"]).astype(object)
    right_value = right["value"].groupby(by_candidate).mean()
    keys = turn_ids[candidates.turn] + "\x1f" + np.array(hex_id(candidates.candidate_id), dtype=object)
    return TrainingTable(
        signals=signals,
        candidates=candidates,
        turns=turns,
        candidate_rows=candidate_design(signals, candidates, turns),
        fold=fold,
        prior=prior,
        early=early,
        wrong=wrong_value,
        right=_exclusive(candidates, right_value.reindex(keys).to_numpy(np.float64), signals.num_rows),
    )


def _exclusive(candidates: CandidateTable, right: F64, turns: int) -> F64:
    """Labels of candidates, with what follows for those of rephrases, which people were not asked about.

    Where one of the turn's own hypotheses is right, what a later turn was taken for means something else.
    """
    settled = np.zeros(turns, bool)
    settled[candidates.turn[right >= 0.5]] = True
    follows = np.isnan(right) & (candidates.offset > 0) & settled[candidates.turn]
    return np.where(follows, 0.0, right)


def train(
    signals: pa.Table,
    gold: pa.Table,
    options: TrainOptions | None = None,
    said: pa.Table | None = None,
    known: pa.Table | None = None,
) -> Models:
    """Fit the defect and the correction model, calibrate them, and choose and certify their thresholds.

    With gold, the latest `certify_share` of the gold turns, and every turn from then on, is left out of the fit;
    the thresholds are tested on it. Without gold nothing is left out and nothing is certified.

    Parameters
    ----------
    signals : pyarrow.Table
        Signals rows of whole sessions.
    gold : pyarrow.Table
        Gold rows; may be empty. Only `wrong_interpretation` and `right_interpretation` are read.
    options : TrainOptions, optional
    said : pyarrow.Table, optional
        `utterance` of the same turns in the same order; wanted with `options.reading`, else not read.
    known : pyarrow.Table, optional
        Rows of the present NLU model's training set, `utterance` and `interpretations` as in Turn, that readings are
        learned from too.

    Raises
    ------
    models.boost.TrainingError
        If the rows cannot give a model (one class only, bad labels).
    ValueError
        If `options.reading` is set and there are no utterances.
    """
    options = options or TrainOptions()
    if options.reading and said is None:
        raise ValueError("train.reading wants the utterances of the turns")
    table = training_table(signals, gold, options.folds, options.certify_share)
    early = table.early
    weak = _weak(table, early, options)
    turn = table.candidates.turn
    learned = (early & _few(table, options.correction_rows))[turn]
    (defect, p_defect), (correction, p_correct) = at_once(
        lambda: fit_defect(
            table.turns, table.wrong, weak, early, table.fold, options.folds, options.weak_weight, options.seed
        ),
        lambda: fit_correction(
            table.candidate_rows,
            table.candidates,
            table.right,
            weak,
            learned,
            table.fold[turn],
            options.folds,
            options.weak_weight,
            options.seed,
            _reading_task(table, weak, said, known, options),
        ),
    )
    p_defect = np.round(p_defect, DECIMALS)
    threshold = _defect_threshold(table, p_defect, options)
    tau = _correction_threshold(table, p_defect >= threshold.value, np.round(p_correct, DECIMALS), options)
    return Models(table.prior, defect, correction, threshold, tau, options, _report(table, early))


def _reading_task(
    table: TrainingTable, weak: F64, said: pa.Table | None, known: pa.Table | None, options: TrainOptions
) -> ReadingTask | None:
    if said is None or not options.reading:
        return None
    lessons = turn_lessons(table.candidates, table.right, weak, table.early, options.weak_weight)
    return ReadingTask.of(table.signals, said["utterance"], table.candidates, lessons, table.fold, known)


def _few(table: TrainingTable, rows: int) -> Mask:
    """Turns of lowest hash whose candidates are at most so many together, shape (n,)."""
    counts = np.bincount(table.candidates.turn, minlength=table.signals.num_rows)
    order = np.argsort(hash64(strings(table.signals["turn_id"]), "afterword/learn1"), kind="stable")
    out = np.zeros(len(counts), bool)
    out[order] = np.cumsum(counts[order]) <= rows
    return out


def _weak(table: TrainingTable, early: Mask, options: TrainOptions) -> F64:
    """p(defect) without gold, where any turn or candidate lacks it."""
    if not (np.isnan(table.wrong).any() or np.isnan(table.right).any()):
        return np.full(len(early), 0.5)
    return weak_labels(table.turns, table.fold, options.folds, options.seed, early)


def earlier_rows(signals: pa.Table, wrong: F64, certify_share: float) -> Mask:
    """Turns that may be trained on: those of sessions that start before the latest share of the gold turns.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows.
    wrong : numpy.ndarray, shape (n,)
        Gold of turns; NaN where there is none. Without any, every turn may be trained on.
    certify_share : float
        Share of the gold turns, the latest, to keep out.
    """
    known = ~np.isnan(wrong)
    if not known.any() or certify_share <= 0:
        return np.ones(len(known), bool)
    sessions = signals["session_id"].to_pandas()
    start = signals["event_time"].to_pandas().groupby(sessions.to_numpy()).transform("min")
    cut = start[known].quantile(1.0 - certify_share, interpolation="lower")
    early = np.asarray(start < cut, dtype=bool)
    return early if (early & known).any() else np.ones(len(known), bool)


def _certified(
    score: F64, truth: F64, rows: Mask, table: TrainingTable, options: TrainOptions, fallback: float, by: Estimator
) -> Threshold:
    """Estimate on earlier gold, then prove on later gold."""
    early = table.early
    known = rows & ~np.isnan(truth)
    at = early & known
    estimated = by(score[at], truth[at], options.precision, fallback)
    later = np.flatnonzero(~early & known)
    subjects, turn_ids = strings(table.signals["subject_id"]), strings(table.signals["turn_id"])
    return certify(score[later], truth[later] >= 0.5, subjects[later], turn_ids[later], options.precision, estimated)


def _defect_threshold(table: TrainingTable, p_defect: F64, options: TrainOptions) -> Threshold:
    everywhere = np.ones(len(table.early), bool)
    return _certified(p_defect, table.wrong, everywhere, table, options, options.weak_threshold, estimate)


def _correction_threshold(table: TrainingTable, is_defect: Mask, p_correct: F64, options: TrainOptions) -> Threshold:
    """Tau over the alternatives that would be accepted at it."""
    choice = best_alternative(table.candidates, p_correct, len(table.early))
    rows = eligible(table.candidates, choice, is_defect, options.margin)
    # The last entry stands for turns without an alternative, whose row is -1.
    truth = np.append(table.right, np.nan)[choice.row]
    return _certified(choice.probability, truth, rows, table, options, options.weak_tau, estimate_each)


def _report(table: TrainingTable, early: Mask) -> dict[str, float | int | str | None]:
    known = ~np.isnan(table.wrong)
    return {
        "turns": len(early),
        "turns_fitted": int(early.sum()),
        "gold_turns": int(known.sum()),
        "gold_turns_fitted": int((known & early).sum()),
        "candidates": len(table.candidates.turn),
        "labels": "gold" if known.all() else ("gold and functions" if known.any() else "labelling functions"),
    }
