"""Texts as sparse counts of hashed words, word pairs and letter sequences, for linear models over words.

The hashing trick (Weinberger et al. 2009, arXiv 0902.2206): no vocabulary is kept, so the columns are the same on
every worker and for words never seen in training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_matrix

from features.hashing import hash64, hash_text, mix, strings
from features.interpretation import list_offsets
from features.text import distinct

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# 65,536 columns: a few thousand distinct words and their pairs collide in one of thirty cases.
BITS: Final = 16
# Letter sequences bridge inflection and what a recogniser mishears; shorter ones tell little.
LETTERS: Final = (3, 4)
_EDGE: Final = "^"
_BEGIN: Final = np.array([hash_text("\x02begin")], np.uint64).view(np.int64)[0]
_END: Final = np.array([hash_text("\x03end")], np.uint64).view(np.int64)[0]
_PAIRS_KEY: Final = np.array([hash_text("\x1dpairs")], np.uint64).view(np.int64)[0]


@dataclass(frozen=True)
class Grams:
    """Counts of n texts, each distinct text held once.

    Attributes
    ----------
    counts : scipy.sparse.csr_matrix of float32, shape (distinct texts, columns)
    text : numpy.ndarray of int64, shape (n,)
        Row of `counts` of each text; -1 = null.
    """

    counts: csr_matrix
    text: I64

    def matrix(self) -> csr_matrix:
        """One row a text, shape (n, columns); a null text has none set."""
        rows = self.counts[np.maximum(self.text, 0)] if self.counts.shape[0] else csr_matrix(self._shape)
        return csr_matrix(rows.multiply((self.text >= 0)[:, None])) if (self.text < 0).any() else rows

    def product(self, weights: F64) -> F64:
        """Counts times weights, worked out once a distinct text, shape (n, weights.shape[1]); 0 for null."""
        each = np.vstack([np.asarray(self.counts @ weights), np.zeros((1, weights.shape[1]))])
        return np.asarray(each[self.text], dtype=np.float64)

    def rarity(self) -> F64:
        """How rare each column is among the texts that are not null, shape (columns,): log((1 + n) / (1 + texts that
        have it)) + 1 (the inverse document frequency of Spärck Jones 1972, smoothed).
        """
        texts = np.bincount(self.text[self.text >= 0], minlength=self.counts.shape[0]).astype(np.float64)
        present = csr_matrix((np.ones(self.counts.nnz), self.counts.indices, self.counts.indptr), self.counts.shape)
        return np.asarray(np.log1p(texts.sum()) - np.log1p(present.T @ texts) + 1.0, dtype=np.float64)

    def weighted(self, columns: F64) -> Grams:
        """The same with each column times its weight, every row scaled to length 1 again."""
        counts = self.counts.copy()
        counts.data = (counts.data * columns[counts.indices]).astype(np.float32)
        return Grams(_unit(counts), self.text)

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.text), self.counts.shape[1]


def grams(
    normalised: pa.Array | pa.ChunkedArray, bits: int = BITS, pairs: bool = True, letters: tuple[int, ...] = LETTERS
) -> Grams:
    """Count what normalised texts hold.

    A text's words, its neighbouring words as pairs (its beginning and end count as words) and the letter sequences of
    each word with its edges marked. Each row is scaled to length 1, so that long texts do not weigh more; an empty
    text has no column set but the pair of its two ends.

    Parameters
    ----------
    normalised : pyarrow.StringArray or DictionaryArray
        From `features.text.normalise`, shape (n,). Null gives a row of nothing.
    bits : int
        2 ** bits columns.
    pairs : bool
        Whether pairs are counted.
    letters : tuple of int
        Lengths of the letter sequences; none for ().
    """
    held = distinct(normalised)
    texts = pa.array(strings(held.dictionary), pa.string())
    lists = pc.split_pattern(texts, " ")
    owner = np.repeat(np.arange(len(lists)), np.diff(list_offsets(lists)))
    words = lists.flatten().dictionary_encode()
    vocabulary, word = strings(words.dictionary), words.indices.to_numpy().astype(np.int64)
    hashes = hash64(vocabulary).view(np.int64)
    parts = [(owner, hashes[word])]
    if pairs:
        parts.append(_pairs(owner, hashes[word], len(texts)))
    if letters:
        parts.append(_letters(owner, word, vocabulary, letters))
    row = np.concatenate([r for r, _ in parts])
    key = np.concatenate([k for _, k in parts]).view(np.uint64)
    column = (key >> np.uint64(64 - bits)).astype(np.int64)
    counts = csr_matrix((np.ones(len(row), np.float32), (row, column)), shape=(len(texts), 1 << bits))
    counts.sum_duplicates()
    text = held.indices.fill_null(-1).to_numpy().astype(np.int64)
    valid = held.dictionary.is_valid().to_numpy(zero_copy_only=False)
    return Grams(_scaled(counts), np.where((text >= 0) & np.append(valid, False)[text], text, -1))


def _pairs(owner: I64, hashes: I64, texts: int) -> tuple[I64, I64]:
    """Neighbouring words of each text, its beginning and end among them."""
    every = np.arange(texts)
    row = np.concatenate([every, owner, every])
    place = np.concatenate([np.zeros(texts), np.ones(len(owner)), np.full(texts, 2)])
    value = np.concatenate([np.full(texts, _BEGIN), hashes, np.full(texts, _END)])
    order = np.lexsort((place, row))
    row, value = row[order], value[order]
    together = np.flatnonzero(row[1:] == row[:-1])
    return row[together], mix(mix(value[together], value[together + 1]), np.full(len(together), _PAIRS_KEY))


def _letters(owner: I64, word: I64, vocabulary: npt.NDArray[np.object_], lengths: tuple[int, ...]) -> tuple[I64, I64]:
    """Letter sequences of each text's words, found once a distinct word."""
    marked = [_EDGE + w + _EDGE for w in vocabulary.tolist()]
    pieces = [[w[i : i + n] for n in lengths for i in range(len(w) - n + 1)] for w in marked]
    counts = np.fromiter((len(p) for p in pieces), np.int64, len(pieces))
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    flat = np.array([piece for p in pieces for piece in p], dtype=object)
    hashes = hash64(flat, "afterword/letter").view(np.int64) if len(flat) else np.zeros(0, np.int64)
    many = counts[word]
    at = np.repeat(start[word] - (np.cumsum(many) - many), many) + np.arange(many.sum())
    return np.repeat(owner, many), hashes[at]


def _scaled(counts: csr_matrix) -> csr_matrix:
    """Rows with logarithmic counts and length 1."""
    counts.data = np.log1p(counts.data)
    return _unit(counts)


def _unit(counts: csr_matrix) -> csr_matrix:
    """Rows of length 1; one of nothing stays so."""
    length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    per_row = np.repeat(np.maximum(length, 1e-12), np.diff(counts.indptr))
    counts.data = (counts.data / per_row).astype(np.float32)
    return counts
