"""Text as the signals compare it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import fuzz, process

from features.hashing import strings

F32 = npt.NDArray[np.float32]


def flat(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous Arrow array."""
    if not isinstance(values, pa.ChunkedArray):
        return values
    # Arrow copies even the one chunk of an array.
    whole = values.num_chunks == 1 and values.chunk(0).offset == 0
    return values.chunk(0) if whole else values.combine_chunks()


def is_true(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Where a column of booleans is true, shape (n,); null is not."""
    return np.asarray(pc.fill_null(flat(values), False).to_numpy(zero_copy_only=False), dtype=bool)


def distinct(text: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """Texts with each distinct one held once: prompts and commands repeat, and text work is what costs
    most.
    """
    whole = flat(text)
    return whole if isinstance(whole, pa.DictionaryArray) else whole.dictionary_encode()


def mapped(text: pa.Array, function: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Apply an element-wise function that keeps null; to each distinct text only, where they are held so."""
    if isinstance(text, pa.DictionaryArray):
        return function(text.dictionary).take(text.indices)
    return function(text)


def reworded(text: pa.Array, function: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Like `mapped` for a function from text to text; what was held once stays so."""
    if isinstance(text, pa.DictionaryArray):
        return pa.DictionaryArray.from_arrays(text.indices, function(text.dictionary))
    return function(text)


def normalise(text: pa.Array | pa.ChunkedArray, marks: str = "") -> pa.Array:
    """Lower-case, punctuation to spaces, white space folded. Null stays null; see `reworded`.

    Each of the punctuation `marks` is kept, as a word of its own.
    """
    return reworded(flat(text), lambda held: _normalise(held, marks))


def _normalise(text: pa.Array, marks: str) -> pa.Array:
    words = pc.utf8_lower(_composed(text))
    if marks:
        words = pc.replace_substring_regex(words, pattern=f"([{re.escape(marks)}])", replacement=r" \1 ")
    words = pc.replace_substring_regex(words, pattern=rf"[^\pL\pN\pM{re.escape(marks)}]+", replacement=" ")
    return pc.utf8_trim_whitespace(words)


def _composed(text: pa.Array) -> pa.Array:
    """Text in NFC. Arrow's own utf8_normalize decomposes for NFC too (apache/arrow issue 51225, in 25.0.1),
    so Python's
    does it, for the texts that are not plain ASCII.
    """
    plain = pc.fill_null(pc.string_is_ascii(text), True)
    if pc.all(plain).as_py() is not False:
        return text
    others = text.filter(pc.invert(plain)).to_pylist()
    composed = pa.array([unicodedata.normalize("NFC", other) for other in others], text.type)
    return pc.replace_with_mask(text, pc.invert(plain), composed)


def token_count(normalised: pa.Array) -> pa.Array:
    """Whitespace tokens of each normalised text; 0 for an empty one, null for null."""
    return mapped(normalised, _token_count)


def _token_count(normalised: pa.Array) -> pa.Array:
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
    # Equal texts without a token are two empty ones; the plain ratio calls them alike.
    score[(by_tokens == 0.0) & (by_letters == 100.0)] = 0.0
    return score


def likeness_held(left: pa.Array, right: pa.Array, scorer: Callable[[Sequence[str], Sequence[str]], F32]) -> F32:
    """Score pairs of texts, shape (n,), NaN where either is null; pairs of dictionary-encoded texts once
    each.

    Parameters
    ----------
    left, right : pyarrow.DictionaryArray of string
        Texts, shape (n,).
    scorer : callable
        Gives a score for each pair, like `likeness`.
    """
    valid = _held(left) & _held(right)
    rows = pa.array(np.flatnonzero(valid))
    first, second = (side.indices.take(rows).to_numpy().astype(np.int64) for side in (left, right))
    pairs, inverse = np.unique(first * len(right.dictionary) + second, return_inverse=True)
    at, other = np.divmod(pairs, max(len(right.dictionary), 1))
    score = scorer(strings(left.dictionary)[at].tolist(), strings(right.dictionary)[other].tolist())
    out = np.full(len(valid), np.nan, np.float32)
    out[valid] = score[inverse]
    return out


def _held(text: pa.DictionaryArray) -> npt.NDArray[np.bool_]:
    """Where a dictionary-encoded text is not null; a null may stand in the dictionary too."""
    return is_true(text.dictionary.is_valid().take(text.indices))
