"""Texts as sets of hashed letter sequences, by which near-duplicates are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import strings

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
# Pairs compared at once: what bounds memory, at about 2 KB a pair of utterances.
_PAIRS: Final = 1 << 16


@dataclass(frozen=True)
class Shingles:
    """The letter sequences of n texts, hashed.

    Attributes
    ----------
    offsets : numpy.ndarray of int64, shape (n + 1,)
        Text i has the hashes offsets[i] .. offsets[i + 1].
    hashes : numpy.ndarray of uint32
        Of 2 ** 32, so that two of a text's thousand meet in one of ten thousand texts.
    """

    offsets: I64
    hashes: U32

    def __len__(self) -> int:
        """Texts."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> I64:
        """How many each text has, shape (n,)."""
        return np.diff(self.offsets)

    def take(self, rows: I64) -> Shingles:
        """Those of some texts, in the order asked for."""
        many = self.sizes[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(many)])
        at = np.repeat(self.offsets[:-1][rows] - offsets[:-1], many) + np.arange(offsets[-1])
        return Shingles(offsets, self.hashes[at])


def shingles(normalised: pa.Array | pa.ChunkedArray, width: int) -> Shingles:
    """Distinct letter sequences of `width` code points, spaces among them; see `windows`."""
    return _distinct(windows(normalised, width))


def windows(normalised: pa.Array | pa.ChunkedArray, width: int) -> Shingles:
    """Letter sequences of `width` code points, spaces among them, in their order, also those that occur twice.

    A text that is null, empty or shorter than `width` has none: it has no signature and is like no other.

    Parameters
    ----------
    normalised : pyarrow.StringArray
        From `features.text.normalise`, shape (n,).
    width : int
    """
    texts = strings(normalised)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    letters = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    ends = np.cumsum(lengths)
    many = np.maximum(lengths - width + 1, 0)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(many)])
    at = np.repeat(ends - lengths - offsets[:-1], many) + np.arange(offsets[-1])
    return Shingles(offsets, _rolled(letters, width)[at])


def _rolled(letters: U32, width: int) -> U32:
    """Hash of the `width` code points from each one on: a polynomial, then the finalizer of SplitMix64."""
    many = max(len(letters) - width + 1, 0)
    z = np.zeros(many, np.uint64)
    for k in range(width):
        z *= _ODD
        z += letters[k : k + many]
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    return (z >> np.uint64(32)).astype(np.uint32)


def _distinct(held: Shingles) -> Shingles:
    """Each hash once a text, rising."""
    many = held.sizes
    key = np.repeat(np.arange(len(many), dtype=np.uint64), many) << np.uint64(32) | held.hashes
    key.sort()
    key = key[np.concatenate([np.ones(min(len(key), 1), bool), key[1:] != key[:-1]])]
    sizes = np.bincount((key >> np.uint64(32)).astype(np.int64), minlength=len(many))
    return Shingles(np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), key.astype(np.uint32))


def jaccard(left: Shingles, right: Shingles) -> npt.NDArray[np.float64]:
    """Shared over all shingles of each pair of texts, as `shingles` gives them, shape (n,), in [0, 1]; 0 where either
    has none.
    """
    parts = [np.arange(begin, min(begin + _PAIRS, len(left))) for begin in range(0, len(left), _PAIRS)]
    return np.concatenate([np.zeros(0), *(_jaccard(left.take(rows), right.take(rows)) for rows in parts)])


def _jaccard(left: Shingles, right: Shingles) -> npt.NDArray[np.float64]:
    owner = np.concatenate([np.repeat(np.arange(len(s), dtype=np.uint64), s.sizes) for s in (left, right)])
    key = owner << np.uint64(32) | np.concatenate([left.hashes, right.hashes])
    # Two rising runs, which a merge sort takes in one go.
    key.sort(kind="stable")
    twice = (key[1:] if len(key) else key)[key[1:] == key[:-1]]
    shared = np.bincount((twice >> np.uint64(32)).astype(np.int64), minlength=len(left))
    every = left.sizes + right.sizes - shared
    return np.asarray(shared / np.maximum(every, 1), dtype=np.float64)
