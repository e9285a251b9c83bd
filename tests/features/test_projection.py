from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.projection import project, projections, words_of


def said(utterance, *values):
    return [None if span is None else utterance[slice(*span)] for span in project(utterance, values)]


def test_equal_words_whatever_their_case_and_punctuation():
    assert project("Play some JAZZ, please!", ["jazz"]) == [(10, 14)]
    assert said("to New-York now", "new york") == ["New-York"]


def test_a_slip_of_the_value_is_found_and_another_word_is_not():
    assert said("weather in san fransisco", "San Francisco") == ["san fransisco"]
    assert said("to new ark please", "newark") == ["new ark"]
    assert said("turn off the clock", "rock") == [None]


def test_the_bound_of_likeness_counts():
    # Seven of eight letters in both: rapidfuzz's ratio is 2 * 3 / 8.
    assert project("abcx", ["abcd"], likeness=0.75) == [(0, 4)]
    assert project("abcx", ["abcd"], likeness=0.76) == [None]


def test_the_first_of_equal_places_and_the_exact_window():
    assert project("rome or rome", ["rome"]) == [(0, 4)]
    assert said("go to the big apple pie", "the big apple") == ["the big apple"]


def test_spans_do_not_overlap_and_the_longer_value_goes_first():
    assert said("from new york to york", "york", "new york") == ["york", "new york"]
    assert project("from new york to york", ["york", "new york"])[0] == (17, 21)
    assert said("new york", "york", "new york") == [None, "new york"]
    assert said("rome to rome", "rome", "rome", "rome") == ["rome", "rome", None]


@pytest.mark.parametrize("utterance", ["🎷 play jazz", "🎷👨‍👩‍👧 ❤️ play jazz", "spiel\u0308 jazz"])
def test_offsets_are_code_points_with_emoji_and_combining_characters(utterance):
    assert said(utterance, "jazz") == ["jazz"]


def test_composed_and_decomposed_letters_are_the_same():
    decomposed = unicodedata.normalize("NFD", "zum café Müller")
    assert said(decomposed, "Café") == [unicodedata.normalize("NFD", "café")]
    assert said("zum café", unicodedata.normalize("NFD", "café")) == ["café"]


def test_nothing_in_nothing():
    assert project("", ["x"]) == [None]
    assert project("hello", []) == []
    assert project("hello ❤️", ["❤️", "", "  "]) == [None, None, None]


TEXT = st.text(alphabet=st.sampled_from("ab é\u0301🎷️-B"), max_size=12)


@given(TEXT, st.lists(TEXT, max_size=3))
def test_spans_are_words_of_the_utterance_and_do_not_overlap(utterance, values):
    words = words_of(utterance)
    spans = [span for span in project(utterance, values) if span is not None]
    assert all(start in {w[0] for w in words} and end in {w[1] for w in words} for start, end in spans)
    assert all(a[1] <= b[0] for a, b in zip(sorted(spans), sorted(spans)[1:], strict=False))


@given(st.lists(st.sampled_from(["rome", "oslo", "lima", "quito"]), min_size=1, max_size=5))
def test_a_value_that_is_there_is_found_at_its_first_place(words):
    text = " ".join(words)
    assert project(text, [words[-1]]) == [(text.index(words[-1]), text.index(words[-1]) + len(words[-1]))]


def test_many_turns_at_once_are_each_alone():
    utterance = np.array(["to rome", "", "from oslo to rome", "to rome"], dtype=object)
    owner = np.array([0, 1, 2, 2, 3])
    start, end = projections(utterance, owner, np.array(["rome", "rome", "rome", "oslo", "rome"], dtype=object))
    assert start.tolist() == [3, -1, 13, 5, 3]
    assert end.tolist() == [7, -1, 17, 9, 7]
    empty = np.zeros(0, np.int64)
    assert [a.tolist() for a in projections(utterance, empty, np.zeros(0, object))] == [[], []]
