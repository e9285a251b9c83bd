"""The `kto` view: single replies that were right, or wrong, each with its request."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline.writers.chat import chats
from pipeline.writers.check import check
from pipeline.writers.completions import asked, is_reading, label, rejected, replied
from pipeline.writers.rows import rows
from pipeline.writers.texts import provenance_text
from schemas import KTO


def labels(examples: pa.Table) -> pa.Array:
    """Whether the reply that the view shows of each example is right, shape (n,)."""
    return pc.not_equal(flat(examples["kind"]), "rejection")


def kto(examples: pa.Table) -> pa.Table:
    """The view's rows, one an example, in the same order: the label of what is right, what was rejected of a rejection.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows of corrections, confirmations, answers, and rejections that say what was rejected.

    Raises
    ------
    GateError
        If an example cannot be learned: its reply holds nothing, or a tool call is malformed.
    """
    n, ids, right = examples.num_rows, examples["example_id"], labels(examples)
    reading = is_reading(examples)
    done = label(examples).where(right, rejected(examples))
    prompt = chats(asked(examples, reading), n)
    completion = chats(replied(examples, done, reading), n)
    check(KTO.name, ids, prompt, ends="user")
    check(KTO.name, ids, completion)
    own = {
        "id": ids,
        "prompt": prompt,
        "completion": completion,
        "label": right,
        "provenance": provenance_text(examples),
    }
    return rows(KTO, examples, own)
