"""Fit both models on one table of signals, and set the thresholds they are used with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, strings
from models.boost import TrainingError, at_once
from models.certify import estimate, estimate_each
from models.chain import Chain
from models.correction import best_alternative, eligible, fit_correction, rounded, weak_candidate_labels
from models.defect import fit_defect
from models.fitted import Models
from models.lessons import turn_lessons
from models.options import TrainOptions
from models.reading import ReadingTask
from models.report import report
from models.thresholds import Scored, Thresholds, fit_thresholds
from models.training_table import TrainingTable, training_table
from models.verdicts import Judged
from models.weak import weak_labels
from models.wishes import weak_defects, weak_rights
from schemas.judgement import NO_DOMAIN

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def train(
    signals: pa.Table,
    gold: pa.Table,
    options: TrainOptions | None = None,
    chain: Chain | None = None,
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
    chain : Chain, optional
        Reformulations of all users, counted before `certified_from`; goes with the models.
    said : pyarrow.Table, optional
        Said rows of the same turns in the same order; wanted with `options.reads_words`, else not read.
    known : pyarrow.Table, optional
        Rows of the present NLU model's training set, `utterance` and `interpretations` as in Turn, that readings are
        learned from too.

    Raises
    ------
    models.boost.TrainingError
        If the rows cannot give a model (one class only, gold that is no share, no gold though it alone was asked for).
    ValueError
        If the words of the turns are wanted and there are no Said rows.
    """
    options = options or TrainOptions()
    if options.reads_words and said is None:
        asking = "train.words" if options.words else "train.reading" if options.reading else "train.weak_from = words"
        raise ValueError(f"{asking} wants the Said rows of the turns (features.said.said)")
    table = training_table(signals, gold, options.folds, options.certify_share, options.weak_from, chain, said)
    early = table.early
    weak = _weak(table, early, options)
    turn = table.candidates.turn
    learned = (early & _few(table, options.correction_rows))[turn]
    wrong, fit_turns = _taught(table.wrong, early, options)
    right, fit_candidates = _taught(table.right, learned, options)
    (defect, p_defect), (correction, p_correct) = at_once(
        lambda: fit_defect(
            table.turns,
            wrong,
            weak,
            fit_turns,
            table.fold,
            options.folds,
            options.weak_weight,
            options.seed,
            said if options.words else None,
        ),
        lambda: fit_correction(
            table.candidate_rows,
            table.candidates,
            right,
            _weak_rights(table, weak),
            fit_candidates,
            table.fold[turn],
            options.folds,
            options.weak_weight,
            options.seed,
            _reading_task(table, wrong, right, weak, said, known, options),
            Judged.of(signals, table.candidates),
        ),
    )
    p_defect = rounded(p_defect)
    threshold = _defect_threshold(table, p_defect, options)
    is_defect = p_defect >= threshold.look_up(signals["domain"]).value
    tau = _correction_threshold(table, is_defect, rounded(p_correct), options)
    told = report(table.turns, table.wrong, p_defect, early, fit_turns, options.labels)
    told |= {"candidates": len(turn)}
    return Models(table.prior, defect, correction, threshold, tau, options, told, chain, table.wishes)


def _taught(gold: F64, fit_rows: Mask, options: TrainOptions) -> tuple[F64, Mask]:
    """The gold that is learned from, and the rows that are."""
    if options.labels == "weak":
        return np.full(len(gold), np.nan), fit_rows
    return gold, fit_rows & ~np.isnan(gold) if options.labels == "gold" else fit_rows


def _reading_task(
    table: TrainingTable,
    wrong: F64,
    right: F64,
    weak: F64,
    said: pa.Table | None,
    known: pa.Table | None,
    options: TrainOptions,
) -> ReadingTask | None:
    """What readings are learned from: the labels that the models learn from (`_taught`), and no others."""
    if said is None or not options.reading:
        return None
    # Who learns from gold alone is taught nothing by a turn that nobody judged.
    unjudged = np.ones(len(weak)) if options.labels == "gold" else weak
    defect = np.where(np.isnan(wrong), unjudged, wrong)
    lessons = turn_lessons(table.candidates, right, defect, table.early, options.weak_weight)
    return ReadingTask.of(table.signals, said["utterance"], table.candidates, lessons, table.fold, known)


def _few(table: TrainingTable, rows: int) -> Mask:
    """Turns of lowest hash whose candidates are at most so many together, shape (n,)."""
    counts = np.bincount(table.candidates.turn, minlength=table.signals.num_rows)
    order = np.argsort(hash64(strings(table.signals["turn_id"]), "afterword/learn1"), kind="stable")
    out = np.zeros(len(counts), bool)
    out[order] = np.cumsum(counts[order]) <= rows
    return out


def _weak(table: TrainingTable, early: Mask, options: TrainOptions) -> F64:
    """p(defect) without gold, where any turn or candidate that is learned from lacks it."""
    if options.labels == "gold" and np.isnan(table.wrong[early]).all():
        raise TrainingError("train.labels = gold, and there are none of them: give gold, or train.labels = both")
    missing = np.isnan(table.wrong).any() or np.isnan(table.right).any()
    if options.labels == "gold" or (options.labels == "both" and not missing):
        return np.full(len(early), 0.5)
    if table.wishes:
        return weak_defects(table.candidates, len(early))
    return weak_labels(table.turns, table.fold, options.folds, options.seed, early)


def _weak_rights(table: TrainingTable, weak: F64) -> F64:
    """p(right) of candidates without gold, shape (m,)."""
    return weak_rights(table.candidates) if table.wishes else weak_candidate_labels(table.candidates, weak)


def _scored(table: TrainingTable, score: F64, truth: F64, may: Mask) -> Scored:
    domain = strings(pc.fill_null(table.signals["domain"], NO_DOMAIN))
    subject, turn_id = strings(table.signals["subject_id"]), strings(table.signals["turn_id"])
    return Scored(score, truth, may, table.early, domain, subject, turn_id)


def _defect_threshold(table: TrainingTable, p_defect: F64, options: TrainOptions) -> Thresholds:
    rows = _scored(table, p_defect, table.wrong, np.ones(len(table.early), bool))
    return fit_thresholds(rows, options.precision, options.weak_threshold, estimate)


def _correction_threshold(table: TrainingTable, is_defect: Mask, p_correct: F64, options: TrainOptions) -> Thresholds:
    """Tau, a lead: chosen over the alternatives that have one."""
    choice = best_alternative(table.candidates, p_correct, len(table.early))
    # What is proved is what would be accepted; to choose, a calibration wants the unlikely ones as well.
    may = eligible(table.candidates, choice, is_defect, 0.0)
    may &= table.early | (choice.probability >= options.least_correct)
    # The last entry stands for turns without an alternative, whose row is -1.
    truth = np.append(table.right, np.nan)[choice.row]
    rows = _scored(table, choice.margin, truth, may)
    return fit_thresholds(rows, options.precision, options.weak_tau, estimate_each)
