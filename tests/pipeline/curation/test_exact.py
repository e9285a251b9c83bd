"""Pairs that are alike, none missed: against all pairs, and where MinHash misses one."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from golden_views import example, table
from hypothesis import given
from hypothesis import strategies as st
from synthetic import copy
from test_select import sift
from test_verify import put, refused, rewrite

from pipeline.curation.candidates import pairs
from pipeline.curation.exact import CUT, alike_pairs, cut_rows
from pipeline.curation.near import NearOptions, band_rows, near_duplicates, near_options
from pipeline.curation.proof import _how, alike
from pipeline.curation.shingles import jaccard, shingles
from pipeline.curation.texts import labels, texts
from pipeline.errors import VerifyError

NEAR, EXACT = NearOptions(0.8, 4), NearOptions(0.8, 4, exact=True)
SAID = st.tuples(st.text("ab c", max_size=14), st.sampled_from("xy"), st.sampled_from(["train", "test"]))


def made(*said: tuple[str, str, str]) -> pa.Table:
    return table(*(example(f"{k}", utterance=t, intent=i, split=s) for k, (t, i, s) in enumerate(said)))


def found(rows: pa.Table, least: float, asked: Any = None) -> set[tuple[int, int]]:
    key = rows["key"].to_numpy()
    told = [(key[a], key[b]) for a, b, _ in alike_pairs(rows, least, asked)]
    return {(int(a), int(b)) for first, second in told for a, b in zip(first, second, strict=True)}


@given(st.lists(SAID, max_size=25), st.sampled_from([0.5, 0.75, 0.8, 1.0]))
def test_the_pairs_are_those_of_comparing_all_with_all(said: list[tuple[str, str, str]], least: float):
    examples = made(*said)
    held, label, split = shingles(texts(examples), 3), labels(examples), examples["split"].to_pylist()
    every = np.array(list(itertools.combinations(range(len(said)), 2)), np.int64).reshape(-1, 2)
    share = jaccard(held.take(every[:, 0]), held.take(every[:, 1]))
    wanted = {
        (a, b)
        for (a, b), s in zip(every.tolist(), share.tolist(), strict=True)
        if s >= least and (label[a] == label[b] or split[a] != split[b])
    }
    rows = cut_rows(examples, np.arange(len(said)), 3)
    assert found(rows, least) == wanted
    asked = np.arange(rows.num_rows) % 3 == 0
    some = set(rows["key"].to_numpy()[asked].tolist())
    assert found(rows, least, asked) == {pair for pair in wanted if some.intersection(pair)}


def test_a_slice_of_rows_is_read_as_such():
    rows = cut_rows(made(*[("go to rome now", "x", "train")] * 4), np.arange(4), 4)
    assert found(rows.slice(1, 2), 0.8) == {(1, 2)} and rows.schema.equals(CUT)


def missed() -> tuple[str, str]:
    """Two texts that are alike and share no band."""
    draw = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnop "))
    for _ in range(40):
        first = ["".join(letters[draw.integers(0, 17, 43)]).strip() for _ in range(1000)]
        # Four of about forty sequences go, and four come.
        second = [f"{text[:20]}z{text[21:]}" for text in first]
        both = made(*((text, "x", "train") for text in [*first, *second]))
        held = shingles(texts(both), NEAR.width)
        share = jaccard(held.take(np.arange(1000)), held.take(np.arange(1000, 2000)))
        seen = {tuple(p.values()) for t in pairs(band_rows(both, np.arange(2000), NEAR), 0.8) for p in t.to_pylist()}
        for k in np.flatnonzero(share >= 0.8).tolist():
            if (k, k + 1000) not in seen:
                return first[k], second[k]
    raise AssertionError("none found")


@pytest.fixture(scope="module")
def pair() -> tuple[str, str]:
    return missed()


def test_the_stage_finds_what_minhash_misses_where_it_is_to_miss_none(pair: tuple[str, str], tmp_path: Path):
    examples = made((pair[0], "x", "train"), (pair[1], "x", "train"), (pair[1], "y", "test"), ("go home", "x", "train"))
    for near, reasons in (
        (NEAR, []),
        (EXACT, ["near_duplicate", "duplicate_across_splits"]),
    ):
        folder = tmp_path / f"{near.exact}"
        left = sift(examples, folder, 2, near=near)[1]
        # The copy of test is one of train's to the letter, which no method misses.
        assert set(left["reason"].to_pylist()) == {*reasons, "duplicate_across_splits"}
        assert near_duplicates(examples, near).num_rows == left.num_rows == (2 if near.exact else 1)


def test_a_release_with_a_planted_pair_that_minhash_misses_is_refused(
    released: Path, pair: tuple[str, str], tmp_path: Path
):
    folder = released / "releases" / (released / "CURRENT").read_text().strip()
    spoiled = copy(folder, tmp_path / folder.name)

    def plant(examples: pa.Table) -> pa.Table:
        for name in ("domain", "intent", "slots", "locale", "rejected", "kind", "context", "response"):
            first = examples[name][0].as_py()
            examples = put(examples, name, [first, first, *examples[name].to_pylist()[2:]])
        examples = put(examples, "utterance", [*pair, *examples["utterance"].to_pylist()[2:]])
        assert alike(examples, NEAR) is None
        return examples

    rewrite(spoiled, "lineage", plant)
    refused(spoiled, r"lineage: \w+ and \w+ are 0\.8\d? alike")


def test_of_many_examples_a_sample_tells_what_minhash_missed(pair: tuple[str, str], monkeypatch: Any):
    apart = [(f"{'abcdefghij'[k % 10]} {k * 7919} {k * k} apart", "x", "train") for k in range(300)]
    two = [(text, "x", "train") for text in pair]
    assert _how(made(*apart), EXACT) == "all compared exactly"
    assert "of 300 compared exactly with all others 0 are like one" in _how(made(*apart), NEAR)
    assert "of 302 compared exactly with all others 2 are like one" in _how(made(*apart, *two), NEAR)
    with pytest.raises(VerifyError, match=re.escape("2 of 102 examples that were compared exactly")):
        _how(made(*apart[:100], *two), NEAR)


def test_how_many_examples_are_compared_exactly_is_an_option():
    curate = {"deduplicate": True, "duplicate_likeness": 0.7, "duplicate_letters": 5, "duplicate_exact": 10}
    assert near_options(curate, 10) == NearOptions(0.7, 5, True) and near_options(curate, 11) == NearOptions(0.7, 5)
    assert near_options(curate | {"deduplicate": False}, 1) is None
