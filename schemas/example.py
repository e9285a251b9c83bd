"""Example: one supervised pair with its evidence; and the `nlu` view of it."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.judgement import BLAMES
from schemas.record import Column, Record
from schemas.turn import INTERPRETATION, SLOT

KINDS: Final = ("correction", "confirmation")
SPLITS: Final = ("train", "test")

PROVENANCE: Final = pa.struct(
    [
        pa.field("turn_ids", pa.list_(pa.string())),
        pa.field("supporting_turns", pa.list_(pa.string())),
        pa.field("defect_model_id", pa.string()),
        pa.field("correction_model_id", pa.string()),
        pa.field("policies", pa.list_(pa.string())),
    ]
)

VOTE: Final = Record(
    name="vote",
    version=1,
    key=("turn_id",),
    meaning="What one judged turn says its utterance means; pooled over users into an Example.",
    columns=(
        Column("turn_id", pa.string(), "The turn", None, False, "key"),
        Column("subject_id", pa.string(), "Whose turn", None, False, "key"),
        Column("split", pa.string(), f"One of: {', '.join(SPLITS)}; by the subject's hash, then time", None, False),
        Column("pool_key", pa.string(), "Locale and normalised utterance; equal ones are pooled", None, False, "key"),
        Column("label_id", pa.int64(), "64-bit hash of domain, intent and slots", None, False, "key"),
        Column("locale", pa.string(), "BCP 47 tag; null = not logged"),
        Column("utterance", pa.string(), "The utterance as logged", None, False),
        Column("label", INTERPRETATION, "What it means", None, False),
        Column("kind", pa.string(), f"One of: {', '.join(KINDS)}", None, False),
        Column("blame", pa.string(), f"One of: {', '.join(BLAMES)}", None, False),
        Column(
            "probability", pa.float64(), "p(correct) of a correction, 1 - p(defect) of a confirmation", "[0, 1]", False
        ),
        Column("certified", pa.bool_(), "The correction's turn and candidate are both certified", None, False),
        Column("policy", pa.string(), "Version of the system that answered; null = not logged"),
        Column("supporting_turns", pa.list_(pa.string()), "Later turns that agree", None, False),
    ),
)

EXAMPLE: Final = Record(
    name="example",
    version=1,
    key=("example_id",),
    meaning="One supervised pair, pooled over the users who support it.",
    columns=(
        Column("example_id", pa.string(), "Hash of split, locale, utterance, label and kind", None, False, "key"),
        Column("locale", pa.string(), "BCP 47 tag; null = not logged"),
        Column("utterance", pa.string(), "Input: the utterance as most of its users' turns have it", None, False),
        Column("domain", pa.string(), "Label: domain; null = the NLU has none"),
        Column("intent", pa.string(), "Label: intent, or tool name", None, False),
        Column("slots", pa.list_(SLOT), "Label: slots or arguments; spans in code points", None, False),
        Column("kind", pa.string(), f"One of: {', '.join(KINDS)}", None, False),
        Column("blame", pa.string(), f"Component blamed most often: {', '.join(BLAMES)}", None, False),
        Column("confidence", pa.float64(), "Mean probability of the label over the pooled turns", "[0, 1]", False),
        Column("support", pa.int32(), "Distinct users who support the label", "users", False),
        Column("agreement", pa.float64(), "Share of the utterance's users who support it", "[0, 1]", False),
        Column("certified", pa.bool_(), "Every pooled correction was certified; False without one", None, False),
        Column("provenance", PROVENANCE, "Turns, models and policies behind it", None, False),
        Column("split", pa.string(), f"One of: {', '.join(SPLITS)}", None, False),
        Column("weight", pa.float64(), "Training weight", "relative", False),
    ),
)

NLU: Final = Record(
    name="nlu",
    version=1,
    key=("id",),
    meaning="Examples for intent and slot training, in the fields that Hugging Face datasets use.",
    columns=(
        Column("id", pa.string(), "example_id", None, False, "key"),
        Column("text", pa.string(), "The utterance", None, False),
        Column("domain", pa.string(), "Domain; null = the NLU has none"),
        Column("intent", pa.string(), "Intent", None, False),
        Column("slots", pa.string(), "Slots as a JSON array of {name, value, start, end}", None, False),
        Column("tokens", pa.list_(pa.string()), "Whitespace tokens of text", None, False),
        Column(
            "ner_tags", pa.list_(pa.string()), "BIO tag a token; slots without a span are only in `slots`", None, False
        ),
        Column("locale", pa.string(), "BCP 47 tag; null = not logged"),
        Column("kind", pa.string(), f"One of: {', '.join(KINDS)}", None, False),
        Column("blame", pa.string(), f"Component blamed: {', '.join(BLAMES)}", None, False),
        Column("confidence", pa.float64(), "Mean probability of the label", "[0, 1]", False),
        Column("support", pa.int32(), "Distinct users who support the label", "users", False),
        Column("weight", pa.float64(), "Training weight", "relative", False),
        Column("provenance", pa.string(), "Turns, models and policies behind it, as JSON", None, False),
    ),
)
