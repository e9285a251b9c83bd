"""Text as the signals compare it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import fuzz, process

F32 = npt.NDArray[np.float32]


def flat(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous Arrow array."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def normalise(text: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Lower-case, punctuation to spaces, white space folded. Null stays null."""
    lowered = pc.utf8_lower(pc.utf8_normalize(flat(text), form="NFC"))
    words = pc.replace_substring_regex(lowered, pattern=r"[^\pL\pN\pM]+", replacement=" ")
    return pc.utf8_trim_whitespace(words)


def token_count(normalised: pa.Array) -> pa.Array:
    """Whitespace tokens of each normalised text; 0 for an empty one, null for null."""
    spaces = pc.add(pc.count_substring(normalised, " "), 1)
    return pc.if_else(pc.equal(pc.utf8_length(normalised), 0), 0, spaces).cast(pa.int32())


def likeness(left: Sequence[str], right: Sequence[str]) -> F32:
    """Likeness of each pair in [0, 1], shape (n,): the mean of rapidfuzz's token-set and plain ratios.

    The token-set ratio sees a re-ordered or shortened repeat, the plain one keeps two short, unlike texts
    that share a word apart. Two empty texts have likeness 0: nothing was said twice.
    """
    if not len(left):
        return np.zeros(0, np.float32)
    by_tokens = process.cpdist(left, right, scorer=fuzz.token_set_ratio, dtype=np.float32)
    by_letters = process.cpdist(left, right, scorer=fuzz.ratio, dtype=np.float32)
    score = np.asarray((by_tokens + by_letters) / np.float32(200.0), dtype=np.float32)
    score[np.fromiter((not a or not b for a, b in zip(left, right, strict=True)), bool, len(left))] = 0.0
    return score
