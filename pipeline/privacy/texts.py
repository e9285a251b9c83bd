"""Which turns hold something to redact: every text column looked at whole, each distinct text once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.interpretation import list_offsets
from features.text import flat
from pipeline.privacy import marks, screen
from pipeline.privacy.cells import PLAIN, leaves
from pipeline.privacy.find import Finder

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """A column of texts, or the texts inside one.

    Attributes
    ----------
    column : str
    texts : pyarrow.StringArray
        m texts.
    owner : numpy.ndarray of int64, or None
        Row of each text, shape (m,); None = its own.
    hints : pyarrow.StringArray or None
        Name of the slot of each.
    """

    column: str
    texts: pa.Array
    owner: I64 | None = None
    hints: pa.Array | None = None


def texts_of(turns: pa.Table) -> Iterator[Texts]:
    """All texts of TURN rows that are redacted."""
    for name in PLAIN:
        yield Texts(name, flat(turns[name]))
    hypotheses = flat(turns["asr"])
    yield Texts("asr.text", pc.struct_field(hypotheses.flatten(), "text"), _owner(hypotheses))
    readings = flat(turns["interpretations"])
    slots = pc.struct_field(readings.flatten(), "slots")
    entries = slots.flatten()
    owner = _owner(readings)[_owner(slots)]
    yield Texts(
        "interpretations.slots.value", pc.struct_field(entries, "value"), owner, pc.struct_field(entries, "name")
    )
    yield Texts("extra", flat(turns["extra"]))


def _owner(lists: pa.ListArray) -> I64:
    """Row of each entry of a list column, shape (m,)."""
    return np.repeat(np.arange(len(lists), dtype=np.int64), np.diff(list_offsets(lists)))


def hits(held: Texts, finder: Finder) -> tuple[I64, int]:
    """Rows (of the turns) that hold something to redact, repeated ones too, and the platform's marks in all of them."""
    coded = held.texts.dictionary_encode()
    distinct = coded.dictionary
    look = np.arange(len(distinct)) if finder.sees_all else screen.candidates(distinct)
    if not len(look):
        return look, 0
    codes = coded.indices.fill_null(len(distinct)).to_numpy()
    some = distinct.take(pa.array(look))
    platform = int((screen.marked(some) * np.bincount(codes, minlength=len(distinct) + 1)[look]).sum())
    if not finder.sees_all:
        look = look[screen.likely(some)]
    likely = np.zeros(len(distinct) + 1, bool)
    likely[look] = True
    at = np.flatnonzero(likely[codes])
    found, no_marks = _found(held, at, finder) if len(at) else (likely[:0], 0)
    rows = at[found]
    return (rows if held.owner is None else held.owner[rows]), platform - no_marks


def _found(held: Texts, at: I64, finder: Finder) -> tuple[npt.NDArray[np.bool_], int]:
    """Whether anything is found in some of the texts, or in what they hold as JSON, shape (k,); and how many of what
    has a mark's form in them holds a value.
    """
    texts = strings(held.texts.take(pa.array(at))).tolist()
    hints = [""] * len(at) if held.hints is None else strings(held.hints.take(pa.array(at))).tolist()
    pairs = list(zip(texts, hints, strict=True))
    parts = {pair: list(leaves(pair[0], held.column, pair[1])) for pair in dict.fromkeys(pairs)}
    if finder.sees_all:
        finder.prepare(text for part in parts.values() for text, _ in part)
    found = {pair: [(text, finder.find(text, hint)) for text, hint in part] for pair, part in parts.items()}
    no_marks = {
        pair: sum(len(marks.holding(marks.spans(text), findings)) for text, findings in part if findings)
        for pair, part in found.items()
    }
    hit = [any(findings for _, findings in found[pair]) for pair in pairs]
    return np.array(hit, dtype=bool), sum(no_marks[pair] for pair in pairs)
