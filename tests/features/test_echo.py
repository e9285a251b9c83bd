from __future__ import annotations

import numpy as np
from build import evidence, interpretation, turns
from hypothesis import given
from hypothesis import strategies as st

from features.echo import says
from features.signals import signals
from features.words import may_hold, word_masks

TEXT = st.lists(st.sampled_from(["a", "b", "ab", "c d"]), max_size=4).map(" ".join)


def array(*texts):
    return np.array(texts, dtype=object)


def test_a_value_is_said_as_whole_words_only():
    held = says(array("x", "x", "x y", ""), array("to x now", "xy", "x and y", "x"))
    assert held.tolist() == [True, False, False, False]


def test_nothing_said_of_nothing():
    assert says(array(), array()).tolist() == []


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8))
def test_the_mask_never_denies_what_is_said(pairs):
    values, texts = array(*(p[0] for p in pairs)), array(*(p[1] for p in pairs))
    at = np.arange(len(pairs))
    likely = may_hold(word_masks(texts), word_masks(values), at, at)
    assert not (says(values, texts) & ~likely).any()


def test_the_mask_rules_most_others_out():
    texts = array(*(f"word{k}" for k in range(100)))
    masks = word_masks(texts)
    left, right = (a.ravel() for a in np.meshgrid(np.arange(100), np.arange(100)))
    assert may_hold(masks, masks, left, right).mean() < 0.03


def confirmed(*readings, act="affirm", response="going to rome is that right"):
    rows = signals(
        turns(
            {"nbest": list(readings), "utterance": "rome please", "response": response},
            {"nbest": [interpretation(act, 0.9)], "utterance": "yes" if act == "affirm" else "no", "response": "fine"},
        )
    )
    return evidence(rows, "affirmed_after")[0], evidence(rows, "denied_after")[0]


def test_a_confirmation_is_of_the_leading_readings_frame_not_of_another_with_its_values():
    go, leave = interpretation("go", 0.9, city="rome"), interpretation("leave", 0.3, city="rome")
    assert confirmed(go, leave) == ([1, 0], [0, 0])
    assert confirmed(go, leave, act="negate") == ([0, 0], [1, 0])


def test_a_confirmation_of_other_values_than_the_leading_ones_counts_for_every_frame():
    top = interpretation("go", 0.9, city="oslo")
    go, leave = interpretation("go", 0.4, city="rome"), interpretation("leave", 0.3, city="rome")
    assert confirmed(top, go, leave) == ([0, 1, 1], [0, 0, 0])
