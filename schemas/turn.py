"""Turn: one user request and what the system did with it; Gold: what people say of it."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.record import Column, Record

TIME: Final = pa.timestamp("us", tz="UTC")

SLOT: Final = pa.struct(
    [
        pa.field("name", pa.string()),
        pa.field("value", pa.string()),
        # Half-open span in code points of `utterance`; null where the source gives none.
        pa.field("start", pa.int32()),
        pa.field("end", pa.int32()),
    ]
)
INTERPRETATION: Final = pa.struct(
    [
        pa.field("domain", pa.string()),
        pa.field("intent", pa.string()),
        pa.field("slots", pa.list_(SLOT)),
        pa.field("score", pa.float64()),
    ]
)
ASR_HYPOTHESIS: Final = pa.struct([pa.field("text", pa.string()), pa.field("confidence", pa.float64())])
SOURCE: Final = pa.struct([pa.field("uri", pa.string()), pa.field("position", pa.int64())])

# An interpretation of this domain is the tool call of an LLM agent: the intent names the tool, the slots are its
# arguments. All other domains are an NLU's.
TOOL_DOMAIN: Final = "tool"

# Before a conversation that stands for a user, as none is logged.
CONVERSATION_SUBJECT: Final = "conv:"

# What `excluded` says of a turn without the consent that is asked for, and of one that was to be deleted by now; what
# becomes of them has the same names.
NO_CONSENT: Final = "no_consent"
EXPIRED: Final = "expired"

OUTCOMES: Final = ("answered", "fallback", "clarify", "error", "handoff", "refused")

TURN: Final = Record(
    name="turn",
    version=3,
    key=("turn_id",),
    meaning="One user request and what the system did with it.",
    columns=(
        Column("turn_id", pa.string(), "Unique id; a stated hash where the log has none", None, False, "key"),
        Column("conversation_id", pa.string(), "The platform's own dialog id; null = not logged", group="key"),
        Column("user_id", pa.string(), "The platform's user id; null = not logged", group="key"),
        Column("subject_id", pa.string(), "Whose turn: user_id, else conv:<conversation_id>", None, False, "key"),
        Column("user_known", pa.bool_(), "False where subject_id stands for a conversation", None, False, "key"),
        Column("sequence", pa.int64(), "Position in the conversation as logged, from 0", "turns", False, "key"),
        Column(
            "parent_id",
            pa.string(),
            "turn_id of the turn that it follows, of the same subject; null = none",
            group="key",
        ),
        Column(
            "orphan",
            pa.bool_(),
            "True = the logged parent is not there, is the turn itself, or closes a cycle; null = none logged",
            group="key",
        ),
        Column("event_time", TIME, "Start of the user's request", "us UTC", False, "time"),
        Column("received_time", TIME, "When the log line arrived; null = not logged", "us UTC", group="time"),
        Column("locale", pa.string(), "BCP 47 tag; null = not logged"),
        Column("channel", pa.string(), "Device or channel (phone, chat ...); null = not logged"),
        Column("app_version", pa.string(), "Version of the client; null = not logged"),
        Column("prompt", pa.string(), "What the system said last before the request; null = not logged"),
        Column("utterance", pa.string(), "What was heard or typed, never empty", None, False),
        Column("asr", pa.list_(ASR_HYPOTHESIS), "Recogniser's hypotheses, best first; confidence in [0, 1]"),
        Column(
            "interpretations",
            pa.list_(INTERPRETATION),
            "NLU n-best: in a turn what was acted on first, then by score; a tool call is one too",
        ),
        Column(
            "executed", pa.int32(), "Index of what was acted on, in a turn always 0; null = nothing was", "index from 0"
        ),
        Column("response", pa.string(), "What the system answered; null = not logged"),
        Column("outcome", pa.string(), f"One of: {', '.join(OUTCOMES)}; null = not logged"),
        Column("barge_in", pa.bool_(), "The request cut the system's speech short; null = not logged"),
        Column("explicit_rating", pa.float64(), "The user's own rating of the answer; null = none", "[0, 1]"),
        Column("policy", pa.string(), "Version of the system that answered; null = not logged"),
        Column("propensity", pa.float64(), "Probability with which the policy chose its action", "[0, 1]"),
        Column("consent", pa.bool_(), "False = may not be used for learning; null = not stated"),
        Column("licence", pa.string(), "Licence that the text is under, an SPDX id or a name; null = not stated"),
        Column(
            "excluded",
            pa.string(),
            "What keeps it out of learning (`no_consent`, `expired`, or a filter's or an incident's name); null = "
            "nothing does",
        ),
        Column("region", pa.string(), "Where the data must stay; null = not stated"),
        Column("expires", TIME, "To be deleted by then, and not learned from; null = not stated", "us UTC"),
        Column("source", SOURCE, "File (relative to the input) and line or row it was read from", None, False),
        Column("extra", pa.string(), "Fields of the log that have no column here, as a JSON object"),
    ),
)

GOLD_DEFINITIONS: Final = ("wrong_interpretation", "dissatisfied", "breakdown", "right_interpretation")

GOLD: Final = Record(
    name="gold",
    version=1,
    key=("turn_id", "definition", "candidate_id", "source"),
    meaning="What people, or a transcription, say of a turn. Read by train, evaluate and audit; reviewers' by label.",
    columns=(
        Column("turn_id", pa.string(), "The turn judged", None, False, "key"),
        Column("definition", pa.string(), f"One of: {', '.join(GOLD_DEFINITIONS)}", None, False, "key"),
        Column("candidate_id", pa.string(), "The interpretation judged; null = the turn as a whole", group="key"),
        Column("value", pa.float64(), "Share of raters who say the definition holds", "[0, 1]", False),
        Column("raters", pa.int32(), "How many judged; null = not stated", "people"),
        Column(
            "source",
            pa.string(),
            "Where the label comes from and how it was derived; `reviewer/...` settles a turn",
            None,
            False,
            "key",
        ),
        Column("read_from", SOURCE, "File (relative to the input) and line or row; null = not read from a file"),
        Column("available_at", TIME, "When the label became known; null = not stated", "us UTC", group="time"),
    ),
)


def _logged(column: Column) -> Column:
    """A Turn column as a reader gives it: any value may be missing, times are text as logged."""
    type = pa.string() if column.type == TIME else column.type
    return Column(column.name, type, column.meaning, column.unit, True, column.group)


# Columns that follow from the others, or from the configuration, when a turn is checked.
DERIVED: Final = ("subject_id", "user_known", "orphan", "excluded")

# Times are text until the declared zone is applied.
LOGGED_TURN: Final = Record(
    name="logged_turn",
    version=3,
    key=("source",),
    meaning="A turn as a reader gives it, before it is checked. What a reader of a new format has to fill.",
    columns=tuple(_logged(c) for c in TURN.columns if c.name not in DERIVED),
)
