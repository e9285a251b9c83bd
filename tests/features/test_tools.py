from __future__ import annotations

import pytest
from build import column, interpretation, turns

from features.signals import signals


def call(tool: str = "book", **arguments: str) -> list[dict]:
    return [interpretation(tool, None, "tool", **arguments)]


@pytest.mark.parametrize(
    ("outcome", "response", "failed"),
    [
        ("error", None, True),
        ("error", "All done.", True),
        (None, "Error: payment method not found", True),
        ("answered", "I'm afraid something went wrong.", True),
        ("answered", "The request timed out", True),
        ("answered", "Booked.", False),
        ("fallback", "Which day?", False),
        (None, None, False),
        (None, "I found no errors in it", False),
    ],
)
def test_a_call_fails_by_its_outcome_or_the_answers_words(outcome, response, failed):
    got = signals(turns({"nbest": call(), "outcome": outcome, "response": response}))
    assert column(got, "tool_failed") == [failed]


def test_only_the_call_acted_on_counts():
    rows = turns(
        {"outcome": "error"},
        {"nbest": [interpretation("book")], "outcome": "error"},
        {"nbest": [interpretation("book"), *call()], "outcome": "error"},
        {"nbest": [*call(), interpretation("book")], "outcome": "error"},
    )
    assert column(signals(rows), "tool_failed") == [None, None, None, True]


@pytest.mark.parametrize(
    ("following", "retried", "same", "changed"),
    [
        (call(day="friday"), True, True, 0),
        (call(day="sunday"), True, False, 1),
        (call("list", day="friday"), False, False, 0),
        ([interpretation("book", day="friday")], False, False, 0),
        ([], False, None, None),
    ],
)
def test_a_retry_calls_the_failed_tool_again_with_the_same_arguments_or_others(following, retried, same, changed):
    got = signals(turns({"nbest": call(day="friday"), "outcome": "error"}, {"nbest": following}))
    assert column(got, "tool_retried") == [retried, None]
    assert column(got, "same_interpretation_next") == [same, None]
    assert column(got, "slots_changed_next") == [changed, None]


def test_there_is_no_retry_where_nothing_failed():
    got = signals(turns({"nbest": call(), "outcome": "answered"}, {"nbest": call()}, {"subject_id": "v"}))
    assert column(got, "tool_retried") == [None, None, None]
