"""The `nlu` view: text, intent, slots and BIO tags, in the fields that Hugging Face datasets use."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import list_offsets
from features.text import flat
from pipeline.writers.rows import rows
from pipeline.writers.slots import spans
from pipeline.writers.texts import provenance_text
from pipeline.writers.tokens import Tokens, tokens
from schemas import NLU

I64 = npt.NDArray[np.int64]

# No span.
_NONE: Final = -1
# Values whose patterns are kept; slots have few distinct ones for their number.
_PATTERNS: Final = 1 << 14


def nlu(examples: pa.Table) -> pa.Table:
    """The view's rows, one an example, in the same order.

    A slot's span is the logged one, else the first place where its value stands as whole words, letter case aside; a
    slot without a span is in `slots` but has no tag.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows.
    """
    texts, slots = flat(examples["utterance"]), flat(examples["slots"])
    start, end = located(texts, slots)
    spaced = tokens(texts)
    own = {
        "id": examples["example_id"],
        "text": texts,
        "slots": spans(slots, *(pa.array(at, pa.int32(), mask=at == _NONE) for at in (start, end))),
        "tokens": spaced.lists(spaced.texts),
        "ner_tags": spaced.lists(bio(spaced, slots, start, end)),
        "provenance": provenance_text(examples),
    }
    return rows(NLU, examples, own)


def located(texts: pa.Array, slots: pa.ListArray) -> tuple[I64, I64]:
    """Span of every slot of every text in code points, half-open, shape (m,) each; -1 = none is found."""
    lengths = np.diff(list_offsets(slots))
    owner = np.repeat(np.arange(len(slots)), lengths)
    entries = slots.flatten()
    size = np.repeat(pc.utf8_length(texts).to_numpy(), lengths)
    start, end = (entries.field(n).fill_null(_NONE).to_numpy().astype(np.int64) for n in ("start", "end"))
    sought = np.flatnonzero(~((start >= 0) & (start < end) & (end <= size)))
    said = texts.take(pa.array(owner[sought])).to_pylist()
    values = entries.field("value").take(pa.array(sought)).to_pylist()
    found = [find(text, value) for text, value in zip(said, values, strict=True)]
    start[sought], end[sought] = np.array(found, np.int64).reshape(-1, 2).T
    return start, end


def find(text: str, value: str | None) -> tuple[int, int]:
    """The first place of a text where a value stands as whole words, letter case aside; (-1, -1) = nowhere."""
    if not value:
        return _NONE, _NONE
    if text.isascii() and value.isascii():
        # What the pattern would find, in a tenth of the time.
        at, low, sought = -1, text.lower(), value.lower()
        while (at := low.find(sought, at + 1)) >= 0:
            if not _in_word(low, at - 1) and not _in_word(low, at + len(sought)):
                return at, at + len(sought)
        return _NONE, _NONE
    found = _pattern(value).search(text)
    return found.span() if found else (_NONE, _NONE)


def _in_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


@lru_cache(_PATTERNS)
def _pattern(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE)


def bio(spaced: Tokens, slots: pa.ListArray, start: I64, end: I64) -> pa.Array:
    """Tag of each token, shape (m,): B- on a slot's first token, I- on the next ones, else O.

    A slot without a name or a span has no tag. Of two slots on one token the first in the list has it; a slot whose
    first token is taken begins on its next.
    """
    names = slots.flatten().field("name")
    tagged = np.flatnonzero((start != _NONE) & pc.not_equal(names.fill_null(""), "").to_numpy(zero_copy_only=False))
    origin = np.repeat(spaced.origin[:-1], np.diff(list_offsets(slots)))[tagged]
    first = np.searchsorted(spaced.end, origin + start[tagged], "right")
    count = np.maximum(np.searchsorted(spaced.start, origin + end[tagged], "left") - first, 0)
    slot = np.repeat(tagged, count)
    token = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(slot))
    hit, at = np.unique(token, return_index=True)
    of = np.full(len(spaced.start), _NONE)
    of[hit] = slot[at]
    inside = np.zeros(len(of), bool)
    inside[1:] = (of[1:] == of[:-1]) & (of[1:] != _NONE)
    prefix = pa.array(["B-", "I-"]).take(pa.array(inside.astype(np.int8)))
    name = names.take(pa.array(of, mask=of == _NONE))
    return pc.binary_join_element_wise(prefix, name, "").fill_null("O")
