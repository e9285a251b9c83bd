"""From judged turns to votes: what each turn that is sure enough says its utterance means."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, shares, strings
from features.interpretation import flatten, list_offsets
from features.text import flat, normalise
from pipeline.transforms.pool import KEY_SEPARATOR
from schemas import VOTE

Mask = npt.NDArray[np.bool_]
_SPLIT_KEY: Final = "afterword/split1"


# Columns that votes are made from; the others need not be read.
TURN_READS: Final = (
    "turn_id",
    "subject_id",
    "event_time",
    "locale",
    "utterance",
    "interpretations",
    "executed",
    "policy",
    "consent",
)
CORRECTION_READS: Final = ("turn_id", "interpretation", "accepted", "p_correct", "certified", "supporting_turns")


@dataclass(frozen=True)
class VoteOptions:
    """Which turns vote, and in which split.

    Attributes
    ----------
    confirm_below : float
    test_share : float
    test_from : datetime or None
    """

    confirm_below: float
    test_share: float
    test_from: datetime | None = None


def votes(
    turns: pa.Table, judgements: pa.Table, corrections: pa.Table, options: VoteOptions
) -> tuple[pa.Table, dict[str, int]]:
    """Votes of a bucket, and what became of the turns that cast none.

    A turn with an accepted correction votes for it; one with p(defect) <= `confirm_below` votes for what was
    executed. An interpretation without an intent is no label, so it gets no vote. Outcomes of the others, the first
    that holds: `no_consent`, `no_words` (nothing is left of the utterance without punctuation), `uncertain`,
    `outside_split` (a train user's turn after the cut in time, or a test user's before it).

    Parameters
    ----------
    turns, judgements : pyarrow.Table
        Rows of the same turns in the same order; of the turns at least the columns of `TURN_READS`.
    corrections : pyarrow.Table
        Correction rows of these turns, at least the columns of `CORRECTION_READS`.
    options : VoteOptions
    """
    n = turns.num_rows
    named = pc.is_valid(pc.struct_field(corrections["interpretation"], "intent"))
    accepted = corrections.filter(pc.and_(corrections["accepted"], named))
    at = pc.index_in(accepted["turn_id"], value_set=flat(judgements["turn_id"])).to_numpy()
    correction = np.full(n, -1, np.int64)
    correction[at] = np.arange(len(at))
    executed = _executed(turns)
    corrected = correction >= 0
    p_defect = judgements["p_defect"].to_numpy()
    confirmed = ~corrected & (executed >= 0) & (p_defect <= options.confirm_below)
    words = normalise(turns["utterance"])
    split, inside = _split(turns, options)

    outcome = np.select(
        [
            pc.equal(flat(turns["consent"]), False).fill_null(False).to_numpy(zero_copy_only=False),
            strings(words) == "",
            ~(corrected | confirmed),
            ~inside,
        ],
        ["no_consent", "no_words", "uncertain", "outside_split"],
        "vote",
    )
    names, numbers = np.unique(outcome, return_counts=True)
    rows = np.flatnonzero(outcome == "vote")
    table = _table(turns, judgements, accepted, words, split, correction, executed, rows)
    return table, dict(zip(names.tolist(), numbers.tolist(), strict=True))


def _executed(turns: pa.Table) -> npt.NDArray[np.int64]:
    """Flat index of the interpretation acted on; -1 where nothing was, or nothing with an intent."""
    lists = flat(turns["interpretations"])
    start = list_offsets(lists)[:-1]
    executed = flat(turns["executed"])
    at = np.where(executed.is_valid().to_numpy(zero_copy_only=False), start + executed.fill_null(0).to_numpy(), -1)
    named = pc.is_valid(pc.struct_field(lists.flatten(), "intent")).to_numpy(zero_copy_only=False)
    return np.where((at >= 0) & np.append(named, False)[at], at, -1)


def _split(turns: pa.Table, options: VoteOptions) -> tuple[npt.NDArray[np.object_], Mask]:
    """Split of each turn by its user's hash, and whether its time fits the split."""
    test = shares(hash64(strings(turns["subject_id"]), _SPLIT_KEY)) < options.test_share
    names = np.where(test, "test", "train").astype(object)
    if options.test_from is None:
        return names, np.ones(len(names), bool)
    later = pc.greater_equal(flat(turns["event_time"]), pa.scalar(options.test_from, pa.timestamp("us", "UTC")))
    return names, later.to_numpy(zero_copy_only=False) == test


def _table(
    turns: pa.Table,
    judgements: pa.Table,
    accepted: pa.Table,
    words: pa.Array,
    split: npt.NDArray[np.object_],
    correction: npt.NDArray[np.int64],
    executed: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
) -> pa.Table:
    """VOTE rows of the turns that vote."""
    own, given = pa.array(rows), correction[rows]
    is_correction = given >= 0
    null = ~is_correction
    position = pa.array(np.maximum(given, 0), mask=null)
    chosen = flat(accepted["interpretation"]).take(position)
    done = flat(turns["interpretations"]).flatten().take(pa.array(np.maximum(executed[rows], 0), mask=is_correction))
    label = pc.if_else(pa.array(is_correction), chosen, done)
    single = pa.ListArray.from_arrays(pa.array(np.arange(len(rows) + 1), pa.int32()), label)
    locale = flat(turns["locale"]).take(own)
    p_correct = flat(accepted["p_correct"]).take(position)
    p_right = pc.subtract(1.0, flat(judgements["p_defect"]).take(own))
    certified = pc.and_(flat(judgements["certified"]).take(own), flat(accepted["certified"]).take(position))
    nothing = pa.scalar([], pa.list_(pa.string()))
    return VOTE.conform(
        pa.table(
            {
                "turn_id": turns["turn_id"].take(own),
                "subject_id": turns["subject_id"].take(own),
                "split": pa.array(split[rows], pa.string()),
                "pool_key": pc.binary_join_element_wise(locale.fill_null(""), words.take(own), KEY_SEPARATOR),
                "label_id": flatten(single).candidate_id,
                "locale": locale,
                "utterance": turns["utterance"].take(own),
                "label": label,
                "kind": pc.if_else(pa.array(is_correction), "correction", "confirmation"),
                "blame": judgements["blame"].take(own),
                "probability": pc.if_else(pa.array(is_correction), p_correct, p_right),
                "certified": pc.fill_null(certified, False),
                "policy": turns["policy"].take(own),
                "supporting_turns": pc.coalesce(flat(accepted["supporting_turns"]).take(position), nothing),
            }
        )
    )
