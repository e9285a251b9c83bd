"""Views: what each consumer reads, made from Example rows. One fixed schema each, so that all shards agree."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.example import LABEL_KINDS
from schemas.judgement import BLAMES
from schemas.record import Column, Record

# The form of chat templates. Arguments are a JSON object as text: as a struct, every call would be given the keys of
# all others, filled with null.
TOOL_CALL: Final = pa.struct(
    [
        pa.field("id", pa.string()),
        pa.field("type", pa.string()),
        pa.field("function", pa.struct([pa.field("name", pa.string()), pa.field("arguments", pa.string())])),
    ]
)
MESSAGE: Final = pa.struct(
    [
        pa.field("role", pa.string()),
        pa.field("content", pa.string()),
        pa.field("tool_calls", pa.list_(TOOL_CALL)),
        pa.field("tool_call_id", pa.string()),
    ]
)
# verl's own: `style` and `ground_truth` are read, the rest is handed on to the reward.
REWARD_MODEL: Final = pa.struct([pa.field("style", pa.string()), pa.field("ground_truth", pa.string())])
EXTRA_INFO: Final = pa.struct(
    [
        pa.field("index", pa.int64()),
        pa.field("split", pa.string()),
        pa.field("id", pa.string()),
        pa.field("domain", pa.string()),
        pa.field("intent", pa.string()),
        pa.field("locale", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("support", pa.int32()),
        pa.field("confidence", pa.float64()),
        pa.field("solve_rate", pa.float64()),
    ]
)
PROMPT_MESSAGE: Final = pa.struct([pa.field("role", pa.string()), pa.field("content", pa.string())])

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
        Column("kind", pa.string(), f"One of: {', '.join(LABEL_KINDS)}", None, False),
        Column("blame", pa.string(), f"Component blamed: {', '.join(BLAMES)}", None, False),
        Column("confidence", pa.float64(), "Mean probability of the label", "[0, 1]", False),
        Column("support", pa.int32(), "Distinct users who support the label", "users", False),
        Column("weight", pa.float64(), "Training weight", "relative", False),
        Column("provenance", pa.string(), "Turns, judged domains, models and policies behind it, as JSON", None, False),
    ),
)

SFT: Final = Record(
    name="sft",
    version=1,
    key=("id",),
    meaning="Chat messages that end with what the assistant is to learn: an interpretation as JSON, a tool call, or an "
    "answer.",
    columns=(
        Column("id", pa.string(), "example_id", None, False, "key"),
        Column(
            "messages",
            pa.list_(MESSAGE),
            "{role, content, tool_calls, tool_call_id}; the last is the completion; no assistant turn before it is "
            "defective",
            None,
            False,
        ),
        Column("tools", pa.string(), "Tools that could be called, as a JSON array; null = none, or not logged"),
        Column("locale", pa.string(), "BCP 47 tag; null = not logged"),
        Column("kind", pa.string(), f"One of: {', '.join(LABEL_KINDS)}, answer", None, False),
        Column("confidence", pa.float64(), "Mean probability of the completion", "[0, 1]", False),
        Column("support", pa.int32(), "Distinct users who support the completion", "users", False),
        Column("weight", pa.float64(), "Training weight", "relative", False),
        Column("provenance", pa.string(), "Turns, judged domains, models and policies behind it, as JSON", None, False),
    ),
)

RL: Final = Record(
    name="rl",
    version=1,
    key=("key",),
    meaning="Prompts whose reward can be checked: the reply is the interpretation, or it is not. No tool calls.",
    columns=(
        Column("key", pa.string(), "example_id, unique over splits and shards", None, False, "key"),
        Column("prompt", pa.list_(PROMPT_MESSAGE), "Messages up to the reply", None, False),
        Column("answer", pa.string(), "The right reply: {domain, intent, slots} as compact JSON", None, False),
        Column("domain", pa.string(), "Domain; null = the NLU has none"),
        Column("intent", pa.string(), "Intent", None, False),
        Column("locale", pa.string(), "BCP 47 tag; null = not logged"),
        Column("kind", pa.string(), f"One of: {', '.join(LABEL_KINDS)}", None, False),
        Column("support", pa.int32(), "Distinct users who support the answer", "users", False),
        Column("confidence", pa.float64(), "Mean probability of the answer", "[0, 1]", False),
        Column(
            "solve_rate",
            pa.float64(),
            "Share of the pooled turns in which the logged system acted on the answer: how easy it is; null = unknown",
            "[0, 1]",
        ),
        Column("info", pa.string(), "Agreement, blame, certified and provenance, as a JSON object", None, False),
    ),
)

_PROVENANCE: Final = "Turns, judged domains, models and policies behind it, as JSON"
_REPLY: Final = "{role, content, tool_calls, tool_call_id}, one message of the assistant's"

PREFERENCE: Final = Record(
    name="preference",
    version=1,
    key=("id",),
    meaning="Two replies to one request: the right one, and what was done in its place and found wrong.",
    columns=(
        Column("id", pa.string(), "example_id", None, False, "key"),
        Column("prompt", pa.list_(MESSAGE), "Messages up to the reply; the last is the user's", None, False),
        Column("chosen", pa.list_(MESSAGE), f"The right reply, as {_REPLY}", None, False),
        Column("rejected", pa.list_(MESSAGE), "The wrong one, in the same form; never the same", None, False),
        Column(
            "margin",
            pa.float64(),
            "2 confidence - 1: by how much it is likelier that chosen is right than that it is not",
            "[-1, 1]",
            False,
        ),
        Column("locale", pa.string(), "BCP 47 tag; null = not logged"),
        Column("kind", pa.string(), "One of: correction, preference", None, False),
        Column("confidence", pa.float64(), "Mean probability of the chosen reply", "[0, 1]", False),
        Column("support", pa.int32(), "Distinct users who support the chosen reply", "users", False),
        Column("weight", pa.float64(), "Training weight", "relative", False),
        Column("provenance", pa.string(), _PROVENANCE, None, False),
    ),
)

KTO: Final = Record(
    name="kto",
    version=1,
    key=("id",),
    meaning="Single replies that were right or wrong. A split in which all are one of these has no rows.",
    columns=(
        Column("id", pa.string(), "example_id", None, False, "key"),
        Column("prompt", pa.list_(MESSAGE), "Messages up to the reply; the last is the user's", None, False),
        Column("completion", pa.list_(MESSAGE), f"The reply, as {_REPLY}", None, False),
        Column("label", pa.bool_(), "Whether the reply is right; a rejection's is what was done", None, False),
        Column("locale", pa.string(), "BCP 47 tag; null = not logged"),
        Column("kind", pa.string(), "One of: correction, confirmation, answer, rejection", None, False),
        Column("confidence", pa.float64(), "Mean probability that `label` holds", "[0, 1]", False),
        Column("support", pa.int32(), "Distinct users who support it", "users", False),
        Column("weight", pa.float64(), "Training weight", "relative", False),
        Column("provenance", pa.string(), _PROVENANCE, None, False),
    ),
)

VERL: Final = Record(
    name="verl",
    version=1,
    key=("id",),
    meaning="The prompts of `rl` in the columns of verl's RL data sets, with native lists and structs.",
    columns=(
        Column("id", pa.string(), "example_id", None, False, "key"),
        Column("prompt", pa.list_(PROMPT_MESSAGE), "Messages up to the reply", None, False),
        Column("data_source", pa.string(), "What the reward function is chosen by; the same for all", None, False),
        Column("ability", pa.string(), "The same for all", None, False),
        Column("reward_model", REWARD_MODEL, "{style, ground_truth}: a rule, and the right reply", None, False),
        Column(
            "extra_info",
            EXTRA_INFO,
            "{index, split, id, domain, intent, locale, kind, support, confidence, solve_rate}; index is a number from "
            "the id",
            None,
            False,
        ),
    ),
)

REVIEW: Final = Record(
    name="review",
    version=1,
    key=("id",),
    meaning="Defects without a label, for people: what was asked, what was done, and what is to blame.",
    columns=(
        Column("id", pa.string(), "example_id", None, False, "key"),
        Column("utterance", pa.string(), "The utterance", None, False),
        Column("domain", pa.string(), "Domain of what was done; null = none"),
        Column("intent", pa.string(), "Intent that was acted on, or the tool's name; null = it was answered in words"),
        Column("slots", pa.string(), "Slots or arguments, a JSON array of {name, value, start, end}", None, False),
        Column("response", pa.string(), "What the system said; null = nothing logged"),
        Column("locale", pa.string(), "BCP 47 tag; null = not logged"),
        Column("kind", pa.string(), "rejection", None, False),
        Column("blame", pa.string(), f"Component blamed most often: {', '.join(BLAMES)}", None, False),
        Column("confidence", pa.float64(), "Mean probability that it was wrong", "[0, 1]", False),
        Column("support", pa.int32(), "Distinct users to whom it was done", "users", False),
        Column("turn_ids", pa.list_(pa.string()), "The turns, for the log or `afterword explain`", None, False),
        Column("provenance", pa.string(), _PROVENANCE, None, False),
    ),
)
