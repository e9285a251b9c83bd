"""Text for people: nothing that a terminal acts on, and no line too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.explain.layout import WIDTH, clean, clock, counted, label_words, moment, reading, short, wrapped


def test_what_a_terminal_would_act_on_is_made_visible():
    assert clean("a\x1b[31mred\x07\n b\u202e") == "a\\u001b[31mred\\u0007 b\\u202e"
    assert clean(None) == "" and clean("  wei\u00df  ist ") == "wei\u00df ist"


@given(st.text(max_size=900))
def test_any_text_is_one_printable_line_of_bounded_length(text: str):
    assert short(text).isprintable() and len(short(text)) <= 320


@given(st.lists(st.text("ab-", min_size=1, max_size=20), min_size=1, max_size=60))
def test_lines_keep_to_the_width_and_lose_no_word(words: list[str]):
    lines = wrapped(" ".join(words), "  - ")
    assert all(len(line) <= WIDTH for line in lines) and lines[0].startswith("  - ")
    assert " ".join([lines[0][4:], *lines[1:]]).split() == words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (0.2, "0:00"), (12, "+0:12"), (-75.4, "-1:15"), (3601, "+1:00:01")],
)
def test_times_from_the_turn(seconds: float, text: str):
    assert clock(seconds) == text


def test_readings_in_short():
    slots = [{"name": "city", "value": "rome", "start": 0, "end": 4}]
    assert reading({"domain": "d", "intent": "go", "slots": slots, "score": 0.834}) == "d/go city=rome (0.83)"
    assert reading({"domain": None, "intent": "go", "slots": None, "score": None}) == "go"
    assert reading({"domain": "d", "intent": None, "slots": [], "score": None}) == "d/(no intent)"
    assert reading(None) == "(none)"


def test_tool_calls_and_answers_in_words():
    call = {
        "domain": "tool",
        "intent": "book",
        "slots": [{"name": "city", "value": "rome"}, {"name": "n", "value": "2"}],
    }
    assert reading(call | {"score": 0.9}) == "book(city=rome, n=2) (0.90)"
    assert label_words("answer", call, "done") == label_words("correction", call, None) == "call book(city=rome, n=2)"
    assert label_words("answer", None, "it is\nsunny") == 'answer "it is sunny"'
    nothing = {"domain": None, "intent": None, "slots": []}
    assert label_words("answer", nothing, "yes") == 'answer "yes"'
    assert label_words("confirmation", nothing | {"intent": "go"}, None) == "go"


def test_times_to_the_second():
    assert moment("2026-03-01T09:00:49.567000+00:00") == "2026-03-01 09:00:49 UTC"
    assert moment(None) == "no time"


def test_numbers_with_their_nouns():
    assert (counted(1, "user"), counted(1200, "user")) == ("1 user", "1,200 users")
