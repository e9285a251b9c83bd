"""Said: the words about a turn that models over words read. Written by train for its own rows, and by no release."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.record import Column, Record

SAID: Final = Record(
    name="said",
    version=1,
    key=("turn_id",),
    meaning="Normalised words of a turn, its answer and the reaction to it, with question and exclamation marks.",
    columns=(
        Column("turn_id", pa.string(), "The turn", None, False, "key"),
        Column("utterance", pa.string(), "The user's words", None, False),
        Column("answer", pa.string(), "The system's words in answer; null = not logged"),
        Column(
            "reaction",
            pa.string(),
            "The user's words in the session's next turn; null = last",
            needs_reaction=True,
        ),
    ),
)
