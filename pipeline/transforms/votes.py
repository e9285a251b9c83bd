"""From judged turns to votes: what each turn that is sure enough says its utterance means."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, join, mix, strings
from features.interpretation import list_offsets
from features.text import flat
from pipeline.transforms.answers import ContextOptions, contexts, done_ids
from pipeline.transforms.faults import against, identities
from pipeline.transforms.origins import origins
from pipeline.transforms.pool import KEY_SEPARATOR
from pipeline.transforms.voters import VoteOptions, Voters, decide
from schemas import FAULT_KINDS, LABEL_KINDS, VOTE


def votes(
    turns: pa.Table, judgements: pa.Table, corrections: pa.Table, options: VoteOptions
) -> tuple[pa.Table, dict[str, int]]:
    """Votes of a bucket, and what became of the turns that cast none.

    A turn with an accepted correction votes for it. One with p(defect) <= `confirm_below` votes for what was executed;
    if it is an agent's, for its answer or tool call, with the turns before it, and only if it was not judged defective.
    A defective one without an accepted correction votes against what was done (a rejection); if it is an agent's, and
    its user asked again and was served, for that answer over its own (a preference).
    An interpretation that is not `well_formed`, as one with a blank intent, is no label, so it gets no vote.
    Outcomes of the others, the first that holds: `no_consent`, `expired` (it was to be deleted by now), `excluded`,
    `licence` (it is under none of `licences`), `no_words` (nothing is left of the utterance without punctuation),
    `uncertain`, `unknown_label` (what it would vote for or against is no label of the ontology), `outside_split` (a
    train user's turn after the cut in time, or a test user's before it), `conversation_in_train` (a test user's turn in
    a conversation in which train users speak too).
    A correction or preference holds what its supporting turns say or got, so it has no vote either where one of them is
    without consent, expired, excluded, under another licence, on the other side of the cut or in such a conversation.

    Parameters
    ----------
    turns, judgements : pyarrow.Table
        Rows of the same turns of whole subjects in the same order; of the turns at least the columns of `TURN_READS`.
    corrections : pyarrow.Table
        Correction rows of these turns, at least the columns of `CORRECTION_READS`.
    options : VoteOptions
    """
    outcome, voters = decide(turns, judgements, corrections, options)
    names, numbers = np.unique(outcome, return_counts=True)
    table = _table(turns, judgements, voters, options.context)
    return table, dict(zip(names.tolist(), numbers.tolist(), strict=True))


def _table(turns: pa.Table, judgements: pa.Table, voters: Voters, context: ContextOptions) -> pa.Table:
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


def _labels(turns: pa.Table, voters: Voters) -> pa.Array:
    """What each voter says was meant or called; null where it is an answer in words, or nobody knows."""
    executed = np.where(voters.done >= 0, voters.executed[voters.done], -1)
    done = flat(turns["interpretations"]).flatten().take(_at(executed))
    corrected = flat(voters.accepted["interpretation"]).take(_at(voters.correction))
    return pc.if_else(pa.array(voters.kind == "correction"), corrected, done)


def _at(rows: npt.NDArray[np.int64]) -> pa.Array:
    """Rows to take; null where they are negative."""
    return pa.array(np.maximum(rows, 0), mask=rows < 0)


def _supporting(turns: pa.Table, voters: Voters) -> pa.Array:
    """Turns that a correction agrees with, or the one whose answer is preferred."""
    lists = flat(voters.accepted["supporting_turns"]).take(_at(voters.correction))
    preferred = voters.kind == "preference"
    retry = flat(turns["turn_id"]).take(pa.array(voters.done[preferred]))
    offsets = pa.array(np.concatenate([[0], np.cumsum(preferred)]), pa.int32())
    return pc.if_else(pc.is_valid(lists), lists, pa.ListArray.from_arrays(offsets, retry))


def _sureness(judgements: pa.Table, voters: Voters) -> dict[str, pa.Array]:
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
    turns: pa.Table, judgements: pa.Table, voters: Voters, plain: dict[str, pa.Array], context: ContextOptions
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
