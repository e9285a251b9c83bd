from __future__ import annotations

import pytest
from build import column, turns

from features.signals import SignalOptions, signals


def said(*pairs: tuple[str, float]):
    return turns(*({"utterance": text, "at": at} for text, at in pairs))


def test_the_same_words_again_are_a_full_rephrase():
    got = signals(said(("play jazz", 0.0), ("Play, jazz!", 10.0)))
    assert column(got, "rephrase_next") == [1.0, None]
    assert column(got, "rephrase_before") == [None, 1.0]
    assert column(got, "rephrase_best") == [1.0, None]
    assert column(got, "rephrase_offset") == [1, None]
    assert column(got, "rephrase_gap") == [10.0, None]


@pytest.mark.parametrize(("gap", "found"), [(59.9, True), (60.0, True), (60.1, False)])
def test_the_time_limit_counts_as_within(gap, found):
    got = signals(said(("play jazz", 0.0), ("play jazz", gap)))
    assert (column(got, "rephrase_best")[0] is not None) is found
    assert column(got, "rephrase_next")[0] == 1.0


def test_the_best_of_the_next_turns_wins_and_the_nearest_of_equals():
    got = signals(said(("play jazz", 0.0), ("weather", 5.0), ("play jazz", 10.0), ("play jazz", 15.0)))
    assert column(got, "rephrase_offset")[0] == 2
    assert column(got, "rephrase_gap")[0] == 10.0


def test_turns_out_of_reach_are_not_looked_at():
    rows = said(("play jazz", 0.0), ("x", 1.0), ("y", 2.0), ("z", 3.0), ("play jazz", 4.0))
    assert column(signals(rows), "rephrase_best")[0] < 0.5
    assert column(signals(rows, SignalOptions(rephrase_turns=4)), "rephrase_best")[0] == 1.0


def test_another_session_is_never_a_rephrase():
    got = signals(turns({"utterance": "a b", "subject_id": "u"}, {"utterance": "a b", "subject_id": "v"}))
    assert column(got, "rephrase_next") == [None, None]
    assert column(got, "rephrase_best") == [None, None]


def test_tokens_are_counted_after_normalisation():
    assert column(signals(said(("  Play,  jazz! ", 0.0))), "utterance_tokens") == [2]
    assert column(signals(said(("?!", 0.0))), "utterance_tokens") == [0]
