"""Tool calls of an LLM agent: whether a call failed, and whether it was made again."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from features.lexicon import Lexicon, matches
from features.text import distinct
from features.timeline import Timeline
from schemas.turn import TOOL_DOMAIN


def tool_failed(domain: pa.Array, outcome: pa.Array, response: pa.Array, lexicon: Lexicon) -> pa.Array:
    """Whether the tool call that a turn acted on failed, shape (n,); null where it acted on none.

    It failed where the outcome is logged as an error, or the answer's words say so: an agent that tells of an error has
    answered.

    Parameters
    ----------
    domain, outcome : pyarrow.StringArray
        Of the leading interpretation, and as logged, shape (n,).
    response : pyarrow.StringArray, or dictionary-encoded
        Normalised and folded answers, shape (n,).
    lexicon : Lexicon
        The language.
    """
    calls = pc.equal(domain, TOOL_DOMAIN).fill_null(False)
    rows = pc.indices_nonzero(calls)
    said = response.take(rows)
    # Held anew, so that the answers to calls alone are looked at.
    said = distinct(said.dictionary_decode() if isinstance(said, pa.DictionaryArray) else said)
    by_words = matches(said, lexicon.system["reports_error"]).fill_null(False)
    failed = pc.or_(pc.equal(outcome.take(rows), "error").fill_null(False), by_words)
    return pc.replace_with_mask(pa.nulls(len(domain), pa.bool_()), calls, failed)


def tool_retried(failed: pa.Array, domain: pa.Array, intent: pa.Array, line: Timeline) -> pa.Array:
    """Whether the next turn calls the tool again whose call failed here, shape (n,); null = none failed, or last turn.

    `same_interpretation_next` and `slots_changed_next` say whether its arguments are the same.

    Parameters
    ----------
    failed : pyarrow.BooleanArray
        From `tool_failed`, shape (n,).
    domain, intent : pyarrow.StringArray
        Of the leading interpretation, shape (n,).
    line : Timeline
        Sessions.
    """
    following, exists = line.neighbour(1)
    rows = pa.array(following)
    again = pc.and_(pc.equal(domain, domain.take(rows)), pc.equal(intent, intent.take(rows))).fill_null(False)
    known = pc.and_(failed.fill_null(False), pa.array(exists))
    return pc.if_else(known, again, pa.scalar(None, pa.bool_()))
