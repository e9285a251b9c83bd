"""The `preference` view: two replies to one request, of which the first is to be preferred."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from models.correction import DECIMALS
from pipeline.writers.chat import chats
from pipeline.writers.check import check
from pipeline.writers.completions import asked, is_reading, label, rejected, replied
from pipeline.writers.rows import rows
from pipeline.writers.texts import label_text, provenance_text
from schemas import PREFERENCE


def preference(examples: pa.Table) -> pa.Table:
    """The view's rows, one an example, in the same order.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows of preferences and corrections that say what was rejected, and that it is another reply.

    Raises
    ------
    GateError
        If an example cannot be learned: a reply holds nothing, or a tool call is malformed.
    """
    n, ids, reading = examples.num_rows, examples["example_id"], is_reading(examples)
    prompt = chats(asked(examples, reading), n)
    chosen = chats(replied(examples, label(examples), reading, label_text(examples)), n)
    other = chats(replied(examples, rejected(examples), reading), n)
    check(PREFERENCE.name, ids, prompt, ends="user")
    for reply in (chosen, other):
        check(PREFERENCE.name, ids, reply)
    own = {
        "id": ids,
        "prompt": prompt,
        "chosen": chosen,
        "rejected": other,
        "margin": pa.array(np.round(2 * examples["confidence"].to_numpy() - 1, DECIMALS)),
        "provenance": provenance_text(examples),
    }
    return rows(PREFERENCE, examples, own)
