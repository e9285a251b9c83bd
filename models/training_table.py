"""What both models are trained on: signals joined with gold, and which turns may be learned from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from features.grams import Grams
from features.hashing import strings
from features.interpretation import hex_id
from models.boost import TrainingError
from models.chain import Chain
from models.design import CandidateTable, Design, candidate_design, candidate_table, turn_design
from models.folds import subject_folds
from models.options import FUNCTIONS, WORDS
from models.prior import Prior, fit_prior
from models.wish_words import word_grams
from models.wishes import Heard, Wishes, fit_wishes, with_wishes

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


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
    labels: pd.DataFrame = gold.to_pandas()
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
    cut = cast(pd.Timestamp, start[known].quantile(1.0 - certify_share, interpolation="lower"))
    return cut if (start[known] < cut).any() else None


def _session_start(signals: pa.Table) -> pd.Series:
    sessions = signals["session_id"].to_pandas()
    return pd.Series(signals["event_time"].to_pandas().groupby(sessions.to_numpy()).transform("min"))
