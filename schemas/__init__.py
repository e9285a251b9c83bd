"""What the data is: one explicit, versioned Arrow schema a record type. Imports nothing of ours."""

from schemas.dead_letter import ADVICE, DEAD_LETTER, Reason
from schemas.example import EXAMPLE, KINDS, NLU, SPLITS, VOTE
from schemas.judgement import BLAMES, CANDIDATE_SOURCES, CORRECTION, JUDGEMENT
from schemas.record import Column, Record
from schemas.signals import SIGNALS
from schemas.stage import COUNT, FILE, INPUT
from schemas.truth import TRUTH
from schemas.turn import (
    ASR_HYPOTHESIS,
    GOLD,
    GOLD_DEFINITIONS,
    INTERPRETATION,
    LOGGED_TURN,
    OUTCOMES,
    SLOT,
    SOURCE,
    TIME,
    TURN,
)

RECORDS: tuple[Record, ...] = (
    LOGGED_TURN,
    TURN,
    GOLD,
    SIGNALS,
    JUDGEMENT,
    CORRECTION,
    VOTE,
    EXAMPLE,
    NLU,
    DEAD_LETTER,
    COUNT,
    INPUT,
    FILE,
    TRUTH,
)

__all__ = [
    "ADVICE",
    "ASR_HYPOTHESIS",
    "BLAMES",
    "CANDIDATE_SOURCES",
    "CORRECTION",
    "COUNT",
    "DEAD_LETTER",
    "EXAMPLE",
    "FILE",
    "GOLD",
    "GOLD_DEFINITIONS",
    "INPUT",
    "INTERPRETATION",
    "JUDGEMENT",
    "KINDS",
    "LOGGED_TURN",
    "NLU",
    "OUTCOMES",
    "RECORDS",
    "SIGNALS",
    "SLOT",
    "SOURCE",
    "SPLITS",
    "TIME",
    "TRUTH",
    "TURN",
    "VOTE",
    "Column",
    "Reason",
    "Record",
]
