from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from features.hashing import hash64, hash128_hex, hash_text, hash_texts, join, mix, shares, strings

# Pinned: a change of these changes every id, split and fold.
GOLDEN = ["f4b36273be004c88", "dc34b380b6ea3414", "56793880c6408752", "52e6c7ce113dd7f9"]


def texts(*values: str):
    return np.array(values, dtype=object)


def test_golden_values_are_pinned():
    assert [f"{v:016x}" for v in hash64(texts("", "hello", "Größe", "hello\x1fworld")).tolist()] == GOLDEN


def test_the_hash_of_one_text_is_that_of_a_column():
    assert hash_text("hello") == int(hash64(texts("hello"))[0])


def test_another_key_gives_other_hashes():
    assert hash64(texts("hello"))[0] != hash64(texts("hello"), "afterword/hash/9")[0]


def test_a_128_bit_hash_is_32_digits_and_its_halves_differ():
    (digits,) = hash128_hex(texts("hello"))
    assert len(digits) == 32
    assert digits[:16] == GOLDEN[1]
    assert digits[:16] != digits[16:]


@given(st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=20))
def test_hashing_each_distinct_text_once_changes_nothing(values):
    column = pa.array(values, pa.string())
    assert hash_texts(column).tolist() == hash64(strings(column)).tolist()


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=20))
def test_encoded_strings_read_the_same(values):
    column = pa.array(values, pa.string())
    assert strings(column.dictionary_encode()).tolist() == strings(column).tolist()


def test_a_joined_hash_keeps_fields_apart():
    assert join(texts("a", "ab"), texts("bc", "c")).tolist() == ["a\x1fbc", "ab\x1fc"]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_shares_lie_in_the_unit_interval(values):
    got = shares(np.array(values, dtype=np.uint64))
    assert ((got >= 0) & (got < 1)).all()


def test_mixed_hashes_are_pinned_and_depend_on_the_order():
    one, two = np.array([1, 2], np.int64), np.array([2, 1], np.int64)
    assert mix(one, two).tolist() == [-7541218347953203506, -4689498862643123097]
    assert len(set(mix(one, two).tolist())) == 2


def test_mixed_hashes_of_many_pairs_differ():
    numbers = np.arange(100_000, dtype=np.int64)
    assert len(np.unique(mix(numbers // 300, numbers % 300))) == len(numbers)
