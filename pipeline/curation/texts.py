"""What of an example is compared with others: all that it says, and what it says it means."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import SEPARATOR, hash_texts
from features.interpretation import flatten, list_offsets
from features.text import flat, normalise
from pipeline.curation.shingles import I64
from schemas import LABEL_KINDS
from schemas.turn import INTERPRETATION

READS: Final = (
    "example_id",
    "split",
    "locale",
    "kind",
    "utterance",
    "domain",
    "intent",
    "slots",
    "response",
    "context",
    "rejected",
    "support",
)


def texts(examples: pa.Table) -> pa.Array:
    """The words of each example, shape (n,): those of its context, its utterance, its response and what was rejected.

    Parameters
    ----------
    examples : pyarrow.Table
        n EXAMPLE rows, at least `READS`.
    """
    rejected = pc.struct_field(flat(examples["rejected"]), "response")
    parts = [_context(flat(examples["context"])), flat(examples["utterance"]), flat(examples["response"]), rejected]
    return normalise(pc.binary_join_element_wise(*(p.fill_null("") for p in parts), " "))


def _context(context: pa.ListArray) -> pa.Array:
    """What was said and called in each context, in order."""
    turns = context.flatten()
    said = [turns.field(name).fill_null("") for name in ("utterance", "tool")]
    arguments = turns.field("arguments")
    values = _joined(list_offsets(arguments), arguments.flatten().field("value"))
    every = pc.binary_join_element_wise(*said, values, turns.field("response").fill_null(""), " ")
    return _joined(list_offsets(context), every)


def _joined(offsets: I64, values: pa.Array) -> pa.Array:
    """Neighbouring texts as one, shape (len(offsets) - 1,)."""
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values.fill_null(""))
    return pc.binary_join(lists, " ")


def labels(examples: pa.Table) -> I64:
    """Hash of what each example teaches, apart from its words, shape (n,): examples of one are duplicates of each other
    if they read alike.

    That is its split, locale, domain, intent, slots and what was rejected; a correction and a confirmation may teach
    the same, an example of another kind is another lesson. An answer in words has its response in its words alone.
    """
    count = examples.num_rows
    kind = flat(examples["kind"])
    lesson = pc.if_else(pc.is_in(kind, value_set=pa.array(LABEL_KINDS)), "label", kind)
    meant = _meaning(*(flat(examples[name]) for name in ("domain", "intent", "slots")))
    rejected = flat(examples["rejected"])
    wrong = _meaning(*(pc.struct_field(rejected, name) for name in ("domain", "intent", "slots")))
    parts = [flat(examples["split"]), flat(examples["locale"]).fill_null(""), lesson]
    held = [p.cast(pa.string()) for p in (*parts, pa.array(meant), pa.array(wrong))]
    return hash_texts(pc.binary_join_element_wise(*held, SEPARATOR)).view(np.int64) if count else np.zeros(0, np.int64)


def _meaning(domain: pa.Array, intent: pa.Array, slots: pa.Array) -> I64:
    """The hash that `features.interpretation` gives to each domain, intent and slots, whatever their order."""
    fields = {"domain": domain, "intent": intent, "slots": slots}
    held = [fields.get(f.name, pa.nulls(len(domain), f.type)) for f in INTERPRETATION]
    entries = pa.StructArray.from_arrays(held, fields=list(INTERPRETATION))
    return flatten(pa.ListArray.from_arrays(pa.array(np.arange(len(domain) + 1), pa.int32()), entries)).candidate_id
