"""Truth: what the users of a simulated log meant. Written beside the log; no stage of a run reads it."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.record import Column, Record

MOVES: Final = (
    "request",
    "again",
    "refine",
    "rephrase",
    "repeat",
    "correct",
    "deny",
    "affirm",
    "cancel",
    "thank",
    "human",
)

TRUTH: Final = Record(
    name="truth",
    version=1,
    key=("turn_id",),
    meaning="What the user of a simulated turn meant, and whether they got it.",
    columns=(
        Column("turn_id", pa.string(), "The turn", None, False, "key"),
        Column("move", pa.string(), f"What the user did. One of: {', '.join(MOVES)}", None, False),
        Column("said", pa.string(), "The words that were said; the utterance is what was heard", None, False),
        Column("domain", pa.string(), "Domain of what was meant", None, False),
        Column("intent", pa.string(), "Intent of what was meant", None, False),
        Column(
            "slots",
            pa.list_(pa.struct([pa.field("name", pa.string()), pa.field("value", pa.string())])),
            "Slots of what was meant, by name",
            None,
            False,
        ),
        Column("candidate_id", pa.string(), "Its id, as Gold and Correction carry it", None, False),
        Column("rank", pa.int32(), "Its place in the turn's n-best, from 0; null = not there", "rank"),
        Column("wrong", pa.bool_(), "The turn's leading interpretation is another", None, False),
        Column("satisfied", pa.bool_(), "The answer does what was meant, or asks whether to", None, False),
    ),
)
