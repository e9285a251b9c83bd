"""MinHash signatures of texts (Broder 1997), cut into bands: texts that share a band are looked at as a pair.

Each permutation is a multiply-add modulo 2 ** 32 on hashed shingles. bench/near_duplicates.py measures this beside
datasketch and rensa: the signatures alone are faster in rensa's Rust, but leave it as Python lists, one number at a
time, and the whole is slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from features.hashing import hash64, mix
from pipeline.curation.shingles import I64, U32, Shingles

# Texts whose shingles fit a processor's cache for all permutations.
_BLOCK: Final = 4096


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

    def of_texts(self, held: Shingles) -> I64:
        """Key of each band of each text that has shingles, shape (bands, n); the keys of one without mean nothing."""
        out = np.zeros((self.bands, len(held)), np.int64)
        some = np.flatnonzero(held.sizes)
        for begin in range(0, len(some), _BLOCK):
            rows = some[begin : begin + _BLOCK]
            out[:, rows] = self._keys(held.take(rows) if len(some) < len(held) else _slice(held, rows))
        return out

    def _keys(self, held: Shingles) -> I64:
        factors, terms = _permutations(self.bands * self.rows)
        starts = held.offsets[:-1]
        keys = np.empty((self.bands, len(held)), np.int64)
        for band in range(self.bands):
            key = np.full(len(held), band, np.int64)
            for k in range(band * self.rows, (band + 1) * self.rows):
                lowest: U32 = np.minimum.reduceat(held.hashes * factors[k] + terms[k], starts)
                key = mix(key, lowest.astype(np.int64))
            keys[band] = key
        return keys


def _permutations(many: int) -> tuple[U32, U32]:
    """Factor, odd, and term of each; from a hash, as random generators change with their library."""
    names = np.array([f"permutation {k}" for k in range(many)], dtype=object)
    factors, terms = (
        hash64(names, f"afterword/{part}")[:, None].view(np.uint32)[:, 0] for part in ("factor", "terms1")
    )
    return factors | np.uint32(1), terms


def _slice(held: Shingles, rows: I64) -> Shingles:
    """Those of neighbouring texts."""
    offsets = held.offsets[rows[0] : rows[-1] + 2]
    return Shingles(offsets - offsets[0], held.hashes[offsets[0] : offsets[-1]])
