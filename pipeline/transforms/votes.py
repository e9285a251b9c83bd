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
from features.interpretation import acted_on, flatten, list_offsets
from features.learnable import READS as LEARNABLE
from features.learnable import excluded, refused
from features.text import flat, is_true, normalise
from pipeline.ontology.labels import Ontology
from pipeline.ontology.named import usable
from pipeline.transforms.answers import ContextOptions, answer_ids, answered, contexts, tool_calls, well_formed
from pipeline.transforms.counts import domain_names
from pipeline.transforms.pool import KEY_SEPARATOR
from schemas import REJECTED, VOTE

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
    """

    confirm_below: float
    test_share: float
    context: ContextOptions
    test_from: datetime | None = None
    licences: tuple[str, ...] | None = None
    ontology: Ontology | None = None


def votes(
    turns: pa.Table, judgements: pa.Table, corrections: pa.Table, options: VoteOptions
) -> tuple[pa.Table, dict[str, int]]:
    """Votes of a bucket, and what became of the turns that cast none.

    A turn with an accepted correction votes for it. One with p(defect) <= `confirm_below` votes for what was executed;
    if it is an agent's, for its answer or tool call, with the turns before it, and only if it was not judged defective.
    An interpretation that is not `well_formed`, as one with a blank intent, is no label, so it gets no vote.
    Outcomes of the others, the first that holds: `no_consent`, `excluded`, `licence` (it is under none of
    `licences`), `no_words` (nothing is left of the utterance without punctuation), `uncertain`, `unknown_label` (what
    it would vote for is no label of the ontology), `outside_split` (a train user's turn after the cut in time, or a
    test user's before it).
    A correction holds what its supporting turns say, so it has no vote either where one of them is without consent,
    excluded, under another licence or on the other side of the cut.

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
    corrected = correction >= 0
    sure = judgements["p_defect"].to_numpy() <= options.confirm_below
    confirmed = ~corrected & (executed >= 0) & ~tool_calls(turns, executed) & sure
    answers = ~corrected & answered(turns, executed) & sure & ~judgements["is_defect"].to_numpy()
    words = normalise(turns["utterance"])
    split, inside = _split(turns, options)
    support = _support(turns, accepted, at)
    free = licensed(turns, options.licences)
    done, fixed = _usable(turns, accepted, executed, options.ontology)
    outcome = np.select(
        [
            _with_support(refused(turns), support),
            _with_support(excluded(turns), support),
            _with_support(~free, support),
            strings(words) == "",
            ~(corrected | confirmed | answers),
            ~np.where(corrected, fixed[correction], done),
            _with_support(~inside, support),
        ],
        ["no_consent", "excluded", "licence", "no_words", "uncertain", "unknown_label", "outside_split"],
        "vote",
    )
    rows = np.flatnonzero(outcome == "vote")
    kind = np.select([corrected, answers], ["correction", "answer"], "confirmation").astype(object)
    return outcome, _Voters(rows, kind[rows], correction[rows], accepted, executed, words, split, free & done)


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
    turns: pa.Table, accepted: pa.Table, at: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of corrected turns, and beside each the row of a turn that supports its correction."""
    lists = flat(accepted["supporting_turns"])
    owner = np.repeat(at, np.diff(list_offsets(lists)))
    support = pc.index_in(lists.flatten(), value_set=flat(turns["turn_id"]))
    found = pc.is_valid(support).to_numpy(zero_copy_only=False)
    return owner[found], support.drop_null().to_numpy()


def _with_support(unfit: Mask, support: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]) -> Mask:
    """Turns that are unfit, or that have a correction with the support of an unfit one, shape (n,)."""
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
    accepted = voters.accepted
    rows, own = voters.rows, pa.array(voters.rows)
    is_correction = voters.kind == "correction"
    position = pa.array(np.maximum(voters.correction, 0), mask=~is_correction)
    label = _labels(turns, voters, position)
    single = pa.ListArray.from_arrays(pa.array(np.arange(len(rows) + 1), pa.int32()), label)
    locale = flat(turns["locale"]).take(own)
    p_correct = flat(accepted["p_correct"]).take(position)
    p_right = pc.subtract(1.0, flat(judgements["p_defect"]).take(own))
    certified = pc.and_(flat(judgements["certified"]).take(own), flat(accepted["certified"]).take(position))
    nothing = pa.scalar([], pa.list_(pa.string()))
    plain = {
        "turn_id": turns["turn_id"].take(own),
        "subject_id": turns["subject_id"].take(own),
        "split": pa.array(voters.split[rows], pa.string()),
        "pool_key": pc.binary_join_element_wise(locale.fill_null(""), voters.words.take(own), KEY_SEPARATOR),
        "label_id": flatten(single).candidate_id,
        "locale": locale,
        "domain": domain_names(judgements["domain"]).take(own),
        "utterance": turns["utterance"].take(own),
        "label": label,
        "kind": pa.array(voters.kind, pa.string()),
        "blame": judgements["blame"].take(own),
        "probability": pc.if_else(pa.array(is_correction), p_correct, p_right),
        "certified": pc.fill_null(certified, False),
        "policy": turns["policy"].take(own),
        "licence": turns["licence"].take(own),
        "supporting_turns": pc.coalesce(flat(accepted["supporting_turns"]).take(position), nothing),
    }
    plain["rejected"] = pa.nulls(len(rows), REJECTED)
    return VOTE.conform(pa.table(plain | _answers(turns, judgements, voters, plain, context)))


def _labels(turns: pa.Table, voters: _Voters, position: pa.Array) -> pa.Array:
    """What each voter says was meant or called; null for an answer in words."""
    is_correction = voters.kind == "correction"
    executed = voters.executed[voters.rows]
    done = flat(turns["interpretations"]).flatten()
    done = done.take(pa.array(np.maximum(executed, 0), mask=is_correction | (executed < 0)))
    return pc.if_else(pa.array(is_correction), flat(voters.accepted["interpretation"]).take(position), done)


def _answers(
    turns: pa.Table, judgements: pa.Table, voters: _Voters, plain: dict[str, pa.Array], context: ContextOptions
) -> dict[str, pa.Array]:
    """The columns in which the votes of answers differ: pooled with the same words in the same context only."""
    is_answer = voters.kind == "answer"
    if not is_answer.any():
        return {n: pa.nulls(len(is_answer), VOTE.schema.field(n).type) for n in ("response", "context")}
    rows = voters.rows[is_answer]
    before, context_keys = contexts(turns, judgements, voters.executed, rows, context, voters.shown)
    # Row of each voter among the answers; null for the others.
    at = pa.array(np.cumsum(is_answer) - 1, mask=~is_answer)
    keys = pa.array(context_keys, pa.string()).take(at)
    with_context = pc.binary_join_element_wise(plain["pool_key"], keys, KEY_SEPARATOR)
    label_id = np.array(plain["label_id"])
    label_id[is_answer] = answer_ids(turns, voters.executed, rows)
    return {
        "pool_key": pc.coalesce(with_context, plain["pool_key"]),
        "label_id": label_id,
        "response": flat(turns["response"]).take(pa.array(rows)).take(at),
        "context": before.take(at),
    }
