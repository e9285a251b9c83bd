"""The `sft` view: chat messages that end with what the assistant is to learn.

Trainers may mask by role, and then every assistant message is learned, those of the context too. So a context holds
none that was judged defective or may well be, and what the system said after a tool call stands there as the tool's
reply: the call's result is not logged, and words without their ground are nothing to learn.
"""

from __future__ import annotations

import pyarrow as pa

from pipeline.writers.chat import chats
from pipeline.writers.check import check
from pipeline.writers.completions import asked, is_reading, label, replied
from pipeline.writers.rows import rows
from pipeline.writers.texts import label_text, provenance_text
from schemas import SFT


def sft(examples: pa.Table) -> pa.Table:
    """The view's rows, one an example, in the same order.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows of corrections, confirmations and answers.

    Raises
    ------
    GateError
        If an example cannot be learned: it ends with nothing, or a tool call is malformed.
    """
    reading = is_reading(examples)
    reply = replied(examples, label(examples), reading, label_text(examples))
    messages = chats([*asked(examples, reading), *reply], examples.num_rows)
    check(SFT.name, examples["example_id"], messages)
    own = {
        "id": examples["example_id"],
        "messages": messages,
        "tools": pa.nulls(examples.num_rows, pa.string()),
        "provenance": provenance_text(examples),
    }
    return rows(SFT, examples, own)
