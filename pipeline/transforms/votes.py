"""From judged turns to votes: what each turn that is sure enough says its utterance means."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, join, mix, shares, strings
from features.interpretation import acted_on, list_offsets
from features.learnable import READS as LEARNABLE
from features.learnable import excluded, refused
from features.text import flat, is_true, normalise
from pipeline.ontology.labels import Ontology
from pipeline.ontology.named import usable
from pipeline.transforms.answers import ContextOptions, answered, contexts, done_ids, got_ids, tool_calls, well_formed
from pipeline.transforms.faults import against, identities
from pipeline.transforms.origins import origins
from pipeline.transforms.pool import KEY_SEPARATOR
from pipeline.transforms.retries import RetryOptions, retries
from schemas import FAULT_KINDS, LABEL_KINDS, VOTE

Mask = npt.NDArray[np.bool_]
_SPLIT_KEY: Final = "afterword/split1"


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
    """

    confirm_below: float
    test_share: float
    context: ContextOptions
    test_from: datetime | None = None
    licences: tuple[str, ...] | None = None
    ontology: Ontology | None = None
    retry: RetryOptions = field(default_factory=RetryOptions)


def votes(
    turns: pa.Table, judgements: pa.Table, corrections: pa.Table, options: VoteOptions
) -> tuple[pa.Table, dict[str, int]]:
    """Votes of a bucket, and what became of the turns that cast none.

    A turn with an accepted correction votes for it. One with p(defect) <= `confirm_below` votes for what was executed;
    if it is an agent's, for its answer or tool call, with the turns before it, and only if it was not judged defective.
    A defective one without an accepted correction votes against what was done (a rejection); if it is an agent's, and
    its user asked again and was served, for that answer over its own (a preference).
    An interpretation that is not `well_formed`, as one with a blank intent, is no label, so it gets no vote.
    Outcomes of the others, the first that holds: `no_consent`, `excluded`, `licence` (it is under none of
    `licences`), `no_words` (nothing is left of the utterance without punctuation), `uncertain`, `unknown_label` (what
    it would vote for or against is no label of the ontology), `outside_split` (a train user's turn after the cut in
    time, or a test user's before it).
    A correction or preference holds what its supporting turns say or got, so it has no vote either where one of them is
    without consent, excluded, under another licence or on the other side of the cut.

    Parameters
    ----------
    turns, judgements : pyarrow.Table
        Rows of the same turns of whole subjects in the same order; of the turns at least the columns of `TURN_READS`.
    corrections : pyarrow.Table
        Correction rows of these turns, at least the columns of `CORRECTION_READS`.
    options : VoteOptions
    """
    outcome, voters = _decide(turns, judgements, corrections, options)
    names, numbers = np.unique(outcome, return_counts=True)
    table = _table(turns, judgements, voters, options.context)
    return table, dict(zip(names.tolist(), numbers.tolist(), strict=True))


def vote_outcomes(
    turns: pa.Table, judgements: pa.Table, corrections: pa.Table, options: VoteOptions
) -> npt.NDArray[np.str_]:
    """What became of each turn, shape (n,): `vote`, or why it cast none. Parameters as of `votes`."""
    return _decide(turns, judgements, corrections, options)[0]


@dataclass(frozen=True)
class _Voters:
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
        Of every turn, see `_executed`.
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


