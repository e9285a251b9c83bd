from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.text import distinct, likeness, likeness_held, mapped, normalise, token_count

TEXTS = st.lists(st.one_of(st.none(), st.text(max_size=8)), max_size=12)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Hello,  World!", "hello world"),
        ("it's", "it s"),
        ("Cafe\u0301", "café"),
        ("...", ""),
        ("Élan 7", "élan 7"),
    ],
)
def test_normalise(raw, expected):
    assert normalise(pa.array([raw])).to_pylist() == [expected]


def test_null_stays_null():
    assert normalise(pa.array([None], pa.string())).to_pylist() == [None]
    assert token_count(pa.array([None, "", "a b"])).to_pylist() == [None, 0, 2]


@given(TEXTS)
def test_texts_held_once_give_the_same_results(values):
    plain = pa.array(values, pa.string())
    held = normalise(distinct(plain))
    assert held.to_pylist() == normalise(plain).to_pylist()
    assert mapped(held, token_count).to_pylist() == token_count(normalise(plain)).to_pylist()


def test_likeness_by_value():
    got = likeness(["a b", "play jazz", "", "", "a"], ["a b", "play rock", "", "x", ""])
    assert got[0] == 1.0
    assert 0.3 < got[1] < 0.9
    assert got[2:].tolist() == [0.0, 0.0, 0.0]
    assert likeness([], []).shape == (0,)


@given(st.lists(st.tuples(st.text("ab ", max_size=6), st.text("ab ", max_size=6)), min_size=1, max_size=10))
def test_likeness_lies_in_the_unit_interval_and_is_symmetric(pairs):
    left, right = zip(*pairs, strict=True)
    got = likeness(left, right)
    assert ((got >= 0) & (got <= 1)).all()
    assert np.allclose(got, likeness(right, left))


@given(
    st.lists(
        st.tuples(st.one_of(st.none(), st.text("ab ", max_size=3)), st.one_of(st.none(), st.text("ab ", max_size=3))),
        max_size=15,
    )
)
def test_pairs_scored_once_equal_pairs_scored_each(pairs):
    left = pa.array([a for a, _ in pairs], pa.string())
    right = pa.array([b for _, b in pairs], pa.string())
    got = likeness_held(left.dictionary_encode(), right.dictionary_encode(), likeness)
    for value, (a, b) in zip(got.tolist(), pairs, strict=True):
        if a is None or b is None:
            assert np.isnan(value)
        else:
            assert value == likeness([a], [b])[0]
