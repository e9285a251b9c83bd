from __future__ import annotations

import pytest
from build import column, turns

from features.signals import SignalOptions, signals

ASK = "who is Harold Piffard"


@pytest.mark.parametrize(("gap", "found"), [(1.0, True), (60.0, True), (60.1, False)])
def test_the_same_words_at_once_with_another_answer_are_a_regeneration(gap, found):
    rows = turns({"utterance": ASK, "response": "A painter."}, {"utterance": ASK, "response": "An artist.", "at": gap})
    assert column(signals(rows), "regenerated") == [found, None]


def test_the_gap_is_that_of_a_rephrase():
    rows = turns({"utterance": ASK, "response": "A painter."}, {"utterance": ASK, "response": "An artist.", "at": 70.0})
    assert column(signals(rows, SignalOptions(rephrase_gap=70.0)), "regenerated") == [True, None]


@pytest.mark.parametrize(
    ("second", "answers", "expected"),
    [
        (ASK.upper() + "?", ("A painter.", "An artist."), True),
        (ASK, ("A painter.", "A painter."), False),
        ("and who is his wife", ("A painter.", "Mary."), False),
        (ASK, (None, "An artist."), None),
        (ASK, ("A painter.", None), None),
        (ASK, (None, None), None),
    ],
)
def test_the_answer_has_to_be_replaced_and_both_known(second, answers, expected):
    rows = turns({"utterance": ASK, "response": answers[0]}, {"utterance": second, "response": answers[1]})
    assert column(signals(rows), "regenerated") == [expected, None]


@pytest.mark.parametrize(
    ("first", "second", "edited"),
    [
        (ASK, "Who is Harold H. Piffard?", True),
        ("net worth of Walt Disney", "what is net worth of Walt Disney?", True),
        # Of 10 characters each 8 agree: a ratio of .8, the bound.
        ("a b c dxyz", "a b c dvwz", True),
        ("a b c dxyz", "a b c uvwz", False),
        (ASK, ASK + "?", False),
        ("play some jazz", "play some jazzy", False),
        ("play some jazz now", "play some jazzy", False),
        (ASK, "how far is the moon from here", False),
    ],
)
def test_an_edit_is_nearly_the_same_long_text(first, second, edited):
    assert column(signals(turns({"utterance": first}, {"utterance": second})), "edited_next") == [edited, None]


def test_an_edit_takes_its_time():
    rows = turns({"utterance": ASK}, {"utterance": ASK + " really", "at": 299.0})
    assert column(signals(rows), "edited_next") == [True, None]
