"""Whitespace tokens of a column of texts with the code points that each covers, all texts at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import strings

I64 = npt.NDArray[np.int64]

# What Python's `str.split` splits at; no character beyond is white space.
_WHITE: Final = np.array([chr(c).isspace() for c in range(0x3001)])


@dataclass(frozen=True)
class Tokens:
    """Tokens of n texts, one entry each, in order.

    Attributes
    ----------
    texts : pyarrow.StringArray, shape (m,)
    start, end : numpy.ndarray of int64, shape (m,)
        Half-open span in the code points of all texts, one after the other.
    offsets : numpy.ndarray of int64, shape (n + 1,)
        Text i has the tokens offsets[i] .. offsets[i + 1].
    origin : numpy.ndarray of int64, shape (n + 1,)
        Text i has the code points origin[i] .. origin[i + 1].
    """

    texts: pa.Array
    start: I64
    end: I64
    offsets: I64
    origin: I64

    def lists(self, entries: pa.Array) -> pa.ListArray:
        """An entry a token as one list a text."""
        return pa.ListArray.from_arrays(pa.array(self.offsets, pa.int32()), entries)


def tokens(texts: pa.Array) -> Tokens:
    """Split texts, shape (n,), at white space."""
    held = strings(texts).tolist()
    lengths = np.fromiter(map(len, held), np.int64, len(held))
    origin = np.concatenate([[0], np.cumsum(lengths)])
    encoded = "".join(held).encode()
    points = np.frombuffer(encoded.decode().encode("utf-32-le"), np.uint32)
    solid = ~((points < len(_WHITE)) & _WHITE[np.minimum(points, len(_WHITE) - 1)])
    # Where a text begins a token does, though the one before it ends without a space.
    before, after = np.zeros(len(points), bool), np.zeros(len(points), bool)
    before[1:], after[:-1] = solid[:-1], solid[1:]
    inner = origin[(origin > 0) & (origin < len(points))]
    before[inner], after[inner - 1] = False, False
    start, end = np.flatnonzero(solid & ~before), np.flatnonzero(solid & ~after) + 1
    width = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    at = np.concatenate([[0], np.cumsum(width)])
    content = np.frombuffer(encoded, np.uint8)[np.repeat(solid, width)]
    bounds = np.concatenate([[0], np.cumsum(at[end] - at[start])]).astype(np.int32)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(content.tobytes())]
    return Tokens(
        pa.StringArray.from_buffers(len(start), *buffers[1:]), start, end, np.searchsorted(start, origin), origin
    )
