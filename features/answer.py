"""What became of the request: fallback, clarification, hand-over; how long the answer held; whether the user left."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from features.lexicon import Lexicon, matches
from features.timeline import Timeline

# To hear or to read a word: about 170 a minute, between slow speech and quick reading.
WORD_SECONDS: Final = 0.35
# An answer that asks the prompt's question again from here on has got no further.
ASKED_AGAIN: Final = 0.8

# Signal to the logged outcome that says it.
_OUTCOMES: Final = {"falls_back": "fallback", "clarifies": "clarify", "hands_off": "handoff"}


def system_outcomes(outcome: pa.Array, response: pa.Array, lexicon: Lexicon) -> dict[str, pa.Array]:
    """Whether the answer falls back, asks for clarification, or hands over to a person.

    By the logged outcome; where none is logged, by the answer's words, and a missing answer does none of it.

    Parameters
    ----------
    outcome : pyarrow.StringArray
        As logged, shape (n,).
    response : pyarrow.StringArray, or dictionary-encoded
        Normalised answers, shape (n,).
    lexicon : Lexicon
        The language.
    """
    out = {}
    for signal, name in _OUTCOMES.items():
        by_words = matches(response, lexicon.system[signal]).fill_null(False)
        out[signal] = pc.coalesce(pc.equal(outcome, name), by_words)
    return out


def abandoned(line: Timeline, columns: dict[str, pa.Array]) -> pa.Array:
    """Whether the session ends with this turn though its answer failed or asked something, shape (n,), never null.

    An answer failed or asked where it falls back, cannot help, asks for clarification or confirmation, asks the
    prompt's question again (`question_repeat` of at least `ASKED_AGAIN`), or its outcome is logged as failed. A
    hand-over to a person is an end, not an abandonment.
    """
    asked_again = pc.greater_equal(columns["question_repeat"], ASKED_AGAIN)
    open_ended = asked_again.fill_null(False)
    for name in ("falls_back", "cannot_help", "clarifies", "asks_confirmation", "outcome_failed"):
        open_ended = pc.or_(open_ended, columns[name].fill_null(False))
    last = pa.array(line.position == line.length - 1)
    return pc.and_(pc.and_(last, open_ended), pc.invert(columns["hands_off"]))


def dwell(gap_after: pa.Array, response_tokens: pa.Array) -> pa.Array:
    """Seconds that the answer held the user: the gap less `WORD_SECONDS` a word of the answer, never below 0.

    Null at a session's last turn and where no answer was logged.
    """
    spoken = pc.multiply(response_tokens.cast(pa.float32()), pa.scalar(WORD_SECONDS, pa.float32()))
    return pc.max_element_wise(pc.subtract(gap_after, spoken), pa.scalar(0.0, pa.float32()), skip_nulls=False)
