"""Which words a text holds, as a small bit mask: a quick way to tell that a text cannot hold another.

A Bloom filter (Bloom 1970) of one hash: bits of a text's words are set, so a text whose mask lacks a bit of
another's does not hold all its words. The converse has to be checked.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash_texts
from features.interpretation import list_offsets

U64 = npt.NDArray[np.uint64]

# 256 bits: an answer of 50 words fills a fifth, so one that lacks a value's two words passes once in thirty
# times.
WORDS: Final = 4


def word_masks(texts: npt.NDArray[np.object_]) -> U64:
    """Mask of each normalised text's words, shape (n, WORDS)."""
    held = pa.array(texts, pa.string()).dictionary_encode()
    lists = pc.split_pattern(held.dictionary, " ")
    owner = np.repeat(np.arange(len(lists)), np.diff(list_offsets(lists)))
    bit = hash_texts(lists.flatten()) % np.uint64(64 * WORDS)
    masks = np.zeros((len(lists), WORDS), np.uint64)
    np.bitwise_or.at(masks, (owner, (bit >> np.uint64(6)).astype(np.int64)), np.uint64(1) << (bit & np.uint64(63)))
    return np.asarray(masks[held.indices.to_numpy()], dtype=np.uint64)


def may_hold(texts: U64, words: U64, text: npt.NDArray[np.int64], word: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether `texts[text]` may hold every word of `words[word]`; False is certain. Shape (k,)."""
    out = np.ones(len(text), bool)
    for k in range(WORDS):
        wanted = words[word, k]
        out &= (texts[text, k] & wanted) == wanted
    return out
