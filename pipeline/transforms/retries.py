"""A request asked again: the later turn of the same session that asks the same, and was served.

Stricter than the signal `rephrase`, which tells that something was wrong: "the weather in Accra" is like "the weather
in Delhi", but its answer is no better answer to it. All words of one of the two have to be in the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rapidfuzz import fuzz, process

from features.asked import REPHRASE_LIKENESS
from features.hashing import join, strings
from features.rephrase import REPHRASE_GAP_S, REPHRASE_TURNS
from features.text import F32, flat, likeness, likeness_held

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Of the token-set ratio where one text has all words of the other.
_WHOLE: Final = 100.0


@dataclass(frozen=True)
class RetryOptions:
    """How near, and at least how like, the same request is asked again; the options of the signal `rephrase`.

    Attributes
    ----------
    turns : int
        How many turns ahead.
    gap : float
        Seconds from the first request to the second, bound included.
    likeness : float
        Least likeness of the words; the same words have 1.
    """

    turns: int = REPHRASE_TURNS
    gap: float = REPHRASE_GAP_S
    likeness: float = REPHRASE_LIKENESS


def retries(
    turns: pa.Table, judgements: pa.Table, words: pa.Array, rows: I64, served: Mask, options: RetryOptions
) -> I64:
    """Row of the first served retry of each of `rows`, shape (k,); -1 where there is none.

    Parameters
    ----------
    turns, judgements : pyarrow.Table
        Rows of the same n turns of whole subjects in the same order.
    words : pyarrow.StringArray
        Normalised utterances, shape (n,).
    rows : numpy.ndarray of int64, shape (k,)
        Turns that were not served.
    served : numpy.ndarray of bool, shape (n,)
        Turns that were.
    options : RetryOptions
    """
    found = np.full(len(rows), -1, np.int64)
    if not len(rows):
        return found
    talk = join(strings(judgements["session_id"]), strings(turns["conversation_id"]))
    seconds = flat(turns["event_time"]).cast(pa.int64()).to_numpy() / 1e6
    for ahead in range(1, options.turns + 1):
        later = np.minimum(rows + ahead, turns.num_rows - 1)
        near = (later == rows + ahead) & (talk[later] == talk[rows]) & (seconds[later] - seconds[rows] <= options.gap)
        at = np.flatnonzero((found < 0) & near & served[later])
        first, second = (words.take(pa.array(r[at])).dictionary_encode() for r in (rows, later))
        pair = pa.chunked_array([first, second]).unify_dictionaries().chunks
        like = np.nan_to_num(likeness_held(pair[0], pair[1], _likeness))
        hit = at[like >= options.likeness]
        found[hit] = later[hit]
    return found


def _likeness(left: Sequence[str], right: Sequence[str]) -> F32:
    """Likeness of each pair, shape (n,); 0 where each has a word that the other lacks."""
    if not len(left):
        return np.zeros(0, np.float32)
    within = process.cpdist(left, right, scorer=fuzz.token_set_ratio, dtype=np.float32) >= _WHOLE
    return np.where(within, likeness(left, right), np.float32(0.0))
