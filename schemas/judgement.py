"""Judgement and Correction: what the models conclude of a turn."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.record import Column, Record
from schemas.turn import INTERPRETATION, TIME

BLAMES: Final = ("asr", "intent", "slots", "action", "unsupported", "none")
# What a threshold rests on; models/thresholds.py says when which.
BASES: Final = ("domain", "pooled", "estimated", "option", "abstain", "unknown")
CANDIDATE_SOURCES: Final = ("n-best", "rephrase", "chain", "confirmed", "tool", "reviewer")

# How turns, and examples whose label has no domain, are counted and named.
NO_DOMAIN: Final = "(none)"

REASON: Final = pa.struct([pa.field("signal", pa.string()), pa.field("contribution", pa.float64())])

JUDGEMENT: Final = Record(
    name="judgement",
    version=2,
    key=("turn_id", "model_id"),
    meaning="Whether a turn failed its user, how sure that is, and which component is to blame.",
    columns=(
        Column("turn_id", pa.string(), "The turn judged", None, False, "key"),
        Column("model_id", pa.string(), "SHA-256 of the defect model's file", None, False, "key"),
        Column("subject_id", pa.string(), "Whose turn", None, False, "key"),
        Column("session_id", pa.string(), "Session the turn belongs to (its first turn's id)", None, False, "key"),
        Column("event_time", TIME, "Start of the user's request", "us UTC", False, "time"),
        Column("domain", pa.string(), "Domain of the interpretation judged, the leading one; null = none"),
        Column("p_defect", pa.float64(), "Calibrated probability of a defect", "[0, 1]", False),
        Column("threshold", pa.float64(), "A turn at or above it is judged defective; its domain's", "[0, 1]", False),
        Column(
            "threshold_basis",
            pa.string(),
            f"What it rests on. One of: {', '.join(BASES)}",
            None,
            False,
        ),
        Column("is_defect", pa.bool_(), "p_defect >= threshold", None, False),
        Column("certified", pa.bool_(), "Threshold passed its precision bound on later gold", None, False),
        Column("blame", pa.string(), f"One of: {', '.join(BLAMES)}", None, False),
        Column("reasons", pa.list_(REASON), "Signals that moved the score most, strongest first", "log-odds"),
    ),
)

CORRECTION: Final = Record(
    name="correction",
    version=1,
    key=("turn_id", "candidate_id", "model_id"),
    meaning="One candidate for what the user of a defective turn really meant.",
    columns=(
        Column("turn_id", pa.string(), "The turn to correct", None, False, "key"),
        Column("candidate_id", pa.string(), "Hash of domain, intent and slots", None, False, "key"),
        Column("model_id", pa.string(), "SHA-256 of the correction model's file", None, False, "key"),
        Column("interpretation", INTERPRETATION, "The candidate", None, False),
        Column("source", pa.string(), f"One of: {', '.join(CANDIDATE_SOURCES)}", None, False),
        Column("p_correct", pa.float64(), "Calibrated probability that the user meant it", "[0, 1]", False),
        Column("margin", pa.float64(), "Its lead: p_correct less the best other candidate's", "[-1, 1]", False),
        Column("accepted", pa.bool_(), "Passed every rule of acceptance for a turn", None, False),
        Column("certified", pa.bool_(), "Its lead passed a precision bound on later gold", None, False),
        Column(
            "supporting_turns",
            pa.list_(pa.string()),
            "Later turns that agree: the first, and the one it was taken from",
            None,
            False,
        ),
    ),
)
