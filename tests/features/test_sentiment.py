from __future__ import annotations

import pytest
from build import column, turns
from hypothesis import given
from hypothesis import strategies as st

from features.lexicon import load
from features.signals import signals

WORDS = ["good", "great", "bad", "wrong", "not", "train", "very"]


def score(*texts: str) -> list[float]:
    return column(signals(turns(*({"utterance": text} for text in texts))), "sentiment")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("take me to Oslo", 0.0),
        ("that is good", 0.5),
        ("Good, great!", 2 / 3),
        ("this is bad", -0.5),
        ("good but wrong", 0.0),
        ("not good", -0.5),
        ("it isn't very good", -0.5),
        ("not in any way good", 0.5),
        ("not bad", 0.5),
        ("!?", 0.0),
    ],
)
def test_words_balance_and_a_negator_in_reach_turns_one_over(text, value):
    assert score(text) == [pytest.approx(value)]


def test_a_negator_of_the_text_before_turns_nothing_over():
    assert score("why not", "good") == [0.0, 0.5]


def test_the_next_turns_is_null_at_the_end():
    got = signals(turns({"utterance": "bad"}, {"utterance": "good"}, {"utterance": "bad", "subject_id": "v"}))
    assert column(got, "sentiment_next") == [0.5, None, None]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
def test_it_stays_within_its_bounds_and_words_alone_decide(words):
    once, other = score(" ".join(words), ", ".join(words).upper())
    assert -1.0 < once < 1.0
    assert once == other
    tones = sum(word in load().sentiment["positive"] + load().sentiment["negative"] for word in words)
    assert abs(once) <= tones / (tones + 1) + 1e-6
