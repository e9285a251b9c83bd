"""Signals: what a turn's own record, and what came after it, tell about it."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.record import Column, Record
from schemas.turn import TIME

F32: Final = pa.float32()
I32: Final = pa.int32()
BOOL: Final = pa.bool_()


def _key(name: str, type: pa.DataType, meaning: str, nullable: bool = False) -> Column:
    return Column(name, type, meaning, None, nullable, "key")


def _own(name: str, type: pa.DataType, meaning: str, unit: str | None = None, group: str = "satisfaction") -> Column:
    return Column(name, type, meaning, unit, True, group, needs_reaction=False)


def _reaction(
    name: str, type: pa.DataType, meaning: str, unit: str | None = None, group: str = "satisfaction"
) -> Column:
    return Column(name, type, meaning, unit, True, group, needs_reaction=True)


# Columns that read what the system did with the turn: later than the interpretation, though no reaction of
# the user.
ANSWER: Final = (
    "asks_confirmation",
    "system_repeat",
    "question_repeat",
    "response_tokens",
    "apologises",
    "cannot_help",
    "falls_back",
    "clarifies",
    "hands_off",
    "outcome_failed",
    "tool_failed",
    "echo",
)

# One entry a hypothesis, in the order of Turn.interpretations; then what later turns in reach took their request to be.
CANDIDATE_COLUMNS: Final = (
    Column("candidate_id", pa.int64(), "64-bit hash of domain, intent and slots", None, False, "key"),
    Column("frame_id", pa.int64(), "64-bit hash of domain, intent and slot names", None, False, "key"),
    Column("value_id", pa.int64(), "64-bit hash of the slot values; 0 = no values", None, False, "key"),
    Column("first", BOOL, "False where an earlier hypothesis of the turn says the same", None, False, "key"),
    Column(
        "offset", I32, "0 = the turn's own; else turns to the later one that it was taken from", "turns", False, "key"
    ),
    _own("mass", F32, "Summed score of the turn's hypotheses that say the same", "score", "intent"),
    _own("rank", I32, "Rank by summed score among distinct candidates, from 0", "rank", "intent"),
    _own("share", F32, "Summed score over the n-best's total; null where scores are missing", "share", "intent"),
    _own("repeats", I32, "How many hypotheses of the turn say the same", "hypotheses", "intent"),
    _own(
        "kin_mass",
        F32,
        "Its summed score, with that of readings of its frame by the likeness of their values",
        "score",
        "intent",
    ),
    _own("kin", F32, "Highest likeness of values among those candidates; 0 = none", "[0, 1]", "intent"),
    _own(
        "earlier_top",
        I32,
        "Earlier turns within the horizon whose best hypothesis says the same",
        "turns",
        "intent",
    ),
    _own("earlier_mass", F32, "Its summed score in earlier n-best lists within the horizon", "score", "intent"),
    _own("echo", BOOL, "The system's answer says its slot values; null = no values", None, "intent"),
    _own("denied_before", I32, "Earlier confirmations of its values that were denied", "turns", "intent"),
    _own("affirmed_before", I32, "Earlier confirmations of its values that were affirmed", "turns", "intent"),
    _reaction(
        "later_top",
        I32,
        "Later turns within the horizon whose best hypothesis says the same",
        "turns",
        "intent",
    ),
    _reaction("later_mass", F32, "Its summed score in later n-best lists within the horizon", "score", "intent"),
    _reaction("later_frame", I32, "Later turns whose best has its frame but other values", "turns", "intent"),
    _reaction("later_echo", I32, "Later answers within the horizon that say its slot values", "turns", "intent"),
    _reaction("affirmed_after", I32, "Later confirmations of its values that were affirmed", "turns", "intent"),
    _reaction("denied_after", I32, "Later confirmations of its values that were denied", "turns", "intent"),
    _reaction("next_value_similarity", F32, "Its slot values against the next best's", "[0, 1]", "intent"),
    _reaction(
        "rephrase",
        F32,
        "Likeness of the words of the later turn that it was taken from; null = own hypothesis",
        "[0, 1]",
        "intent",
    ),
    _reaction(
        "ends_friction",
        BOOL,
        "What the user settled on after rephrasing, denying or correcting; null = no such turns, or none is",
        None,
        "intent",
    ),
    _reaction("support_offset", I32, "Turns to the first later turn that says the same; 0 = none", "turns", "intent"),
)
CANDIDATE: Final = pa.struct([pa.field(c.name, c.type) for c in CANDIDATE_COLUMNS])

SIGNALS: Final = Record(
    name="signals",
    version=3,
    key=("turn_id",),
    meaning="Satisfaction and intent signals, one row a turn, in the order subject, time, sequence, turn_id.",
    columns=(
        _key("turn_id", pa.string(), "The turn"),
        _key("subject_id", pa.string(), "Whose turn"),
        _key("session_id", pa.string(), "turn_id of the session's first turn"),
        Column("event_time", TIME, "Start of the user's request", "us UTC", False, "key"),
        _key("domain", pa.string(), "Domain of the leading interpretation; null = none", nullable=True),
        _key("intent", pa.string(), "Intent of the leading interpretation; null = none", nullable=True),
        Column(
            "utterance_id",
            pa.int64(),
            "64-bit hash of the normalised utterance; null = no words",
            None,
            True,
            "key",
        ),
        Column(
            "question_id",
            pa.int64(),
            "64-bit hash of the prompt's question; null = no prompt",
            None,
            True,
            "key",
        ),
        # satisfaction: place and time
        _own("turns_before", I32, "Turns of the session before this one", "turns"),
        _reaction("turns_after", I32, "Turns of the session after this one", "turns"),
        _own("new_conversation", BOOL, "The platform's conversation changed at this turn"),
        _own("gap_before", F32, "From the previous request of the session; null = first", "s"),
        _reaction("gap_after", F32, "To the next request of the session; null = last", "s"),
        _reaction("dwell", F32, "gap_after less the time to hear or read the answer; null = last or no answer", "s"),
        _own("skipped_before", I32, "Positions with no request since the last turn; null = has a parent", "turns"),
        _reaction("skipped_after", I32, "Positions with no request before the next; null = that has a parent", "turns"),
        # satisfaction: the user's words
        _own("utterance_tokens", I32, "Whitespace tokens of the utterance", "tokens"),
        _own("rephrase_before", F32, "Likeness of the previous utterance; null = first", "[0, 1]"),
        _reaction("rephrase_next", F32, "Likeness of the next utterance; null = last", "[0, 1]"),
        _reaction("rephrase_best", F32, "Highest likeness within the next turns and the time gap", "[0, 1]"),
        _reaction("rephrase_offset", I32, "Turns to that utterance; null = none in reach", "turns"),
        _reaction("rephrase_gap", F32, "Time to that utterance; null = none in reach", "s"),
        _own("repeats_before", I32, "Earlier turns within the horizon with the same words", "turns"),
        _reaction("repeats_next", BOOL, "The next turn has the same words; null = last"),
        _reaction("repeats_after", I32, "Later turns within the horizon with the same words", "turns"),
        _reaction("edited_next", BOOL, "The next utterance is this one with a small edit; null = last"),
        _reaction(
            "regenerated",
            BOOL,
            "The same words come again at once and get another answer; null = last or an answer not logged",
        ),
        _own("sentiment", F32, "Balance of the user's words of sentiment; 0 = none", "[-1, 1]"),
        _reaction("sentiment_next", F32, "The next turn's; null = last", "[-1, 1]"),
        _own("pastes_error", BOOL, "The user's text holds an error message or a stack trace"),
        _reaction("pastes_error_next", BOOL, "The next turn's text holds one; null = last"),
        _own("negates", BOOL, "The user says no or that it is wrong"),
        _own("affirms", BOOL, "The user says yes or that it is right"),
        _own("goes_back", BOOL, "The user asks to go back or to change the answer"),
        _own("restarts", BOOL, "The user starts over"),
        _own("corrects", BOOL, "The user says what was meant instead"),
        _own("complains", BOOL, "The user says that the answer is wrong or of no use, not what is right"),
        _own("asks_back", BOOL, "The user asks what the system means"),
        _own("gives_up", BOOL, "The user drops the request"),
        _own("closes", BOOL, "The user ends the dialog"),
        _own("escalates", BOOL, "The user asks for a person"),
        _own("thanks", BOOL, "The user thanks or praises"),
        _own("says_sorry", BOOL, "The user apologises"),
        _reaction("negates_next", BOOL, "The next turn negates; null = last"),
        _reaction("affirms_next", BOOL, "The next turn affirms; null = last"),
        _reaction("goes_back_next", BOOL, "The next turn goes back; null = last"),
        _reaction("restarts_next", BOOL, "The next turn restarts; null = last"),
        _reaction("corrects_next", BOOL, "The next turn corrects; null = last"),
        _reaction("complains_next", BOOL, "The next turn complains; null = last"),
        _reaction("asks_back_next", BOOL, "The next turn asks back; null = last"),
        _reaction("gives_up_next", BOOL, "The next turn gives up; null = last"),
        _reaction("closes_next", BOOL, "The next turn closes; null = last"),
        _reaction("escalates_next", BOOL, "The next turn asks for a person; null = last"),
        _reaction("thanks_next", BOOL, "The next turn thanks; null = last"),
        _reaction("says_sorry_next", BOOL, "The next turn apologises; null = last"),
        _reaction("negates_second", BOOL, "The turn after the next negates, goes back or restarts"),
        _own("barge_in", BOOL, "This request cut the system short; null = not logged"),
        _reaction("barge_in_next", BOOL, "The next request cut this answer short; null = not logged or last"),
        # satisfaction: the system's words
        _own("asked_confirmation", BOOL, "The prompt asked the user to confirm"),
        _own("asks_confirmation", BOOL, "The answer asks the user to confirm"),
        _reaction("confirmation", I32, "+1 confirmed, -1 denied, 0 neither; null = not asked or last"),
        _own("system_repeat", F32, "Likeness of the answer to the prompt before it", "[0, 1]"),
        _reaction("system_repeat_next", F32, "Likeness of the next answer to this one; null = last", "[0, 1]"),
        _own("question_repeat", F32, "How far the answer asks the prompt's question again", "[0, 1]"),
        _own("response_tokens", I32, "Whitespace tokens of the answer; null = not logged", "tokens"),
        _own("apologises", BOOL, "The answer apologises"),
        _own("cannot_help", BOOL, "The answer says the request cannot be served"),
        _own("falls_back", BOOL, "The answer says the request was not understood; by outcome, else by its words"),
        _own("clarifies", BOOL, "The answer asks which or what is meant; by outcome, else by its words"),
        _own("hands_off", BOOL, "The answer hands over to a person; by outcome, else by its words"),
        _reaction("abandoned", BOOL, "The session ends here though the answer failed or asked"),
        _own("prompt_apologises", BOOL, "The prompt before the request apologises"),
        _own(
            "outcome_failed",
            BOOL,
            "Outcome is fallback, clarify, error, handoff or refused; null = not logged",
        ),
        _own("tool_failed", BOOL, "The tool call failed, by outcome or the answer's words; null = no tool call"),
        _reaction("tool_retried", BOOL, "The next turn calls the failed tool again; null = none failed or last"),
        _own("explicit_rating", F32, "The user's own rating; null = none", "[0, 1]"),
        # satisfaction: confidence
        _own("asr_confidence", F32, "Best recognition hypothesis' confidence", "[0, 1]"),
        _own("asr_margin", F32, "Best confidence less the second's; null = fewer than two", "[0, 1]"),
        _own("asr_hypotheses", I32, "Recognition hypotheses", "hypotheses"),
        _reaction("asr_confidence_next", F32, "The next turn's recognition confidence; null = last", "[0, 1]"),
        _own("top_score", F32, "Best interpretation's score", "score"),
        _own("score_margin", F32, "Best candidate's summed score less the second's; null = one", "score"),
        _own("score_entropy", F32, "Entropy of the candidates' shares; null = no scores", "nats"),
        _own("candidates_distinct", I32, "Distinct candidates in the n-best", "candidates"),
        _reaction("top_score_next", F32, "The next turn's best score; null = last", "score"),
        # intent: what later interpretations agree on
        _reaction("same_interpretation_next", BOOL, "The next best says the same; null = last", None, "intent"),
        _reaction("same_frame_next", BOOL, "The next best has the same frame; null = last", None, "intent"),
        _reaction(
            "slots_kept_next", I32, "Slots that the next best has with the same value; null = last", "slots", "intent"
        ),
        _reaction(
            "slots_changed_next", I32, "Slots that the next best has with another value; null = last", "slots", "intent"
        ),
        _reaction(
            "partial_rephrase",
            BOOL,
            "The next best has the same frame, one slot changed and at least one kept; null = last",
            None,
            "intent",
        ),
        Column(
            "candidates",
            pa.list_(CANDIDATE),
            "Evidence for each hypothesis of the turn",
            None,
            False,
            "intent",
            True,
        ),
    ),
)
