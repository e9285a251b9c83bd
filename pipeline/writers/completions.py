"""What the assistant is to say, or not to say, to an example's request: its label, or what was done in its place.

Two forms of request: a reading asks for the interpretation of one utterance, as JSON; a dialog ends with the utterance
and is answered in words or with a tool call.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat, is_true
from pipeline.writers.chat import AFTER_REQUEST, Messages, called, dialogs, requests, said
from pipeline.writers.slots import interpretations
from schemas import LABEL_KINDS, TOOL_DOMAIN

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Done:
    """What is, or was, done with n requests: an interpretation or a tool call, else an answer in words.

    Attributes
    ----------
    domain, intent, response : pyarrow.StringArray, shape (n,)
    slots : pyarrow.ListArray, shape (n,)
    """

    domain: pa.Array
    intent: pa.Array
    slots: pa.ListArray
    response: pa.Array

    def where(self, mask: pa.Array, other: Done) -> Done:
        """What this has where the mask is true, and elsewhere what the other has."""
        return Done(*(pc.if_else(mask, getattr(self, f.name), getattr(other, f.name)) for f in fields(self)))

    @property
    def is_call(self) -> Mask:
        """Whether it is a tool call, shape (n,)."""
        return is_true(pc.equal(self.domain, TOOL_DOMAIN))


def label(examples: pa.Table) -> Done:
    """What is right to do."""
    return Done(*(flat(examples[c]) for c in ("domain", "intent", "slots", "response")))


def rejected(examples: pa.Table) -> Done:
    """What was done and found wrong; null where nothing is known of it."""
    held = flat(examples["rejected"])
    return Done(*(pc.struct_field(held, c) for c in ("domain", "intent", "slots", "response")))


def is_reading(examples: pa.Table) -> Mask:
    """Whether each example's request asks for an interpretation, shape (n,)."""
    kind, right, wrong = flat(examples["kind"]), label(examples), rejected(examples)
    is_label = is_true(pc.is_in(kind, value_set=pa.array(LABEL_KINDS)))
    worded = is_true(right.response.is_valid()) | ~is_true(right.intent.is_valid())
    preferred = is_true(pc.equal(kind, "preference")) & ~worded
    refused = is_true(pc.equal(kind, "rejection")) & is_true(wrong.intent.is_valid()) & ~wrong.is_call
    return np.asarray(((is_label | preferred) & ~right.is_call) | refused, dtype=bool)


def asked(examples: pa.Table, reading: Mask) -> list[Messages]:
    """The requests."""
    said_to = flat(examples["utterance"])
    return [
        *requests(said_to, np.flatnonzero(reading)),
        *dialogs(said_to, flat(examples["context"]), np.flatnonzero(~reading)),
    ]


def replied(examples: pa.Table, done: Done, reading: Mask, texts: pa.Array | None = None) -> list[Messages]:
    """The replies, one a request; `texts` are the interpretations where they are known already."""
    read, call = np.flatnonzero(reading), np.flatnonzero(~reading & done.is_call)
    words = np.flatnonzero(~reading & ~done.is_call)
    at_read, at_call, at_words = (pa.array(rows) for rows in (read, call, words))
    if texts is None:
        meant = interpretations(*(c.take(at_read) for c in (done.domain, done.intent, done.slots)))
    else:
        meant = texts.take(at_read)
    owner = flat(examples["example_id"]).take(at_call)
    return [
        said(read, AFTER_REQUEST, "assistant", meant),
        called(call, AFTER_REQUEST, owner, done.intent.take(at_call), done.slots.take(at_call)),
        said(words, AFTER_REQUEST, "assistant", done.response.take(at_words)),
    ]


def says_something(done: Done, reading: Mask) -> Mask:
    """Whether a reply can be made of it: an intent or a tool is named, or words were said, shape (n,)."""
    named = is_true(pc.not_equal(done.intent.fill_null(""), ""))
    worded = is_true(pc.not_equal(pc.utf8_trim_whitespace(done.response.fill_null("")), ""))
    return np.where(reading | done.is_call, named, worded)


def differ(examples: pa.Table) -> Mask:
    """Whether what was done and found wrong is known, and another reply than the right one, shape (n,)."""
    known = is_true(flat(examples["rejected"]).is_valid()).copy()
    held = examples.filter(pa.array(known))
    reading, right, wrong = is_reading(held), label(held), rejected(held)
    meant, done = (interpretations(d.domain, d.intent, d.slots) for d in (right, wrong))
    same = is_true(pc.equal(meant, done)) & (reading | (right.is_call & wrong.is_call))
    words = ~reading & ~right.is_call & ~wrong.is_call
    same = np.where(words, is_true(pc.equal(right.response, wrong.response)), same)
    known[known] = ~same & says_something(wrong, reading)
    return known
