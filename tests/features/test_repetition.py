from __future__ import annotations

from build import column, turns
from hypothesis import given
from hypothesis import strategies as st

from features.signals import SignalOptions, signals


def test_the_same_words_whatever_case_and_punctuation():
    got = signals(turns(*({"utterance": u} for u in ("Play jazz!", "play jazz", "stop it", "play, jazz"))))
    assert column(got, "repeats_before") == [0, 1, 0, 2]
    assert column(got, "repeats_after") == [2, 1, 0, 0]
    assert column(got, "repeats_next") == [True, False, False, None]


def test_no_words_repeat_nothing():
    got = signals(turns({"utterance": "?"}, {"utterance": "!"}))
    assert column(got, "repeats_next") == [False, None]
    assert column(got, "repeats_after") == [0, 0]


@given(st.lists(st.sampled_from("ab"), max_size=12), st.integers(1, 4))
def test_counts_are_those_of_a_loop(words, horizon):
    got = signals(turns(*({"utterance": w} for w in words)), SignalOptions(horizon=horizon))
    for at, word in enumerate(words):
        assert column(got, "repeats_before")[at] == words[max(0, at - horizon) : at].count(word)
        assert column(got, "repeats_after")[at] == words[at + 1 : at + 1 + horizon].count(word)
