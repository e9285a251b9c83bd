"""Example: one supervised pair with its evidence; Vote: what one turn gives to it."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.judgement import BLAMES, NO_DOMAIN
from schemas.record import Column, Record
from schemas.turn import INTERPRETATION, SLOT

# What an utterance means, which other replies can be held against; an agent's answer is no such label.
LABEL_KINDS: Final = ("correction", "confirmation")
# `preference`: of two answers to the same request the one that satisfied, and the one that did not. `rejection`: what
# was done was wrong, and nobody knows what was right.
KINDS: Final = (*LABEL_KINDS, "answer", "preference", "rejection")
# What of a turn was not right: a correction says what was meant, the others do not.
FAULT_KINDS: Final = ("correction", "preference", "rejection")
# Option of section `curate` that says how many distinct users an example of each kind needs.
LEAST_USERS: Final = {
    "correction": "min_users",
    "confirmation": "min_users",
    "answer": "answer_min_users",
    "preference": "answer_min_users",
    "rejection": "reject_min_users",
}
SPLITS: Final = ("train", "test")

PROVENANCE: Final = pa.struct(
    [
        pa.field("turn_ids", pa.list_(pa.string())),
        pa.field("supporting_turns", pa.list_(pa.string())),
        # Domains that the turns were judged in, as the gates count them.
        pa.field("domains", pa.list_(pa.string())),
        pa.field("defect_model_id", pa.string()),
        pa.field("correction_model_id", pa.string()),
        pa.field("policies", pa.list_(pa.string())),
        pa.field("licences", pa.list_(pa.string())),
        # Pseudonyms of the distinct users who support it (`features.hashing.pseudonyms`): what `forget` finds them by,
        # and what proves the split. They stay in the lineage; no view holds them.
        pa.field("subjects", pa.list_(pa.string())),
        # The same of the conversations that its texts are from, where the log names them.
        pa.field("conversations", pa.list_(pa.string())),
    ]
)

# What was done and found wrong: an interpretation or a tool call, or an answer in words.
REJECTED: Final = pa.struct(
    [
        pa.field("domain", pa.string()),
        pa.field("intent", pa.string()),
        pa.field("slots", pa.list_(SLOT)),
        pa.field("response", pa.string()),
    ]
)

# What a turn before an answer holds of it: the request, and the tool call or the words that it got.
CONTEXT_TURN: Final = pa.struct(
    [
        pa.field("turn_id", pa.string()),
        pa.field("utterance", pa.string()),
        # Null where no tool was called.
        pa.field("tool", pa.string()),
        pa.field("arguments", pa.list_(SLOT)),
        pa.field("response", pa.string()),
        pa.field("p_defect", pa.float64()),
        # The domain that it was judged in, as the gates count it.
        pa.field("domain", pa.string()),
    ]
)
_CONTEXT: Final = "Of an agent: turns before it, oldest first, none defective, as {turn_id, utterance, tool, "
_CONTEXT_END: Final = "arguments, response, p_defect, domain (as judged)}; null = of another kind"

_REJECTED: Final = "What was done in its place and found wrong, as {domain, intent, slots, response}; null = nothing"

_DOMAINS: Final = f"Domains that it and the turn that did it were judged in, as the gates count; {NO_DOMAIN} = none"

VOTE: Final = Record(
    name="vote",
    version=7,
    key=("turn_id",),
    meaning="What one judged turn says its utterance means; pooled over users into an Example.",
    columns=(
        Column("turn_id", pa.string(), "The turn", None, False, "key"),
        Column("subject_id", pa.string(), "Whose turn", None, False, "key"),
        Column("split", pa.string(), f"One of: {', '.join(SPLITS)}; by the subject's hash, then time", None, False),
        Column(
            "pool_key",
            pa.string(),
            "Locale and normalised utterance; of an agent's its context's hash too; of a preference or rejection its "
            "kind; equal ones are pooled",
            None,
            False,
            "key",
        ),
        Column(
            "label_id",
            pa.int64(),
            "64-bit hash of domain, intent and slots; of an answer, of the exact words and what they got; of a "
            "rejection, of what is rejected; of a preference, of both",
            None,
            False,
            "key",
        ),
        Column("locale", pa.string(), "BCP 47 tag; null = not logged"),
        Column("domains", pa.list_(pa.string()), _DOMAINS, None, False),
        Column("utterance", pa.string(), "The utterance as logged", None, False),
        Column("label", INTERPRETATION, "What it means, or the tool call; null = it was answered in words"),
        Column("response", pa.string(), "Answer: what the system said; null = nothing logged, or of another kind"),
        Column("context", pa.list_(CONTEXT_TURN), _CONTEXT + _CONTEXT_END),
        Column("rejected", REJECTED, _REJECTED),
        Column(
            "right_id",
            pa.int64(),
            "64-bit hash of what is right, however it was asked: a reading or a call, or words in their context",
        ),
        Column("rejected_id", pa.int64(), "The same of what is rejected; null = nothing"),
        Column("kind", pa.string(), f"One of: {', '.join(KINDS)}", None, False),
        Column("blame", pa.string(), f"One of: {', '.join(BLAMES)}", None, False),
        Column(
            "probability",
            pa.float64(),
            "p(correct) of a correction, p(defect) of a rejection, else 1 - p(defect) of what is learned",
            "[0, 1]",
            False,
        ),
        Column("certified", pa.bool_(), "The defect is certified, and the correction too if it is one", None, False),
        Column("policies", pa.list_(pa.string()), "Versions of the system that answered there", None, False),
        Column("licences", pa.list_(pa.string()), "Licences of all texts that it rests on", None, False),
        Column("supporting_turns", pa.list_(pa.string()), "Later turns that agree", None, False),
        Column("conversations", pa.list_(pa.string()), "Conversations of all texts that it rests on", None, False),
    ),
)

EXAMPLE: Final = Record(
    name="example",
    version=5,
    key=("example_id",),
    meaning="One supervised pair, pooled over the users who support it.",
    columns=(
        Column("example_id", pa.string(), "Hash of split, locale, utterance, label and kind", None, False, "key"),
        Column("locale", pa.string(), "BCP 47 tag; null = not logged"),
        Column("utterance", pa.string(), "Input: the utterance as most of its users' turns have it", None, False),
        Column("domain", pa.string(), "Label: domain; null = the NLU has none"),
        Column("intent", pa.string(), "Label: intent, or tool name; null = answered in words"),
        Column("slots", pa.list_(SLOT), "Label: slots or arguments; spans in code points", None, False),
        Column("response", pa.string(), "Answer: what the system said; null = nothing logged, or of another kind"),
        Column("context", pa.list_(CONTEXT_TURN), _CONTEXT + _CONTEXT_END),
        Column("rejected", REJECTED, _REJECTED),
        Column("kind", pa.string(), f"One of: {', '.join(KINDS)}", None, False),
        Column("blame", pa.string(), f"Component blamed most often: {', '.join(BLAMES)}", None, False),
        Column("confidence", pa.float64(), "Mean probability of the label over the pooled turns", "[0, 1]", False),
        Column("support", pa.int32(), "Distinct users who support the label", "users", False),
        Column(
            "agreement",
            pa.float64(),
            "Share of the utterance's users who support it; null = an answer, of which several may be right",
            "[0, 1]",
        ),
        Column(
            "solve_rate",
            pa.float64(),
            "Share of the pooled turns in which the system had acted on the label: how easy it is; null = unknown",
            "[0, 1]",
        ),
        Column("certified", pa.bool_(), "Every pooled defect and correction was certified; False without", None, False),
        Column(
            "provenance",
            PROVENANCE,
            "Turns, judged domains, models, policies, licences, users and conversations behind it",
            None,
            False,
        ),
        Column("split", pa.string(), f"One of: {', '.join(SPLITS)}", None, False),
        Column("weight", pa.float64(), "Training weight", "relative", False),
    ),
)
