"""Hashed words of texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.grams import exchange, grams
from features.text import normalise


def test_equal_texts_are_held_once_and_null_gives_nothing() -> None:
    held = grams(pa.array(["play jazz", None, "play jazz", ""]))
    matrix = held.matrix().toarray()
    assert held.counts.shape[0] == 2
    assert (matrix[0] == matrix[2]).all()
    assert not matrix[1].any()
    assert np.count_nonzero(matrix[3]) >= 1


def test_order_of_words_tells_by_their_pairs_alone() -> None:
    texts = pa.array(["call me", "me call"])
    alone = grams(texts, pairs=False).matrix().toarray()
    paired = grams(texts).matrix().toarray()
    assert np.allclose(alone[0], alone[1])
    assert not np.allclose(paired[0], paired[1])


def test_letters_bridge_a_misheard_word() -> None:
    texts = normalise(pa.array(["murray avenue", "murry avenue", "downtown"]))
    rows = grams(texts).matrix().toarray()
    words = grams(texts, letters=()).matrix().toarray()
    assert rows[0] @ rows[1] > words[0] @ words[1] > words[0] @ words[2] - 1e-6


@given(st.lists(st.none() | st.text(max_size=12), max_size=8))
def test_a_row_is_the_same_alone_and_has_length_one(texts: list[str | None]) -> None:
    held = normalise(pa.array(texts, pa.string()))
    matrix = grams(held).matrix()
    assert matrix.shape == (len(texts), 1 << 16)
    for k, text in enumerate(texts):
        row = matrix[k].toarray()
        alone = grams(held.slice(k, 1)).matrix().toarray()
        assert np.allclose(row, alone)
        assert np.isclose(np.linalg.norm(row), 0.0 if text is None else 1.0, atol=1e-5)


def test_product_equals_the_matrix_times_weights() -> None:
    held = grams(pa.array(["a b", None, "c", "a b"]), bits=8)
    weights = np.random.default_rng(0).normal(size=(256, 3))
    assert np.allclose(held.product(weights), held.matrix() @ weights)


def test_columns_are_pinned() -> None:
    """Stored weights are of no use once a text gives other columns."""
    first = grams(pa.array(["play jazz"]), letters=()).counts
    assert sorted(first.indices.tolist()) == PINNED


PINNED = [12835, 35218, 39408, 60962, 65504]


def test_an_exchange_counts_the_first_word_after_each_of_the_answer_s() -> None:
    answers = pa.array(["which day", "which day", "anything else", None, "which day", "which day"])
    reactions = pa.array(["no monday", "no", "no", "no", None, "yes"])
    held = exchange(answers, reactions)
    assert held.text.tolist()[3:5] == [-1, -1]
    rows = held.matrix().toarray()
    np.testing.assert_array_equal(rows[0], rows[1])
    assert (rows[0] > 0).sum() == 2
    # Another word begins, or another answer was heard: nothing in common.
    assert rows[0] @ rows[5] == 0.0 and rows[0] @ rows[2] == 0.0


def test_an_exchange_of_nothing_is_empty() -> None:
    none = exchange(pa.array([], pa.string()), pa.array([], pa.string()))
    assert none.matrix().shape[0] == 0
    assert exchange(pa.nulls(2, pa.string()), pa.array(["a", "b"])).text.tolist() == [-1, -1]


def test_a_rare_word_weighs_more() -> None:
    held = grams(pa.array(["please rome", "please oslo", "please lima", None]), pairs=False, letters=())
    rarity = held.rarity()
    weighted = held.weighted(rarity).matrix().toarray()[0]
    assert np.unique(np.round(rarity[weighted > 0], 6)).tolist() == np.round([1.0, np.log(4 / 2) + 1], 6).tolist()
    assert abs((weighted**2).sum() - 1.0) < 1e-6
    assert weighted[weighted > 0].max() / weighted[weighted > 0].min() == pytest.approx(np.log(2) + 1, rel=1e-5)
