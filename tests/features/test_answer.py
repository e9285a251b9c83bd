from __future__ import annotations

import pytest
from build import column, turns

from features.answer import WORD_SECONDS
from features.signals import signals


@pytest.mark.parametrize(
    ("signal", "outcome", "words"),
    [
        ("falls_back", "fallback", "Sorry, I didn't understand that."),
        ("clarifies", "clarify", "Which lamp?"),
        ("hands_off", "handoff", "I will connect you to an agent."),
    ],
)
def test_the_outcome_says_it_and_without_one_the_words(signal, outcome, words):
    rows = [
        {"outcome": outcome, "response": "ok"},
        {"outcome": "answered", "response": words},
        {"response": words},
        {"response": "Done."},
        {},
    ]
    assert column(signals(turns(*rows)), signal) == [True, False, True, False, False]


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"response": "Sorry, I can't do that."}, True),
        ({"response": "Jazz. Is that right?"}, True),
        ({"outcome": "error"}, True),
        ({"prompt": "Which stop do you want?", "response": "Please say: which stop do you want?"}, True),
        ({"response": "Playing jazz."}, False),
        ({"outcome": "handoff"}, False),
        ({}, False),
    ],
)
def test_a_session_that_ends_on_an_open_answer_is_abandoned(fields, left):
    got = signals(turns({"response": "Sorry, I can't do that.", "outcome": "error"}, fields))
    assert column(got, "abandoned") == [False, left]


def test_dwell_is_the_gap_less_the_time_to_hear_the_answer():
    got = signals(turns({"response": "one two three four"}, {"response": "word " * 40}, {}, {"response": "x"}))
    first, *others = column(got, "dwell")
    assert first == pytest.approx(10.0 - 4 * WORD_SECONDS)
    assert others == [0.0, None, None]
