"""What readings are learned from: texts with what they mean, from turns and from an NLU training set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from features.interpretation import best, flatten
from models.design import CandidateTable

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Frames that are learned, those of most rows: the time of a fit grows with them.
LABELS: Final = 256
# A frame of fewer distinct texts has no words of its own yet.
MIN_TEXTS: Final = 3
# Distinct texts that are learned from, evenly spread: more cost time and tell little that is new.
ROWS: Final = 20_000


@dataclass(frozen=True)
class Lessons:
    """Texts with what they mean.

    Attributes
    ----------
    text : numpy.ndarray of int64, shape (r,)
        Row of the distinct texts.
    label : numpy.ndarray of int64, shape (r,)
        Number of the frame.
    weight : numpy.ndarray, shape (r,)
    fold : numpy.ndarray of int64, shape (r,)
        Of the subject; -1 = of no user's turn.
    """

    text: I64
    label: I64
    weight: F64
    fold: I64


def label_numbers(labels: I64, frame: I64) -> I64:
    """Place of each frame among the labels, which ascend; -1 = not learned."""
    if not len(labels):
        return np.full(len(frame), -1, np.int64)
    at = np.minimum(np.searchsorted(labels, frame), len(labels) - 1)
    return np.where(labels[at] == frame, at, -1)


def turn_lessons(
    table: CandidateTable, gold: F64, defect: F64, early: Mask, weak_weight: float
) -> tuple[I64, I64, F64]:
    """Candidates to learn from as what their turns mean: their rows, their turns, and how much they count.

    Where people judged a turn's candidates, the right ones; elsewhere the one that was acted on, as far as the turn
    satisfied.

    Parameters
    ----------
    table : CandidateTable
        m candidates of n turns.
    gold : numpy.ndarray, shape (m,)
        Share of raters who say the candidate is right; NaN = no gold.
    defect : numpy.ndarray, shape (n,)
        p(defect) of each turn, or the share of raters who say so; 1 teaches nothing.
    early : numpy.ndarray of bool, shape (n,)
        Turns that may be learned from.
    weak_weight : float
        Weight of a turn whose candidates nobody judged, where others were.
    """
    judged = np.zeros(len(defect), bool)
    judged[table.turn[~np.isnan(gold)]] = True
    silent = weak_weight if judged.any() else 1.0
    by_reaction = table.is_top & ~judged[table.turn]
    weight = np.where(by_reaction, silent * (1.0 - defect[table.turn]), np.nan_to_num(gold) * (table.offset == 0))
    rows = np.flatnonzero(early[table.turn] & (weight > 0))
    return rows, table.turn[rows], weight[rows]


def gathered(
    signals: pa.Table, frame: I64, text: I64, lessons: tuple[I64, I64, F64], fold: I64, known: pa.Table | None
) -> tuple[Lessons, I64]:
    """Lessons of turns and of an NLU training set, and the frames that are learned, ascending.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows.
    frame : numpy.ndarray of int64, shape (m,)
        Of each candidate; 0 = not known, and not learned.
    text : numpy.ndarray of int64, shape (n + k,)
        Distinct text of each turn and, behind them, of each row of `known`; -1 = null.
    lessons : tuple
        From `turn_lessons`.
    fold : numpy.ndarray of int64, shape (n,)
    known : pyarrow.Table or None
        k rows, as in `models.training.train`.
    """
    rows, turn, weight = lessons
    learned = pd.DataFrame(
        {
            "text": text[turn],
            "frame": frame[rows],
            "weight": weight,
            "fold": fold[turn],
            "subject": pd.factorize(signals["subject_id"].to_pandas())[0][turn],
        }
    )
    # A user counts once a frame, however often they say it.
    learned["weight"] /= learned.groupby(["subject", "frame"])["weight"].transform("size")
    if known is not None:
        learned = pd.concat([learned, _known(known, text[signals.num_rows :])], ignore_index=True)
    learned = learned[(learned["frame"] != 0) & (learned["text"] >= 0)]
    labels = _labels(learned)
    number = label_numbers(labels, learned["frame"].to_numpy(np.int64))
    return _spread(learned[number >= 0].assign(label=number[number >= 0])), labels


def _known(known: pa.Table, text: I64) -> pd.DataFrame:
    """Lessons from rows of an NLU training set."""
    read = flatten(known["interpretations"])
    first = best(read)
    frame = np.where(first >= 0, np.append(read.frame_id, 0)[first], 0)
    return pd.DataFrame({"text": text, "frame": frame, "weight": 1.0, "fold": -1, "subject": -1})


def _labels(learned: pd.DataFrame) -> I64:
    """Frames of enough distinct texts, those of most where there are too many; ascending."""
    texts = learned.drop_duplicates(["frame", "text"])["frame"].value_counts()
    enough = texts[texts >= MIN_TEXTS].rename_axis("frame").reset_index(name="texts")
    most = enough.sort_values(["texts", "frame"], ascending=[False, True]).head(LABELS)
    return np.sort(most["frame"].to_numpy(np.int64))


def _spread(learned: pd.DataFrame) -> Lessons:
    """At most `ROWS` distinct texts, evenly spread over those that there are."""
    texts = np.unique(learned["text"].to_numpy(np.int64))
    kept = learned[learned["text"].isin(texts[:: -(-len(texts) // ROWS) or 1])]
    columns = {name: kept[name].to_numpy(np.int64) for name in ("text", "label", "fold")}
    return Lessons(weight=kept["weight"].to_numpy(np.float64), **columns)
