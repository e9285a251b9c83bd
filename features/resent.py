"""A prompt sent again: for another answer (regeneration), or edited by a little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import fuzz, process

from features.neighbours import masked
from features.rephrase import Ahead
from features.text import F32, distinct, likeness_held

# From here on two texts are one with a few letters or a word changed: "Who is Harold (H.) Piffard" has .95.
EDIT_LIKENESS: Final = 0.8
# A shorter text becomes another by the change of one word.
EDIT_TOKENS: Final = 4


def regenerated(repeats_next: pa.Array, ahead: Ahead, response: pa.DictionaryArray) -> pa.Array:
    """Whether the same words come again at once and get another answer, shape (n,).

    At once: within the time gap of a rephrase, bound included (of the repeats in the IFLLM logs two in three come
    within 60 s). Null at a session's last turn, and where this answer or the next was not logged.

    Parameters
    ----------
    repeats_next : pyarrow.BooleanArray
        From `features.repetition`, shape (n,).
    ahead : Ahead
        The next turn.
    response : pyarrow.DictionaryArray of string
        The answers as logged, no text twice in the dictionary, shape (n,).
    """
    other = pc.not_equal(response.indices, response.indices.take(pa.array(ahead.row)))
    held = pc.and_kleene(pc.and_(repeats_next, pa.array(ahead.near)), other)
    known = pc.and_(other.is_valid(), pa.array(ahead.exists))
    return pc.if_else(known, held, pa.scalar(None, pa.bool_()))


def edited_next(normalised: pa.Array, tokens: pa.Array, ahead: Ahead) -> pa.Array:
    """Whether the next utterance is this one with a small edit, shape (n,); null at a session's last turn.

    rapidfuzz's plain ratio of at least `EDIT_LIKENESS`, the same words excepted, and at least `EDIT_TOKENS` words in
    both; whatever the gap, as an edit takes its time.

    Parameters
    ----------
    normalised : pyarrow.StringArray, or dictionary-encoded
        Normalised utterances, shape (n,).
    tokens : pyarrow.Int32Array
        Words of each, shape (n,).
    ahead : Ahead
        The next turn.
    """
    count = tokens.to_numpy()
    long = np.minimum(count, count[ahead.row]) >= EDIT_TOKENS
    # The likeness is the mean of the plain ratio and another, so it is at least half of it.
    likely = ahead.exists & long & (ahead.like >= EDIT_LIKENESS / 2)
    words = distinct(normalised)
    there = pc.if_else(pa.array(likely), words.indices.take(pa.array(ahead.row)), None)
    ratio = likeness_held(words, pa.DictionaryArray.from_arrays(there, words.dictionary), _plain)
    edited = np.where(likely, (ratio >= EDIT_LIKENESS) & (ratio < 1.0), False)
    return masked(edited, ahead.exists, pa.bool_())


def _plain(left: Sequence[str], right: Sequence[str]) -> F32:
    score = process.cpdist(left, right, scorer=fuzz.ratio, dtype=np.float32) if len(left) else np.zeros(0)
    return np.asarray(score / np.float32(100.0), dtype=np.float32)
