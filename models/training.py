"""Fit both models on one table of signals, and set the thresholds they are used with."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from features.grams import Grams
from features.hashing import hash64, strings
from features.interpretation import hex_id
from models.boost import TrainingError, at_once
from models.certify import estimate, estimate_each
from models.chain import Chain
from models.correction import (
    CorrectionModel,
    best_alternative,
    eligible,
    fit_correction,
    rounded,
    weak_candidate_labels,
)
from models.defect import DefectModel, fit_defect
from models.design import CandidateTable, Design, candidate_design, candidate_table, turn_design
from models.folds import subject_folds
from models.prior import Prior, fit_prior
from models.reading import ReadingTask, turn_lessons
from models.report import report
from models.thresholds import Scored, Thresholds, fit_thresholds
from models.verdicts import Judged
from models.weak import weak_labels
from models.wish_words import word_grams
from models.wishes import Heard, Wishes, fit_wishes, weak_defects, weak_rights, with_wishes
from schemas.judgement import NO_DOMAIN

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

LABEL_SOURCES: Final = ("both", "gold", "weak")

# Where labels come from without gold.
FUNCTIONS: Final = "functions"
WISHES: Final = "wishes"
WORDS: Final = "words"


@dataclass(frozen=True)
class TrainOptions:
    """Numbers that decide how the models are fitted.

    Attributes
    ----------
    folds : int
        Folds of subjects; each turn is judged by a booster that has not seen its subject.
    seed : int
        Seed of the boosters; the same seed and data give the same bytes.
    labels : str
        What the models learn from. `both`: gold where a turn has it, else the labelling functions, among which explicit
        feedback goes first. `gold`: turns with gold alone. `weak`: the functions alone; gold chooses and proves the
        thresholds, and holds the model to account.
    weak_weight : float
        Weight of a row labelled by functions where others have gold: ten say as much as three people.
    precision : float
        Wished precision of both decisions, in each domain whose gold allows to prove it.
    least_correct : float
        Least p(correct) of an accepted candidate, whatever its lead.
    certify_share : float
        Latest share of the gold turns, kept out of training to prove the thresholds on.
    weak_threshold : float
        Least p(defect) of a defect where there is too little gold to tell: never certified.
    weak_tau : float
        Least lead of an accepted candidate (its p(correct) less that of the likeliest other one) where there is too
        little gold to tell: never certified.
    weak_from : str
        Labels without gold: `functions` (labelling functions and the interpreter's doubt, `models.weak`), `wishes` (the
        interpreter's scores and how users of this log react, `models.wishes`), or `words` (wishes, and what other
        users' like words were wanted for, `models.wish_words`). Wishes want scores that are close to probabilities and
        a system that acts at once; they find repairs in quite other words. Where a system asks back and confirms,
        functions are far better. What the wishes say is then evidence of both models too.
    correction_rows : int
        At most so many candidates are learned from, all of a turn or none; a turn has several, and more of them cost
        time without telling more.
    words : bool
        Whether the defect model also learns the words of utterance, answer and reaction (`models.words`). They tell
        much where users type or speak freely and people's labels are at hand; what is learned is of this log's
        domains, and the model file then holds weights of hashed words.
    reading : bool
        Whether the correction model also learns what words are usually taken to mean (`models.reading`). It tells much
        where n-best lists are of several systems or without scores; the model file then holds weights of hashed words.
    """

    folds: int = 5
    seed: int = 20210
    labels: str = "both"
    weak_weight: float = 0.3
    precision: float = 0.90
    least_correct: float = 0.6
    certify_share: float = 0.3
    weak_threshold: float = 0.5
    weak_tau: float = 0.2
    correction_rows: int = 30_000
    weak_from: str = FUNCTIONS
    words: bool = False
    reading: bool = False

    @property
    def reads_words(self) -> bool:
        """Whether the words of turns are wanted to train on."""
        return self.words or self.reading or self.weak_from == WORDS


@dataclass(frozen=True)
class Models:
    """Everything that a judgement needs."""

    prior: Prior
    defect: DefectModel
    correction: CorrectionModel
    threshold: Thresholds
    tau: Thresholds
    options: TrainOptions
    report: dict[str, Any]
    chain: Chain | None = None
    wishes: Wishes | None = None

    @property
    def reads_words(self) -> bool:
        """Whether the words of a turn are wanted to judge it."""
        by_wishes = self.wishes is not None and self.wishes.words is not None
        return self.defect.words is not None or self.correction.reading is not None or by_wishes

    @cached_property
    def defect_id(self) -> str:
        """SHA-256 of all that a judgement follows from."""
        return _digest(self._of_defect)

    @cached_property
    def correction_id(self) -> str:
        """SHA-256 of all that a correction follows from, the defect model among it."""
        rule = {"tau": asdict(self.tau), "least_correct": self.options.least_correct}
        return _digest(self._of_defect | {"correction": self.correction.plain()} | rule)

    @property
    def _of_defect(self) -> dict[str, object]:
        chain = self.chain.plain() if self.chain else None
        return {
            "prior": self.prior.plain(),
            "chain": chain,
            "wishes": self.wishes.plain() if self.wishes else None,
            "defect": self.defect.plain(),
            "threshold": asdict(self.threshold),
        }


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
    wishes: Wishes | None
    early: Mask
    wrong: F64
    right: F64


def training_table(
    signals: pa.Table,
    gold: pa.Table,
    folds: int,
    certify_share: float = 0.0,
    by: str = FUNCTIONS,
    chain: Chain | None = None,
    said: pa.Table | None = None,
) -> TrainingTable:
    """Join gold to signals; NaN where there is none. Several sources' values for one key are averaged.

    The pooled prior reads the turns that may be trained on, so that what is certified later is later for it too.
    """
    fold = subject_folds(signals["subject_id"], folds)
    turn_ids = strings(signals["turn_id"])
    labels = _checked(gold)
    wrong_value = wrong_gold(signals, gold)
    early = earlier_rows(signals, wrong_value, certify_share)
    prior = fit_prior(signals.filter(pa.array(early)), fold[early], folds)
    candidates = candidate_table(signals, prior, fold, chain)
    heard = Heard(word_grams(said["utterance"]), fold, folds) if said is not None and by == WORDS else None
    wishes = None if by == FUNCTIONS else _fit_wishes(signals, candidates, heard, early)
    candidates = with_wishes(signals, candidates, wishes, heard)
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
        wishes=wishes,
        early=early,
        wrong=wrong_value,
        right=_exclusive(candidates, right_value.reindex(keys).to_numpy(np.float64), signals.num_rows),
    )


def wrong_gold(signals: pa.Table, gold: pa.Table) -> F64:
    """Share of raters who call each turn's interpretation wrong; NaN = no gold, shape (n,)."""
    labels = gold.to_pandas()
    wrong = labels[labels["definition"] == "wrong_interpretation"].groupby("turn_id")["value"].mean()
    return np.asarray(wrong.reindex(strings(signals["turn_id"])).to_numpy(np.float64))


def _fit_wishes(signals: pa.Table, candidates: CandidateTable, heard: Heard | None, early: Mask) -> Wishes:
    """The rates, and the words, of the turns that may be trained on."""
    if early.all():
        return fit_wishes(signals, candidates, heard)
    row = np.cumsum(early) - 1
    kept = candidates.take(np.flatnonzero(early[candidates.turn]))
    if heard is not None:
        heard = Heard(Grams(heard.said.counts, heard.said.text[early]), heard.fold[early], heard.folds)
    return fit_wishes(signals.filter(pa.array(early)), replace(kept, turn=row[kept.turn]), heard)


def _checked(gold: pa.Table) -> pd.DataFrame:
    """Gold as a frame; a mean over sources would hide a value that is no number."""
    labels = gold.to_pandas()
    bad = labels[~labels["value"].between(0.0, 1.0)]
    if len(bad):
        row = bad.iloc[0]
        raise TrainingError(
            f"{len(bad):,} of {len(labels):,} gold rows have a value that is no share from 0 to 1, the first "
            f"{row['value']} of turn {row['turn_id']} ({row['source']}); put them right or leave them out"
        )
    return labels


def _exclusive(candidates: CandidateTable, right: F64, turns: int) -> F64:
    """Labels of candidates, with what follows for those of rephrases and the chain, which people were not asked about.

    Where one of the turn's own hypotheses is right, any other candidate means something else.
    """
    settled = np.zeros(turns, bool)
    settled[candidates.turn[right >= 0.5]] = True
    follows = np.isnan(right) & (candidates.offset != 0) & settled[candidates.turn]
    return np.where(follows, 0.0, right)


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
            _reading_task(table, weak, said, known, options),
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
    cut = certified_from(signals, wrong, certify_share)
    return np.ones(len(wrong), bool) if cut is None else np.asarray(_session_start(signals) < cut, dtype=bool)


def certified_from(signals: pa.Table, wrong: F64, certify_share: float) -> pd.Timestamp | None:
    """Start of the first session that may not be trained on; None where every one may. Parameters as above."""
    known = ~np.isnan(wrong)
    if not known.any() or certify_share <= 0:
        return None
    start = _session_start(signals)
    cut = start[known].quantile(1.0 - certify_share, interpolation="lower")
    return cut if (start[known] < cut).any() else None


def _session_start(signals: pa.Table) -> pd.Series:
    sessions = signals["session_id"].to_pandas()
    return signals["event_time"].to_pandas().groupby(sessions.to_numpy()).transform("min")


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
