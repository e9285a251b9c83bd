"""Sentiment of the user's words.

Negative sentiment is one of the dissatisfaction signals of Park et al. 2021 (arXiv 2010.12251).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import list_offsets
from features.lexicon import Lexicon
from features.text import mapped

# A negator turns a word over from so many words before it at most: "not good", "isn't very good".
NEGATION_REACH: Final = 2


def sentiment(normalised: pa.Array, lexicon: Lexicon) -> pa.Array:
    """Balance of each text's words of sentiment, in (-1, 1), shape (n,); null text gives null.

    (p - n) / (p + n + 1) for p positive and n negative words: 0 without any or with as many of both, 1/2 for a single
    one, nearer to 1 the more there are. A word within `NEGATION_REACH` words after a negator counts as its opposite.

    Parameters
    ----------
    normalised : pyarrow.StringArray, or dictionary-encoded
        Normalised and folded utterances, shape (n,).
    lexicon : Lexicon
        The language.
    """
    return mapped(normalised, lambda texts: _sentiment(texts, lexicon))


def _sentiment(texts: pa.Array, lexicon: Lexicon) -> pa.Array:
    lists = pc.split_pattern(texts, " ")
    owner = np.repeat(np.arange(len(lists)), np.diff(list_offsets(lists)))
    tone, negates = _tones(lists.flatten(), lexicon)
    at = np.flatnonzero(tone)
    turned = np.zeros(len(at), bool)
    for apart in range(1, NEGATION_REACH + 1):
        before = np.maximum(at - apart, 0)
        turned |= (at >= apart) & negates[before] & (owner[before] == owner[at])
    value = np.where(turned, -tone[at], tone[at])
    balance = np.bincount(owner[at], weights=value, minlength=len(lists))
    words = np.bincount(owner[at], minlength=len(lists))
    return pa.array((balance / (words + 1.0)).astype(np.float32), mask=~texts.is_valid().to_numpy(zero_copy_only=False))


def _tones(words: pa.Array, lexicon: Lexicon) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """+1, -1 or 0 for each word, and whether it is a negator."""
    kinds = [lexicon.sentiment[kind] for kind in ("positive", "negative", "negators")]
    known = pa.array([word for kind in kinds for word in kind], pa.string())
    # One look-up a word; the last place stands for a word of no kind.
    place = pc.index_in(words, value_set=known).fill_null(len(known)).to_numpy()
    counts = [*map(len, kinds), 1]
    tone = np.repeat([1.0, -1.0, 0.0, 0.0], counts)
    negates = np.repeat([False, False, True, False], counts)
    return tone[place], negates[place]
