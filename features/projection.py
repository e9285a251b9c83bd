"""Slot values of one utterance found in another: labels projected onto the words of the turn that failed.

Self-annotation by paraphrase takes the successful turn's slots and looks for them in the failed utterance (Falke et
al. 2020). The value stays what it was understood as; the span says which of the failed turn's words stand for it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz, process

I64 = npt.NDArray[np.int64]
Texts = npt.NDArray[np.object_]
Span = tuple[int, int]

# Words less like a value than this name another one more often than they are a slip of it: "san fransisco" has .92,
# "rock" and "clock" .67.
PROJECTED_LIKENESS: Final = 0.75
# A slip joins or splits a word at most once: "new ark" for "newark".
_WORDS_APART: Final = 1
# Utterances of more words are no commands, and windows over them cost time.
_MOST_WORDS: Final = 200


def words_of(text: str) -> list[tuple[int, int, str]]:
    """Words of a text as (start, end, word): code points, end exclusive; the word in lower case and NFC.

    A word is a run of letters, numbers and combining marks that has a letter or a number; so an emoji is none, nor the
    variation selector behind it.
    """
    out, start = [], -1
    for at in range(len(text) + 1):
        kind = unicodedata.category(text[at])[0] if at < len(text) else ""
        if kind in ("L", "N") or (kind == "M" and start >= 0):
            start = at if start < 0 else start
        elif start >= 0:
            out.append((start, at, unicodedata.normalize("NFC", text[start:at].lower())))
            start = -1
    return out


def project(utterance: str, values: Sequence[str], likeness: float = PROJECTED_LIKENESS) -> list[Span | None]:
    """Where each slot value stands in an utterance.

    The window of words that is most like a value is its span; a window as long as the value wins over one with a word
    more or less that is as like, then the first. Spans do not overlap: the more alike goes first, then the longer
    value, and the other takes its next best place.

    Parameters
    ----------
    utterance : str
    values : sequence of str
    likeness : float
        Least likeness of a window (rapidfuzz's ratio over normalised words, in [0, 1]); the bound counts. Equal words
        have 1.

    Returns
    -------
    list of (int, int) or None
        Start and end (exclusive) in code points; None where no words are alike, or the value has none.
    """
    words = words_of(utterance)[:_MOST_WORDS]
    found = []
    for slot, value in enumerate(values):
        wanted = [word for _, _, word in words_of(value)]
        for first, last, score in _windows(words, wanted, likeness):
            found.append((-score, -len(wanted), abs(last - first - len(wanted)), first, slot, last))
    out: list[Span | None] = [None] * len(values)
    taken = np.zeros(len(words), bool)
    for _, _, _, first, slot, last in sorted(found):
        if out[slot] is None and not taken[first:last].any():
            out[slot] = (words[first][0], words[last - 1][1])
            taken[first:last] = True
    return out


def _windows(
    words: Sequence[tuple[int, int, str]], wanted: Sequence[str], likeness: float
) -> list[tuple[int, int, float]]:
    """Windows of words that are like the wanted ones, as (first, last exclusive, likeness)."""
    if not wanted:
        return []
    lengths = range(max(1, len(wanted) - _WORDS_APART), len(wanted) + _WORDS_APART + 1)
    places = [(first, first + length) for length in lengths for first in range(len(words) - length + 1)]
    texts = [" ".join(word for _, _, word in words[first:last]) for first, last in places]
    hits = process.extract(
        " ".join(wanted), texts, scorer=fuzz.ratio, processor=None, score_cutoff=100.0 * likeness, limit=None
    )
    return [(*places[at], score / 100.0) for _, score, at in hits]


def projections(utterance: Texts, owner: I64, values: Texts) -> tuple[I64, I64]:
    """Spans of slots in the utterances of their owners, each distinct request worked on once.

    Parameters
    ----------
    utterance : numpy.ndarray of object, shape (n,)
        Empty where missing.
    owner : numpy.ndarray of int64, shape (m,)
        Row of `utterance` that each slot belongs to, ascending.
    values : numpy.ndarray of object, shape (m,)
        Slot values; empty where missing.

    Returns
    -------
    start, end : numpy.ndarray of int64, shape (m,)
        Code points; -1 where a value is not found.
    """
    start, end = np.full(len(owner), -1, np.int64), np.full(len(owner), -1, np.int64)
    held: dict[tuple[str, ...], list[Span | None]] = {}
    for rows in np.split(np.arange(len(owner)), np.flatnonzero(np.diff(owner)) + 1) if len(owner) else []:
        key = (utterance[owner[rows[0]]], *values[rows])
        if key not in held:
            held[key] = project(key[0], key[1:])
        for row, span in zip(rows, held[key], strict=True):
            if span is not None:
                start[row], end[row] = span
    return start, end
