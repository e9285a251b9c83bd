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
from pipeline.privacy import screen
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
    at = np.arange(len(held.texts)) if finder.sees_all else screen.candidates(held.texts)
    if not len(at):
        return np.zeros(0, np.int64), 0
    texts = held.texts.take(pa.array(at))
    keys = texts if held.hints is None else _paired(texts, held.hints.take(pa.array(at)))
    coded = keys.dictionary_encode()
    first = pc.index_in(coded.dictionary, value_set=keys)
    distinct = texts.take(first)
    times = np.bincount(coded.indices.drop_null().to_numpy(), minlength=len(coded.dictionary))
    platform = int((screen.marked(distinct) * times).sum())
    look = np.arange(len(distinct)) if finder.sees_all else np.flatnonzero(screen.likely(distinct))
    if not len(look):
        return look, platform
    hints = [""] * len(look)
    if held.hints is not None:
        hints = strings(held.hints.take(pa.array(at)).take(first).take(pa.array(look))).tolist()
    found = np.zeros(len(distinct) + 1, bool)
    found[look] = _found(held.column, strings(distinct.take(pa.array(look))).tolist(), hints, finder)
    rows = at[found[coded.indices.fill_null(len(distinct)).to_numpy()]]
    return (rows if held.owner is None else held.owner[rows]), platform


def _paired(texts: pa.Array, hints: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(hints.fill_null(""), texts, "\x1f")


def _found(column: str, texts: list[str], hints: list[str], finder: Finder) -> list[bool]:
    """Whether anything is found in each text, or in a text that it holds as JSON."""
    parts = [list(leaves(text, column, hint)) for text, hint in zip(texts, hints, strict=True)]
    if finder.sees_all:
        finder.prepare(text for part in parts for text, _ in part)
    return [any(finder.find(text, hint) for text, hint in part) for part in parts]
