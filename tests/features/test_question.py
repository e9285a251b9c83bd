from __future__ import annotations

import pyarrow as pa
import pytest
from build import column, turns

from features.lexicon import load
from features.question import questions
from features.signals import signals


def question(text):
    return questions(pa.array([text], pa.string()), load("en")).to_pylist()[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Okay, 61C. Where are you leaving from?", "leaving from"),
        ("Sorry, say the stop you're leaving from, like the airport.", "stop leaving from"),
        ("Where to? Say a stop.", "to"),
        ("Which day? Which time?", "time"),
        ("Playing jazz", "playing jazz"),
        ("What is it?", "what is it"),
        ("...", None),
        ("", None),
        (None, None),
    ],
)
def test_the_question_without_examples_and_filler(text, expected):
    assert question(text) == expected


def test_the_same_question_in_other_words_is_repeated():
    got = signals(
        turns(
            {
                "prompt": "Where are you leaving from?",
                "response": "Sorry, say the stop you're leaving from, like X.",
            },
            {"response": "And where are you going to?"},
            {"prompt": None, "response": None},
        )
    )
    first, second, third = column(got, "question_repeat")
    assert first == 1.0
    assert second < 0.6
    assert third is None
    ids = column(got, "question_id")
    assert ids[0] != ids[1]
    assert len(set(ids)) == 3


def test_without_a_prompt_there_is_no_question():
    got = signals(turns({"prompt": None, "response": "Which day?"}))
    assert column(got, "question_id") == [None]
    assert column(got, "question_repeat") == [None]


def test_the_whole_answer_is_compared_too():
    got = signals(turns({"prompt": "Which day?", "response": "Which day?"}, {"response": "Monday it is."}))
    assert column(got, "system_repeat")[0] == 1.0
    assert column(got, "system_repeat")[1] < 0.5
    assert column(got, "system_repeat_next") == [column(got, "system_repeat")[1], None]
    assert column(got, "response_tokens") == [2, 3]
