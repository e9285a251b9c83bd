"""Tail: the turns that a release hands to the next run."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.record import Column, Record
from schemas.turn import TURN

TAIL: Final = Record(
    name="tail",
    version=1,
    key=("turn_id",),
    meaning="A turn that the next run reads again: of a session still open, or of one that late events may yet join.",
    columns=(
        *TURN.columns,
        Column(
            "judged_by",
            pa.string(),
            "Earlier release that judged its session; null = this one, or of an open session none yet",
            group="key",
        ),
    ),
)
