"""Edge: how many users went from what a request was taken for to what its reformulation was taken for."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.record import Column, Record

# Targets that are no reading: how a request ended, or that it ended well after what too few users went on to.
SUCCESS: Final = 0
FAILURE: Final = -1
ELSEWHERE: Final = -2

EDGE: Final = Record(
    name="edge",
    version=1,
    key=("words", "reading", "target", "fold"),
    meaning="Users who went on from a reading to that of a reformulation, or ended there; the reformulation chain.",
    columns=(
        Column("words", pa.int64(), "Hash of the request's words; null = whatever the words", None, True, "key"),
        Column("reading", pa.int64(), "Candidate id of what it was taken for; 0 = nothing", None, False, "key"),
        Column(
            "target",
            pa.int64(),
            f"Candidate id of its reformulation; {SUCCESS} = ended well, {FAILURE} badly, {ELSEWHERE} well elsewhere",
            None,
            False,
            "key",
        ),
        Column("fold", pa.int32(), "Fold of the users", None, False, "key"),
        Column("users", pa.int64(), "Distinct users", "users", False),
        Column("well", pa.int64(), "Of them, those with whom it ended well at last", "users", False),
        Column("interpretation", pa.string(), "The target as JSON {domain, intent, slots}; null = an end"),
    ),
)
