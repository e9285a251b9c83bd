"""Evaluation sets that the user gives, and the examples that hold their texts.

The rule: an example is contaminated if its utterance is, word for word after normalisation, a text of an evaluation
set; or if a run of n words (`curate.decontaminate_words`) stands both in such a text and in the example: in its
utterance, its response or the turns before it (n-gram overlap, as in appendix C of Brown et al. 2020). A text of fewer
than n words is compared whole only: shorter runs are ordinary language.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, mix, strings
from features.interpretation import list_offsets
from features.text import flat, normalise
from pipeline.curation.evaluation_files import EvaluationTexts, read_texts
from pipeline.curation.rows import left_out
from pipeline.curation.shingles import I64
from pipeline.curation.texts import texts
from schemas import LeftOutReason


@dataclass(frozen=True)
class EvaluationSet:
    """A pass: examples that an evaluation set holds.

    Attributes
    ----------
    pattern : str
        File, folder or glob.
    columns : str or None
        Names of the columns with text, separated by commas.
    words : int
        n of the n-grams.
    """

    pattern: str
    columns: str | None
    words: int

    def __call__(self, examples: pa.Table) -> pa.Table:
        """LEFT_OUT rows of the examples that the sets hold."""
        held = _index(self.pattern, self.columns, self.words)
        row, share = held.exact(normalise(examples["utterance"])), np.ones(examples.num_rows)
        by_run, runs = held.overlap(texts(examples), self.words)
        is_run = (row < 0) & (by_run >= 0)
        row, share = np.where(is_run, by_run, row), np.where(is_run, runs, share)
        hits = np.flatnonzero(row >= 0)
        detail = np.where(
            is_run[hits],
            f"the share of its runs of {self.words} words that evaluation sets hold (curate.decontaminate_words)",
            "the same words (curate.decontaminate)",
        )
        of = [held.texts.place(k) for k in row[hits].tolist()]
        return left_out(examples, hits, LeftOutReason.CONTAMINATED, detail.tolist(), of, share[hits].round(6).tolist())


@dataclass(frozen=True)
class Index:
    """The texts of evaluation sets, to be looked up."""

    texts: EvaluationTexts
    words: int

    @cached_property
    def _whole(self) -> tuple[I64, I64]:
        normalised = normalise(self.texts.text)
        rows = np.flatnonzero(pc.not_equal(normalised, "").to_numpy(zero_copy_only=False))
        return _first(hash64(strings(normalised)).view(np.int64)[rows], rows)

    @cached_property
    def _runs(self) -> tuple[I64, I64]:
        owner, key = word_runs(normalise(self.texts.text), self.words)
        return _first(key, owner)

    def exact(self, normalised: pa.Array) -> I64:
        """First evaluation text that is the same, shape (n,); -1 = none."""
        return _look_up(hash64(strings(normalised)).view(np.int64), *self._whole)

    def overlap(self, normalised: pa.Array, words: int) -> tuple[I64, npt.NDArray[np.float64]]:
        """First evaluation text that shares a run of words, -1 = none, and the share of runs that are shared, shape
        (n,).
        """
        owner, key = word_runs(normalised, words)
        found = _look_up(key, *self._runs)
        hit = found >= 0
        first = np.full(len(normalised), np.iinfo(np.int64).max)
        np.minimum.at(first, owner[hit], found[hit])
        many = np.bincount(owner, minlength=len(normalised))
        shared = np.bincount(owner[hit], minlength=len(normalised))
        return np.where(shared > 0, first, -1), shared / np.maximum(many, 1)


@lru_cache(maxsize=1)
def _index(pattern: str, columns: str | None, words: int) -> Index:
    """Read once a worker."""
    return Index(read_texts(pattern, columns), words)


def inputs(pattern: str, columns: str | None, words: int) -> list[dict[str, Any]]:
    """The files of evaluation sets by content: part of what a release is made from. They are read anew."""
    _index.cache_clear()
    return _index(pattern, columns, words).texts.inputs


def word_runs(normalised: pa.Array, words: int) -> tuple[I64, I64]:
    """Every run of `words` neighbouring words: the text that it is in and its hash, both shape (runs,)."""
    lists = pc.split_pattern(flat(normalised).fill_null(""), " ")
    offsets = list_offsets(lists)
    held = lists.flatten().dictionary_encode()
    hashes = hash64(strings(held.dictionary)).view(np.int64)[held.indices.to_numpy()]
    owner = np.repeat(np.arange(len(lists)), np.diff(offsets))
    many = max(len(hashes) - words + 1, 0)
    key = np.zeros(many, np.int64)
    for k in range(words):
        key = mix(key, hashes[k : k + many])
    inside = owner[:many] == owner[words - 1 : words - 1 + many]
    return owner[:many][inside], key[inside]


def _first(key: I64, row: I64) -> tuple[I64, I64]:
    """Distinct keys, sorted, and the first row of each."""
    keys, at = np.unique(key, return_index=True)
    return keys, row[at]


def _look_up(key: I64, keys: I64, rows: I64) -> I64:
    """Row of each key; -1 = not there."""
    if not len(keys):
        return np.full(len(key), -1)
    at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    return np.where(keys[at] == key, rows[at], -1)