def _decide(
    turns: pa.Table, judgements: pa.Table, corrections: pa.Table, options: VoteOptions
) -> tuple[npt.NDArray[np.str_], _Voters]:
    """The outcome of each turn, and the turns that vote."""
    named = pa.array(well_formed(flat(corrections["interpretation"])), pa.bool_())
    accepted = corrections.filter(pc.and_(corrections["accepted"], named))
    at = pc.index_in(accepted["turn_id"], value_set=flat(judgements["turn_id"])).to_numpy()
    correction = np.full(turns.num_rows, -1, np.int64)
    correction[at] = np.arange(len(at))
    executed = _executed(turns)
    words = normalise(turns["utterance"])
    kind, retry = _kinds(turns, judgements, correction >= 0, executed, words, options)
    split, inside = _split(turns, options)
    support = _support(turns, accepted, at, retry)
    free = licensed(turns, options.licences)
    usable_done, usable_fixed = _usable(turns, accepted, executed, options.ontology)
    # Nothing is taught, for right or for wrong, that is no label.
    named = np.where(correction >= 0, usable_fixed[correction], usable_done & ((retry < 0) | usable_done[retry]))
    outcome = np.select(
        [
            _with_support(refused(turns), support),
            _with_support(excluded(turns), support),
            _with_support(~free, support),
            strings(words) == "",
            kind == "",
            ~named,
            _with_support(~inside, support),
        ],
        ["no_consent", "excluded", "licence", "no_words", "uncertain", "unknown_label", "outside_split"],
        "vote",
    )
    rows = np.flatnonzero(outcome == "vote")
    done = np.where(np.isin(kind, ("confirmation", "answer")), np.arange(turns.num_rows), retry)
    by_agent = answered(turns, executed)
    return outcome, _Voters(
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


def _executed(turns: pa.Table) -> npt.NDArray[np.int64]:
    """Flat index of the interpretation acted on; -1 where nothing was, or nothing that can be a label."""
    at = acted_on(turns["interpretations"], turns["executed"])
    good = np.append(well_formed(flat(turns["interpretations"]).flatten()), False)
    return np.where((at >= 0) & good[at], at, -1)


def _split(turns: pa.Table, options: VoteOptions) -> tuple[npt.NDArray[np.object_], Mask]:
    """Split of each turn by its user's hash, and whether its time fits the split."""
    test = shares(hash64(strings(turns["subject_id"]), _SPLIT_KEY)) < options.test_share
    names = np.where(test, "test", "train").astype(object)
    if options.test_from is None:
        return names, np.ones(len(names), bool)
    later = pc.greater_equal(flat(turns["event_time"]), pa.scalar(options.test_from, pa.timestamp("us", "UTC")))
    return names, later.to_numpy(zero_copy_only=False) == test


def _table(turns: pa.Table, judgements: pa.Table, voters: _Voters, context: ContextOptions) -> pa.Table:
    """VOTE rows of the turns that vote."""
    rows, own = voters.rows, pa.array(voters.rows)
    faulty = np.isin(voters.kind, FAULT_KINDS) & voters.shown[rows]
    locale = flat(turns["locale"]).take(own)
    label = _labels(turns, voters)
    plain = {
        "turn_id": turns["turn_id"].take(own),
        "subject_id": turns["subject_id"].take(own),
        "split": pa.array(voters.split[rows], pa.string()),
        "pool_key": pc.binary_join_element_wise(locale.fill_null(""), voters.words.take(own), KEY_SEPARATOR),
        "label_id": identities(label),
        "locale": locale,
        "utterance": turns["utterance"].take(own),
        "label": label,
        "kind": pa.array(voters.kind, pa.string()),
        "blame": judgements["blame"].take(own),
        "supporting_turns": _supporting(turns, voters),
        **_sureness(judgements, voters),
        **against(turns, voters.executed, rows, faulty, voters.by_agent),
    }
    plain |= _apart(turns, judgements, voters, plain, context)
    behind = plain["supporting_turns"], _turn_ids(plain["context"])
    return VOTE.conform(pa.table(plain | origins(turns, judgements, rows, voters.done, *behind)))


def _turn_ids(context: pa.ListArray) -> pa.ListArray:
    """Ids of the turns of each context."""
    offsets = pa.array(list_offsets(context), pa.int32())
    return pa.ListArray.from_arrays(offsets, context.flatten().field("turn_id"))


def _labels(turns: pa.Table, voters: _Voters) -> pa.Array:
    """What each voter says was meant or called; null where it is an answer in words, or nobody knows."""
    executed = np.where(voters.done >= 0, voters.executed[voters.done], -1)
    done = flat(turns["interpretations"]).flatten().take(_at(executed))
    corrected = flat(voters.accepted["interpretation"]).take(_at(voters.correction))
    return pc.if_else(pa.array(voters.kind == "correction"), corrected, done)


def _at(rows: npt.NDArray[np.int64]) -> pa.Array:
    """Rows to take; null where they are negative."""
    return pa.array(np.maximum(rows, 0), mask=rows < 0)


def _supporting(turns: pa.Table, voters: _Voters) -> pa.Array:
    """Turns that a correction agrees with, or the one whose answer is preferred."""
    lists = flat(voters.accepted["supporting_turns"]).take(_at(voters.correction))
    preferred = voters.kind == "preference"
    retry = flat(turns["turn_id"]).take(pa.array(voters.done[preferred]))
    offsets = pa.array(np.concatenate([[0], np.cumsum(preferred)]), pa.int32())
    return pc.if_else(pc.is_valid(lists), lists, pa.ListArray.from_arrays(offsets, retry))


def _sureness(judgements: pa.Table, voters: _Voters) -> dict[str, pa.Array]:
    """Probability and certificate of each vote."""
    own = pa.array(voters.rows)
    p_defect = flat(judgements["p_defect"])
    accepted, at = voters.accepted, _at(voters.correction)
    right = pc.subtract(1.0, p_defect.take(_at(np.where(voters.done >= 0, voters.done, voters.rows))))
    wrong = pa.array(voters.kind == "rejection")
    probability = pc.if_else(wrong, p_defect.take(own), pc.coalesce(flat(accepted["p_correct"]).take(at), right))
    candidate = pc.fill_null(flat(accepted["certified"]).take(at), True)
    fault = pa.array(np.isin(voters.kind, FAULT_KINDS))
    certified = pc.and_(pc.and_(flat(judgements["certified"]).take(own), candidate), fault)
    return {"probability": probability, "certified": certified}


def _apart(
    turns: pa.Table, judgements: pa.Table, voters: _Voters, plain: dict[str, pa.Array], context: ContextOptions
) -> dict[str, pa.Array]:
    """The columns in which votes differ that are not for the meaning of words.

    An agent's are pooled with the same words in the same context only, and what was wrong with what was wrong.
    """
    kind = voters.kind
    agents = voters.by_agent & ~np.isin(kind, LABEL_KINDS)
    rows = voters.rows[agents]
    before, context_keys = contexts(turns, judgements, voters.executed, rows, context, voters.shown)
    # Row of each voter among the agents'; null for the others.
    at = pa.array(np.cumsum(agents) - 1, mask=~agents)
    keys = pa.array(context_keys, pa.string()).take(at)
    with_context = pc.binary_join_element_wise(plain["pool_key"], keys, KEY_SEPARATOR)
    key = pc.coalesce(with_context, plain["pool_key"])
    faults = np.isin(kind, ("preference", "rejection"))
    of_kind = pc.binary_join_element_wise(key, pa.array(kind, pa.string()), KEY_SEPARATOR)
    answers = agents & (voters.done >= 0)
    response = flat(turns["response"]).take(_at(np.where(answers, voters.done, -1)))
    right = _words_too(plain["label_id"], response, keys)
    wrong = _words_too(plain["rejected_id"], pc.struct_field(plain["rejected"], "response"), keys)
    label_id = np.array(plain["label_id"])
    label_id[answers] = done_ids(turns, voters.executed, voters.done[answers])
    label_id = np.select([kind == "rejection", kind == "preference"], [wrong, mix(right, wrong)], label_id)
    return {
        "pool_key": pc.if_else(pa.array(faults), of_kind, key),
        "label_id": label_id,
        "right_id": pa.array(right, mask=kind == "rejection"),
        "rejected_id": pa.array(wrong, mask=~plain["rejected"].is_valid().to_numpy(zero_copy_only=False)),
        "response": response,
        "context": before.take(at),
    }


def _words_too(ids: pa.Array | npt.NDArray[np.int64], words: pa.Array, context: pa.Array) -> npt.NDArray[np.int64]:
    """Ids of readings and calls, and where there is none, of the words that were said in a context, shape (k,)."""
    held = ids.fill_null(0).to_numpy() if isinstance(ids, pa.Array) else ids
    return np.where(held == 0, hash64(join(strings(words), strings(context))).view(np.int64), held)
