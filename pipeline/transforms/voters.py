"""Which turns vote, for what, and in which split; and why the others do not."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.interpretation import acted_on, list_offsets
from features.learnable import READS as LEARNABLE
from features.learnable import excluded, expired, refused
from features.text import flat, is_true, normalise
from pipeline.ontology.labels import Ontology
from pipeline.ontology.named import usable
from pipeline.transforms.answers import ContextOptions, answered, got_ids, tool_calls, well_formed
from pipeline.transforms.conversations import NONE, fits, in_test, stands_in
from pipeline.transforms.retries import RetryOptions, retries

Mask = npt.NDArray[np.bool_]

# Columns that votes are made from; the others need not be read.
TURN_READS: Final = (
    "turn_id",
    "conversation_id",
    "subject_id",
    "event_time",
    "locale",
    "utterance",
    "interpretations",
    "executed",
    "response",
    "outcome",
    "policy",
    "licence",
    *LEARNABLE,
)
CORRECTION_READS: Final = ("turn_id", "interpretation", "accepted", "p_correct", "certified", "supporting_turns")


@dataclass(frozen=True)
class VoteOptions:
    """Which turns vote, and in which split.

    Attributes
    ----------
    confirm_below : float
    test_share : float
    context : ContextOptions
    test_from : datetime or None
    licences : tuple of str or None
        Licences that may be learned from; None = any, or none stated.
    ontology : Ontology or None
        What may be a label; None = anything.
    retry : RetryOptions
    shared : numpy.ndarray of int64
        Hashes of the conversations in which users of both sides of the split speak.
    """

    confirm_below: float
    test_share: float
    context: ContextOptions
    test_from: datetime | None = None
    licences: tuple[str, ...] | None = None
    ontology: Ontology | None = None
    retry: RetryOptions = field(default_factory=RetryOptions)
    shared: npt.NDArray[np.int64] = field(default_factory=lambda: NONE, compare=False)


def vote_outcomes(
    turns: pa.Table, judgements: pa.Table, corrections: pa.Table, options: VoteOptions
) -> npt.NDArray[np.str_]:
    """What became of each turn, shape (n,): `vote`, or why it cast none. Parameters as of `votes`."""
    return decide(turns, judgements, corrections, options)[0]


@dataclass(frozen=True)
class Voters:
    """The turns that vote.

    Attributes
    ----------
    rows : numpy.ndarray of int64, shape (k,)
    kind : numpy.ndarray of object, shape (k,)
    correction : numpy.ndarray of int64, shape (k,)
        Row in `accepted`; -1 = none.
    done : numpy.ndarray of int64, shape (k,)
        Row of the turn in which the system did what is voted for; -1 = it never did.
    by_agent : numpy.ndarray of bool, shape (k,)
        Turns of an agent that answered, well or not.
    accepted : pyarrow.Table
        Accepted Correction rows.
    executed : numpy.ndarray of int64, shape (n,)
        Of every turn, see `executed_label`.
    words : pyarrow.StringArray, shape (n,)
        Normalised utterance of every turn.
    split : numpy.ndarray of object, shape (n,)
        Of every turn.
    shown : numpy.ndarray of bool, shape (n,)
        Turns that may stand before an answer, as far as licence and ontology go.
    """

    rows: npt.NDArray[np.int64]
    kind: npt.NDArray[np.object_]
    correction: npt.NDArray[np.int64]
    done: npt.NDArray[np.int64]
    by_agent: Mask
    accepted: pa.Table
    executed: npt.NDArray[np.int64]
    words: pa.Array
    split: npt.NDArray[np.object_]
    shown: Mask


def decide(
    turns: pa.Table, judgements: pa.Table, corrections: pa.Table, options: VoteOptions
) -> tuple[npt.NDArray[np.str_], Voters]:
    """The outcome of each turn, and the turns that vote."""
    named = pa.array(well_formed(flat(corrections["interpretation"])), pa.bool_())
    accepted = corrections.filter(pc.and_(corrections["accepted"], named))
    at = pc.index_in(accepted["turn_id"], value_set=flat(judgements["turn_id"])).to_numpy()
    correction = np.full(turns.num_rows, -1, np.int64)
    correction[at] = np.arange(len(at))
    executed = executed_label(turns)
    words = normalise(turns["utterance"])
    kind, retry = _kinds(turns, judgements, correction >= 0, executed, words, options)
    split, inside = _split(turns, options)
    support = _support(turns, accepted, at, retry)
    heard = stands_in(flat(turns["conversation_id"]), options.shared, split == "test")
    free = licensed(turns, options.licences)
    usable_done, usable_fixed = _usable(turns, accepted, executed, options.ontology)
    # Nothing is taught, for right or for wrong, that is no label.
    named = np.where(correction >= 0, usable_fixed[correction], usable_done & ((retry < 0) | usable_done[retry]))
    outcome = np.select(
        [
            _with_support(refused(turns), support),
            _with_support(expired(turns), support),
            _with_support(excluded(turns), support),
            _with_support(~free, support),
            strings(words) == "",
            kind == "",
            ~named,
            _with_support(~inside, support),
            _with_support(heard, support),
        ],
        [
            "no_consent",
            "expired",
            "excluded",
            "licence",
            "no_words",
            "uncertain",
            "unknown_label",
            "outside_split",
            "conversation_in_train",
        ],
        "vote",
    )
    rows = np.flatnonzero(outcome == "vote")
    done = np.where(np.isin(kind, ("confirmation", "answer")), np.arange(turns.num_rows), retry)
    by_agent = answered(turns, executed)
    return outcome, Voters(
        rows,
        kind[rows],
        correction[rows],
        done[rows],
        by_agent[rows],
        accepted,
        executed,
        words,
        split,
        free & usable_done,
    )


def _kinds(
    turns: pa.Table,
    judgements: pa.Table,
    corrected: Mask,
    executed: npt.NDArray[np.int64],
    words: pa.Array,
    options: VoteOptions,
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int64]]:
    """What each turn would vote for, empty = nothing, and of a preference the row of the retry, else -1."""
    defective = judgements["is_defect"].to_numpy()
    sure = judgements["p_defect"].to_numpy() <= options.confirm_below
    by_agent = answered(turns, executed)
    answers = by_agent & sure & ~defective
    confirmed = (executed >= 0) & ~tool_calls(turns, executed) & sure
    # Of an outage nothing is to be unlearned.
    failed = defective & ~corrected & ~sure & ~is_true(pc.equal(flat(turns["outcome"]), "error"))
    rows = np.flatnonzero(failed & by_agent)
    retry = np.full(len(corrected), -1, np.int64)
    retry[rows] = retries(turns, judgements, words, rows, answers, options.retry)
    # The same answer twice is no better than itself.
    again = rows[retry[rows] >= 0]
    same = again[got_ids(turns, executed, again) == got_ids(turns, executed, retry[again])]
    retry[same] = -1
    failed[same] = False
    kind = np.select(
        [corrected, answers, confirmed, retry >= 0, failed],
        ["correction", "answer", "confirmation", "preference", "rejection"],
        "",
    )
    return kind.astype(object), retry


def licensed(turns: pa.Table, licences: tuple[str, ...] | None) -> Mask:
    """Turns under one of some licences, shape (n,); every turn where none are named. One that states none is not."""
    if licences is None:
        return np.ones(turns.num_rows, bool)
    return is_true(pc.is_in(flat(turns["licence"]), value_set=pa.array(licences, pa.string())))


def _usable(
    turns: pa.Table, accepted: pa.Table, executed: npt.NDArray[np.int64], ontology: Ontology | None
) -> tuple[Mask, Mask]:
    """Turns whose executed interpretation may be a label, shape (n,), and accepted corrections that may be one, shape
    (k + 1,). Nothing, as what an answer in words executed, is no label that could be unknown; the last entry stands for
    it among the corrections.
    """
    done = np.append(usable(flat(turns["interpretations"]).flatten(), ontology), True)
    return done[executed], np.append(usable(flat(accepted["interpretation"]), ontology), True)


def _support(
    turns: pa.Table, accepted: pa.Table, at: npt.NDArray[np.int64], retry: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of corrected and retried turns, and beside each the row of a turn that its vote rests on."""
    lists = flat(accepted["supporting_turns"])
    owner = np.repeat(at, np.diff(list_offsets(lists)))
    support = pc.index_in(lists.flatten(), value_set=flat(turns["turn_id"]))
    found = pc.is_valid(support).to_numpy(zero_copy_only=False)
    retried = np.flatnonzero(retry >= 0)
    return np.append(owner[found], retried), np.append(support.drop_null().to_numpy(), retry[retried])


def _with_support(unfit: Mask, support: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]) -> Mask:
    """Turns that are unfit, or whose vote rests on an unfit one, shape (n,)."""
    out = unfit.copy()
    owner, by = support
    out[owner[unfit[by]]] = True
    return out


def executed_label(turns: pa.Table) -> npt.NDArray[np.int64]:
    """Flat index of the interpretation acted on; -1 where nothing was, or nothing that can be a label."""
    at = acted_on(turns["interpretations"], turns["executed"])
    good = np.append(well_formed(flat(turns["interpretations"]).flatten()), False)
    return np.where((at >= 0) & good[at], at, -1)


def _split(turns: pa.Table, options: VoteOptions) -> tuple[npt.NDArray[np.object_], Mask]:
    """Split of each turn by its user's hash, and whether its time fits the split."""
    test = in_test(strings(turns["subject_id"]), options.test_share)
    names = np.where(test, "test", "train").astype(object)
    return names, fits(flat(turns["event_time"]), test, options.test_from)
