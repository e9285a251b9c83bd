"""Slots carried on to the next request, or changed: a partial rephrase changes one and keeps the rest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import Candidates, list_offsets
from features.neighbours import masked
from features.text import flat, is_true
from features.timeline import Timeline

I64 = npt.NDArray[np.int64]


def carried(
    interpretations: pa.Array | pa.ChunkedArray, candidates: Candidates, line: Timeline, same_frame: pa.Array
) -> dict[str, pa.Array]:
    """What became of the slots of each turn's leading hypothesis in that of the next turn.

    `slots_kept_next` counts its slots that the next one has with the same value, letter case aside.
    `slots_changed_next` counts those whose name the next one has, though not with that value; a slot that is gone
    is neither. `partial_rephrase` is true where the frame is the same, exactly one slot changed and at least one was
    kept. All whatever the gap; null where either turn has no hypothesis, and at a session's last turn.

    Parameters
    ----------
    interpretations : pyarrow.ListArray
        n-best lists of n turns, the leading hypothesis first.
    candidates : Candidates
        The same, flat.
    line : Timeline
        Sessions.
    same_frame : pyarrow.BooleanArray
        Whether the next turn's leading hypothesis has the same frame, shape (n,); see `features.agreement`.
    """
    n = len(line)
    following, exists = line.neighbour(1)
    has = np.diff(candidates.offsets) > 0
    valid = exists & has & has[following]
    count, name, value = _slots(flat(interpretations), candidates)
    start = np.cumsum(count) - count
    turn = np.repeat(np.arange(n), count)
    named, same = np.zeros(len(turn), bool), np.zeros(len(turn), bool)
    # Slots of a turn against the first, second ... slot of the next: few turns have many.
    rows, place = np.flatnonzero(valid[turn]), 0
    while len(rows := rows[count[following[turn[rows]]] > place]):
        other = start[following[turn[rows]]] + place
        alike = name[rows] == name[other]
        named[rows] |= alike
        same[rows] |= alike & (value[rows] == value[other])
        place += 1
    kept = np.bincount(turn[same], minlength=n)
    changed = np.bincount(turn[named & ~same], minlength=n)
    return {
        "slots_kept_next": masked(kept, valid, pa.int32()),
        "slots_changed_next": masked(changed, valid, pa.int32()),
        "partial_rephrase": masked(is_true(same_frame) & (changed == 1) & (kept >= 1), valid, pa.bool_()),
    }


def _slots(lists: pa.ListArray, candidates: Candidates) -> tuple[I64, I64, I64]:
    """How many slots each turn's leading hypothesis has, and a number for the name and the value of each of them."""
    slots = lists.flatten().field("slots")
    offsets = list_offsets(slots)
    turns = np.flatnonzero(np.diff(candidates.offsets) > 0)
    lead = candidates.offsets[:-1][turns]
    count = np.zeros(len(lists), np.int64)
    count[turns] = length = offsets[lead + 1] - offsets[lead]
    first = offsets[lead] - np.cumsum(length) + length
    at = pa.array(np.arange(int(length.sum())) + np.repeat(first, length))
    entries = slots.flatten()
    name, value = (entries.field(field).take(at).fill_null("").dictionary_encode() for field in ("name", "value"))
    return count, _numbers(name), _numbers(value, lower=True)


def _numbers(texts: pa.DictionaryArray, lower: bool = False) -> I64:
    """A number for each text, the same for the same."""
    index = np.asarray(texts.indices.to_numpy(), dtype=np.int64)
    if not lower:
        return index
    merged = pc.utf8_lower(texts.dictionary).dictionary_encode().indices.to_numpy()
    return np.asarray(merged[index], dtype=np.int64)
