"""MinHash signatures of texts (Broder 1997), cut into bands: texts that share a band are looked at as a pair.

Each permutation is a multiply-add modulo 2 ** 32 on hashed shingles. bench/near_duplicates.py measures this beside
datasketch and rensa: rensa's Rust makes the signatures faster, but they leave it as Python lists, a number at a time,
and the whole is slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from features.hashing import hash64, mix
from pipeline.curation.shingles import I64, U32, Shingles

# Texts whose shingles fit a processor's cache for all permutations.
_BLOCK: Final = 4096
SKETCHES: Final = ("sketch_0", "sketch_1")
SKETCH_BITS: Final = 64 * len(SKETCHES)
_PERMUTATIONS: Final = 120
_MOST_ROWS: Final = 6
_MISSED: Final = 0.005
_ODD: Final = np.uint32(0x9E3779B1)


@dataclass(frozen=True)
class Signed:
    """Signatures of n texts.

    Attributes
    ----------
    bands : numpy.ndarray of int64, shape (bands, n)
        A hash of each band; means nothing for a text without shingles.
    sketches : numpy.ndarray of uint64, shape (2, n)
        One bit of each of 128 minima (Li and König 2010): the share of bits in which two texts agree is (1 + s) / 2 for
        a similarity s.
    """

    bands: I64
    sketches: npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Bands:
    """How signatures are cut.

    Two texts with Jaccard similarity s share at least one band with probability 1 - (1 - s ** rows) ** bands.

    Attributes
    ----------
    bands : int
    rows : int
    """

    bands: int
    rows: int

    def sign(self, held: Shingles) -> Signed:
        """Signatures of texts; a shingle that a text has twice counts once."""
        many = max(self.bands * self.rows, SKETCH_BITS)
        out = Signed(np.zeros((self.bands, len(held)), np.int64), np.zeros((len(SKETCHES), len(held)), np.uint64))
        some = np.flatnonzero(held.sizes)
        for begin in range(0, len(some), _BLOCK):
            rows = some[begin : begin + _BLOCK]
            # Texts without shingles take no room, so those between two others are neighbours.
            self._sign(held.offsets[rows], held.hashes[: held.offsets[rows[-1] + 1]], rows, many, out)
        return out

    def _sign(self, starts: I64, hashes: U32, rows: I64, many: int, out: Signed) -> None:
        hashes, starts = hashes[starts[0] :], starts - starts[0]
        factors, terms = _permutations(many)
        key = np.zeros(len(rows), np.int64)
        for k in range(many):
            lowest: U32 = np.minimum.reduceat(hashes * factors[k] + terms[k], starts)
            if k < SKETCH_BITS:
                bit = (lowest * _ODD >> np.uint32(31)).astype(np.uint64)
                out.sketches[k // 64, rows] |= bit << np.uint64(k % 64)
            if k < self.bands * self.rows:
                band, row = divmod(k, self.rows)
                key = mix(np.full(len(rows), band, np.int64) if row == 0 else key, lowest.astype(np.int64))
                if row == self.rows - 1:
                    out.bands[band, rows] = key


def bands_for(likeness: float) -> Bands:
    """The bands with most rows by which of the pairs of this similarity at most one in 200 is missed.

    More rows bring fewer unlike pairs together. At 0.8 there are 20 of 6: of pairs 0.9 alike one in a million is
    missed, and of those 0.4 alike one in 13 is looked at in vain.
    """
    fitting = (Bands(_PERMUTATIONS // rows, rows) for rows in range(_MOST_ROWS, 0, -1))
    return next(b for b in fitting if (1.0 - likeness**b.rows) ** b.bands <= _MISSED or b.rows == 1)


def _permutations(many: int) -> tuple[U32, U32]:
    """Factor, odd, and term of each; from a hash, as random generators change with their library."""
    names = np.array([f"permutation {k}" for k in range(many)], dtype=object)
    parts = (hash64(names, f"afterword/{part}") >> np.uint64(32) for part in ("factor", "terms1"))
    factors, terms = (part.astype(np.uint32) for part in parts)
    return factors | np.uint32(1), terms
