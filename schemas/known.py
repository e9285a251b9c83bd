"""The present training set, as it is held against new examples, and what of these contradicts it."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.example import KINDS, SPLITS
from schemas.record import Column, Record
from schemas.turn import INTERPRETATION

KNOWN: Final = Record(
    name="known",
    version=1,
    key=("place",),
    meaning="One row of the training set that the NLU has now.",
    columns=(
        Column("place", pa.string(), "file:row that it was read from", None, False, "key"),
        Column("words", pa.string(), "Its text, normalised as examples are pooled by", None, False),
        Column("label", INTERPRETATION, "What it says that the text means; the score is null", None, False),
    ),
)

TRAINING_SET_DIFF: Final = Record(
    name="training_set_diff",
    version=1,
    key=("example_id",),
    meaning="A new example that contradicts the training set: for people to decide, as nothing is written over it.",
    columns=(
        Column("text", pa.string(), "The utterance", None, False),
        Column("label_now", pa.string(), "What the training set says that it means; several stand one after another"),
        Column("label_proposed", pa.string(), "What its users meant; of a rejection what they did not", None, False),
        Column("support", pa.int32(), "Distinct users who support it", "users", False),
        Column("confidence", pa.float64(), "Mean probability of the label over the pooled turns", "[0, 1]", False),
        Column("kind", pa.string(), f"One of: {', '.join(KINDS)}", None, False),
        Column("split", pa.string(), f"One of: {', '.join(SPLITS)}", None, False),
        Column("place", pa.string(), "file:row of the training set, the first of these words", None, False),
        Column("example_id", pa.string(), "Id of the example", None, False, "key"),
    ),
)
