"""The `review` view: what was done and found wrong while nobody knows what was right, for people to look at."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline.writers.completions import rejected
from pipeline.writers.rows import rows
from pipeline.writers.slots import spans
from pipeline.writers.texts import provenance_text
from schemas import REVIEW


def review(examples: pa.Table) -> pa.Table:
    """The view's rows, one an example, in the same order.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows of rejections.
    """
    done = rejected(examples)
    entries = done.slots.flatten()
    own = {
        "id": examples["example_id"],
        "domain": done.domain,
        "intent": done.intent,
        "slots": spans(done.slots, entries.field("start"), entries.field("end")),
        "response": done.response,
        "turn_ids": pc.struct_field(flat(examples["provenance"]), "turn_ids"),
        "provenance": provenance_text(examples),
    }
    return rows(REVIEW, examples, own)
