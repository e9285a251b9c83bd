"""What the data is: one explicit, versioned Arrow schema a record type. Imports nothing of ours."""

from schemas.audit import AUDIT_SAMPLE
from schemas.chain import EDGE, ELSEWHERE, FAILURE, SUCCESS
from schemas.dead_letter import ADVICE, DEAD_LETTER, Reason
from schemas.example import CONTEXT_TURN, EXAMPLE, FAULT_KINDS, KINDS, LABEL_KINDS, LEAST_USERS, REJECTED, SPLITS, VOTE
from schemas.gates import DOMAIN_SUMMARY, EXAMPLE_SAMPLE, JUDGEMENT_SAMPLE, SIGNAL_SAMPLE, STAGE_SUMMARY, TURN_SAMPLE
from schemas.judgement import BLAMES, CANDIDATE_SOURCES, CORRECTION, JUDGEMENT, NO_DOMAIN
from schemas.known import KNOWN, TRAINING_SET_DIFF
from schemas.left_out import LEFT_OUT, LEFT_OUT_MEANINGS, LeftOutReason
from schemas.record import Column, Record
from schemas.redaction import REDACTION
from schemas.said import SAID
from schemas.signals import SIGNALS
from schemas.stage import COUNT, FILE, INPUT, RENAMED
from schemas.truth import TRUTH
from schemas.turn import (
    ASR_HYPOTHESIS,
    DERIVED,
    GOLD,
    GOLD_DEFINITIONS,
    INTERPRETATION,
    LOGGED_TURN,
    OUTCOMES,
    SLOT,
    SOURCE,
    TIME,
    TOOL_DOMAIN,
    TURN,
)
from schemas.view import MESSAGE, NLU, PROMPT_MESSAGE, RL, SFT

RECORDS: tuple[Record, ...] = (
    LOGGED_TURN,
    TURN,
    GOLD,
    SIGNALS,
    SAID,
    JUDGEMENT,
    CORRECTION,
    EDGE,
    VOTE,
    EXAMPLE,
    LEFT_OUT,
    KNOWN,
    TRAINING_SET_DIFF,
    NLU,
    SFT,
    RL,
    DEAD_LETTER,
    COUNT,
    INPUT,
    RENAMED,
    REDACTION,
    FILE,
    STAGE_SUMMARY,
    DOMAIN_SUMMARY,
    TURN_SAMPLE,
    SIGNAL_SAMPLE,
    JUDGEMENT_SAMPLE,
    EXAMPLE_SAMPLE,
    AUDIT_SAMPLE,
    TRUTH,
)

__all__ = [
    "ADVICE",
    "ASR_HYPOTHESIS",
    "AUDIT_SAMPLE",
    "BLAMES",
    "CANDIDATE_SOURCES",
    "CONTEXT_TURN",
    "CORRECTION",
    "COUNT",
    "DEAD_LETTER",
    "DERIVED",
    "DOMAIN_SUMMARY",
    "EDGE",
    "ELSEWHERE",
    "EXAMPLE",
    "EXAMPLE_SAMPLE",
    "FAILURE",
    "FAULT_KINDS",
    "FILE",
    "GOLD",
    "GOLD_DEFINITIONS",
    "INPUT",
    "INTERPRETATION",
    "JUDGEMENT",
    "JUDGEMENT_SAMPLE",
    "KINDS",
    "KNOWN",
    "LABEL_KINDS",
    "LEAST_USERS",
    "LEFT_OUT",
    "LEFT_OUT_MEANINGS",
    "LOGGED_TURN",
    "MESSAGE",
    "NLU",
    "NO_DOMAIN",
    "OUTCOMES",
    "PROMPT_MESSAGE",
    "RECORDS",
    "REDACTION",
    "REJECTED",
    "RENAMED",
    "RL",
    "SAID",
    "SFT",
    "SIGNALS",
    "SIGNAL_SAMPLE",
    "SLOT",
    "SOURCE",
    "SPLITS",
    "STAGE_SUMMARY",
    "SUCCESS",
    "TIME",
    "TOOL_DOMAIN",
    "TRAINING_SET_DIFF",
    "TRUTH",
    "TURN",
    "TURN_SAMPLE",
    "VOTE",
    "Column",
    "LeftOutReason",
    "Reason",
    "Record",
]
