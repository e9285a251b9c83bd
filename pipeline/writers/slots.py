"""Slots as JSON text, a column at a time: interpretations, arguments of tool calls, slots with their spans."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import list_offsets
from pipeline.writers.json_text import listed, objects, quoted, scalars


def interpretations(domain: pa.Array, intent: pa.Array, slots: pa.ListArray) -> pa.Array:
    """Interpretations as compact JSON, shape (n,).

    Keys stand in one order and slots are sorted, by name and value: one meaning is one text.
    """
    entries, offsets, _ = _sorted(slots, ("name", "value"))
    pairs = objects(((n, quoted(entries.field(n))) for n in ("name", "value")), ":", ",")
    texts = pc.binary_join_element_wise("[", listed(offsets, pairs, ","), "]", "")
    return objects((("domain", quoted(domain)), ("intent", quoted(intent)), ("slots", texts)), ":", ",")


def arguments(slots: pa.ListArray) -> pa.Array:
    """Arguments of tool calls as compact JSON objects, shape (n,): names sorted, none is `{}`.

    Values are text as logged. A name that stands more than once has a list of its values, as they stand.
    """
    entries, offsets, owner = _sorted(slots, ("name",))
    name = entries.field("name").fill_null("")
    first = np.ones(len(owner), bool)
    if len(owner):
        same = pc.equal(name[1:], name[:-1]).to_numpy(zero_copy_only=False)
        first[1:] = (owner[1:] != owner[:-1]) | ~same
    starts = np.flatnonzero(first)
    bounds = np.append(starts, len(owner))
    values = listed(bounds, quoted(entries.field("value")), ",")
    several = pa.array(np.diff(bounds) > 1)
    values = pc.if_else(several, pc.binary_join_element_wise("[", values, "]", ""), values)
    pairs = pc.binary_join_element_wise(quoted(name.take(pa.array(starts))), values, ":")
    texts = listed(np.searchsorted(starts, offsets), pairs, ",")
    return pc.binary_join_element_wise("{", texts, "}", "")


def spans(slots: pa.ListArray, start: pa.Array, end: pa.Array) -> pa.Array:
    """Slots as JSON arrays of {end, name, start, value}, shape (n,); `start` and `end` are those of all slots."""
    entries = slots.flatten()
    fields = (
        ("end", scalars(end)),
        ("name", quoted(entries.field("name"))),
        ("start", scalars(start)),
        ("value", quoted(entries.field("value"))),
    )
    return pc.binary_join_element_wise("[", listed(list_offsets(slots), objects(fields), ", "), "]", "")


def _sorted(
    slots: pa.ListArray, keys: tuple[str, ...]
) -> tuple[pa.StructArray, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """All slots, those of a row sorted by some fields (null as empty; ties as given), with offsets and rows."""
    offsets = list_offsets(slots)
    owner = np.repeat(np.arange(len(slots), dtype=np.int64), np.diff(offsets))
    entries = slots.flatten()
    if np.diff(offsets).max(initial=0) > 1:
        ranks = [_rank(entries.field(key)) for key in reversed(keys)]
        entries = entries.take(pa.array(np.lexsort((*ranks, owner))))
    return entries, offsets, owner


def _rank(texts: pa.Array) -> npt.NDArray[np.int64]:
    """Place of each text among the distinct ones in the order of code points, shape (m,); null is the empty text."""
    held = texts.fill_null("").dictionary_encode()
    rank = np.empty(len(held.dictionary), np.int64)
    rank[pc.sort_indices(held.dictionary).to_numpy()] = np.arange(len(rank))
    return rank[held.indices.to_numpy()]
