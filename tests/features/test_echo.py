from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from features.echo import says
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
