"""Letter sequences, their signatures, and the pairs that these lead to."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.curation.candidates import BAND, pairs
from pipeline.curation.minhash import SKETCH_BITS, SKETCHES, Bands, bands_for
from pipeline.curation.shingles import jaccard, shingles, windows

TEXTS = st.lists(st.text("abc ü\U0001f600", max_size=12), max_size=8)


def sets(texts: list[str | None], width: int) -> list[set[str]]:
    return [{t[k : k + width] for k in range(len(t) - width + 1)} if t else set() for t in texts]


@given(TEXTS, st.integers(1, 5))
def test_shingles_are_the_distinct_windows_of_each_text(texts: list[str], width: int):
    held = shingles(pa.array(texts, pa.string()), width)
    assert held.sizes.tolist() == [len(s) for s in sets(texts, width)]
    assert windows(pa.array(texts, pa.string()), width).sizes.tolist() == [max(len(t) - width + 1, 0) for t in texts]


@given(TEXTS, st.integers(1, 5))
def test_jaccard_is_that_of_the_sets(texts: list[str], width: int):
    held, wanted = shingles(pa.array(texts, pa.string()), width), sets(texts, width)
    some = list(combinations(range(len(texts)), 2))
    first, second = (np.array([p[k] for p in some], np.int64) for k in (0, 1))
    found = jaccard(held.take(first), held.take(second))
    assert found.tolist() == [len(wanted[a] & wanted[b]) / max(len(wanted[a] | wanted[b]), 1) for a, b in some]


def test_an_empty_or_short_text_has_no_signature_and_is_like_no_other():
    texts = pa.array([None, "", "abc", "abc", "abcd"], pa.string())
    assert shingles(texts, 4).sizes.tolist() == [0, 0, 0, 0, 1]
    held = shingles(texts, 4)
    assert jaccard(held.take(np.array([1, 2])), held.take(np.array([1, 3]))).tolist() == [0.0, 0.0]


def test_hashes_are_pinned():
    assert shingles(pa.array(["abcde"]), 4).hashes.tolist() == PINNED_SHINGLES
    signed = Bands(2, 3).sign(windows(pa.array(["abcde"]), 4))
    assert signed.bands[:, 0].tolist() == PINNED_BANDS


def test_a_signature_depends_on_the_text_alone():
    texts = pa.array(
        ["", "turn on the light", "x", "play some jazz", "play some jazz again", None, "turn on the light"]
    )
    bands = Bands(4, 2)
    whole = bands.sign(windows(texts, 4))
    for k in (1, 3, 4, 6):
        one = bands.sign(windows(texts.slice(k, 1), 4))
        assert (one.bands[:, 0] == whole.bands[:, k]).all() and (one.sketches[:, 0] == whole.sketches[:, k]).all()
    assert (whole.bands[:, 1] == whole.bands[:, 6]).all()


def random_texts(n: int, seed: int = 3) -> list[str]:
    """Texts with partners that are more or less alike."""
    draw = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz "))
    texts = []
    for _ in range(n // 2):
        text = letters[draw.integers(0, 27, 60)]
        other = text.copy()
        at = draw.integers(0, 60, draw.integers(0, 6))
        other[at] = letters[draw.integers(0, 27, len(at))]
        texts += ["".join(text), "".join(other)]
    return texts


def rows(texts: list[str], bands: Bands, label: list[int], test: list[bool]) -> pa.Table:
    held = windows(pa.array(texts), 4)
    signed, some = bands.sign(held), np.flatnonzero(held.sizes)
    many = bands.bands
    columns = [signed.bands[:, some].T.ravel()]
    columns += [
        np.repeat(v[some], many) for v in (np.arange(len(texts)), np.array(label), np.array(test), *signed.sketches)
    ]
    return pa.table([pa.array(c) for c in columns], schema=BAND)


def found(table: pa.Table, least: float) -> set[tuple[int, int]]:
    return {
        (a, b) for t in pairs(table, least) for a, b in zip(*(t[c].to_pylist() for c in t.column_names), strict=True)
    }


def test_pairs_that_are_alike_are_found_and_unlike_ones_are_rare():
    texts = random_texts(600)
    held = shingles(pa.array(texts), 4)
    twins = np.arange(0, len(texts), 2)
    alike = {
        (int(k), int(k) + 1)
        for k, s in zip(twins, jaccard(held.take(twins), held.take(twins + 1)), strict=True)
        if s >= 0.8
    }
    assert len(alike) > 80
    looked = found(rows(texts, Bands(20, 6), [1] * len(texts), [False] * len(texts)), 0.8)
    assert len(alike - looked) <= 1 and len(looked) < len(texts)


def test_only_one_label_or_two_sides_make_a_pair():
    texts = ["turn on the light in the kitchen"] * 4
    assert found(rows(texts, Bands(2, 2), [1, 1, 2, 3], [False, False, False, True]), 0.8) == {
        (0, 1),
        (0, 3),
        (1, 3),
        (2, 3),
    }
    assert found(rows(texts, Bands(2, 2), [1, 1, 2, 2], [True, True, True, True]), 0.8) == {(0, 1), (2, 3)}
    assert found(BAND.empty_table(), 0.8) == set()


def test_blocks_do_not_change_the_pairs(monkeypatch: pytest.MonkeyPatch):
    texts = random_texts(40)
    table = rows([t for t in texts for _ in range(3)], Bands(6, 2), [1] * 120, [k % 3 == 0 for k in range(120)])
    whole = found(table, 0.8)
    monkeypatch.setattr("pipeline.curation.candidates._BLOCK", 2)
    assert found(table, 0.8) == whole and len(whole) > 60


def test_bits_of_sketches_agree_as_often_as_texts_are_alike():
    texts = random_texts(800)
    held = shingles(pa.array(texts), 4)
    twins = np.arange(0, len(texts), 2)
    similarity = jaccard(held.take(twins), held.take(twins + 1))
    sketches = Bands(1, 1).sign(windows(pa.array(texts), 4)).sketches
    agree = 1 - np.bitwise_count(sketches[:, twins] ^ sketches[:, twins + 1]).sum(axis=0) / SKETCH_BITS
    assert len(SKETCHES) * 64 == SKETCH_BITS
    assert abs(float(np.mean(agree - (1 + similarity) / 2))) < 0.01


PINNED_SHINGLES = [2922953619, 3725957573]
PINNED_BANDS = [-7458401100384370301, 2358287460040959335]


@pytest.mark.parametrize(
    ("likeness", "bands"), [(1.0, Bands(20, 6)), (0.8, Bands(20, 6)), (0.7, Bands(30, 4)), (0.5, Bands(40, 3))]
)
def test_bands_miss_few_pairs_at_the_least_likeness(likeness: float, bands: Bands):
    assert bands_for(likeness) == bands
    assert (1 - likeness**bands.rows) ** bands.bands <= 0.005
