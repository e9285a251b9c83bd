"""Interpretations flattened to candidates, with keys under which two of them say the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import SEPARATOR, hash_texts, strings
from features.text import distinct, flat, is_true, mapped, normalise
from schemas import INTERPRETATION

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Candidates:
    """Every hypothesis of every turn, one entry each, in the order of the turns and of their n-best.

    Attributes
    ----------
    turn : numpy.ndarray of int64, shape (m,)
        Row of the turn.
    offsets : numpy.ndarray of int64, shape (n + 1,)
        Turn i has the candidates offsets[i] .. offsets[i + 1].
    candidate_id, frame_id : numpy.ndarray of int64, shape (m,)
        Hash of (domain, intent, slots) and of (domain, intent, slot names).
    value_id : numpy.ndarray of int64, shape (m,)
        Hash of `values`; 0 where there are none.
    values : numpy.ndarray of object, shape (m,)
        Normalised slot values in slot order, joined by a space; empty where there are none.
    score : numpy.ndarray of float64, shape (m,)
        As logged; NaN where missing.
    """

    turn: I64
    offsets: I64
    candidate_id: I64
    frame_id: I64
    value_id: I64
    values: npt.NDArray[np.object_]
    score: npt.NDArray[np.float64]

    def __len__(self) -> int:
        """Candidates."""
        return len(self.turn)


def list_offsets(lists: pa.ListArray) -> I64:
    """Offsets from 0 with null lists as empty ones, shape (n + 1,)."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy()
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def flatten(interpretations: pa.Array | pa.ChunkedArray) -> Candidates:
    """Flatten a column of n-best lists.

    Slot order does not matter to the keys (slots are sorted by name and value), nor does letter case of
    values. A null list is an empty one.
    """
    lists = flat(interpretations)
    offsets = list_offsets(lists)
    entries = lists.flatten()
    names, pairs, values = _slot_texts(entries.field("slots"))
    head = [entries.field(f).fill_null("") for f in ("domain", "intent")]

    def key(slots: pa.Array) -> I64:
        return hash_texts(pc.binary_join_element_wise(*head, slots, SEPARATOR)).view(np.int64)

    said = strings(values)
    return Candidates(
        turn=np.repeat(np.arange(len(lists), dtype=np.int64), np.diff(offsets)),
        offsets=offsets,
        candidate_id=key(pairs),
        frame_id=key(names),
        value_id=np.where(said != "", hash_texts(values).view(np.int64), 0),
        values=said,
        score=entries.field("score").to_numpy(zero_copy_only=False).astype(np.float64),
    )


def _slot_texts(slots: pa.ListArray) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Per candidate: slot names, name=value pairs, and normalised values, each sorted and joined."""
    offsets = list_offsets(slots)
    entries = slots.flatten()
    name = entries.field("name").fill_null("")
    value = pc.utf8_lower(entries.field("value").fill_null(""))
    owner = pa.array(np.repeat(np.arange(len(slots)), np.diff(offsets)))
    if np.diff(offsets).max(initial=0) > 1:
        rank = pc.sort_indices(
            pa.table({"owner": owner, "name": name, "value": value}),
            sort_keys=[("owner", "ascending"), ("name", "ascending"), ("value", "ascending")],
        )
        name, value = name.take(rank), value.take(rank)
    pairs = pc.binary_join_element_wise(name, value, "\x1e")

    def joined(texts: pa.Array, separator: str) -> pa.Array:
        return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts), separator)

    words = mapped(distinct(value), normalise)
    return joined(name, "\x1d"), joined(pairs, "\x1d"), pc.utf8_trim_whitespace(joined(words, " "))


def leading_first(interpretations: pa.Array | pa.ChunkedArray, executed: pa.Array | pa.ChunkedArray) -> pa.Array:
    """N-best lists in the order that everything here reads: what was acted on first, then by score, highest first.

    A hypothesis without a score stands behind those with one; ties keep the logged order; a null list stays null.

    Parameters
    ----------
    interpretations : pyarrow.ListArray
        n lists.
    executed : pyarrow.Int32Array
        Index of what was acted on, shape (n,); null = nothing was.
    """
    lists = flat(interpretations)
    offsets = list_offsets(lists)
    owner = np.repeat(np.arange(len(lists)), np.diff(offsets))
    entry = np.arange(len(owner)) - offsets[owner]
    entries = lists.flatten()
    score = entries.field("score").to_numpy(zero_copy_only=False).astype(np.float64)
    acted = entry == flat(executed).fill_null(-1).to_numpy()[owner]
    order = np.lexsort((entry, -np.where(np.isnan(score), -np.inf, score), ~acted, owner))
    if (np.diff(order) > 0).all():
        return lists
    null = pa.array(lists.is_null().to_numpy(zero_copy_only=False))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), entries.take(pa.array(order)), mask=null)


def acted_on(interpretations: pa.Array | pa.ChunkedArray, executed: pa.Array | pa.ChunkedArray) -> I64:
    """Index, among all hypotheses of all turns, of what each turn acted on; -1 where nothing was, shape (n,).

    Parameters
    ----------
    interpretations : pyarrow.ListArray
        n lists.
    executed : pyarrow.Int32Array
        Place in its list of what was acted on, shape (n,); null = nothing was.
    """
    place = flat(executed)
    at = list_offsets(flat(interpretations))[:-1] + place.fill_null(0).to_numpy()
    return np.where(is_true(place.is_valid()), at, -1)


def best(candidates: Candidates) -> I64:
    """Entry of each turn's leading hypothesis (see `leading_first`), -1 for an empty list."""
    first = candidates.offsets[:-1].copy()
    first[np.diff(candidates.offsets) == 0] = -1
    return first


def unscored(domain: pa.Array, intent: pa.Array, slots: pa.Array) -> pa.StructArray:
    """Interpretations that no interpreter scored: labels.

    Parameters
    ----------
    domain, intent, slots : pyarrow.Array, shape (n,)
    """
    held = {"domain": domain, "intent": intent, "slots": slots, "score": pa.nulls(len(intent), pa.float64())}
    return pa.StructArray.from_arrays([held[f.name] for f in INTERPRETATION], fields=list(INTERPRETATION))


def candidate_ids(entries: pa.StructArray) -> I64:
    """Candidate id of each of n interpretations, which are of no list; shape (n,)."""
    single = pa.ListArray.from_arrays(pa.array(np.arange(len(entries) + 1), pa.int32()), entries)
    return flatten(single).candidate_id


def hex_id(candidate_id: I64) -> list[str]:
    """Candidate ids as the 16 hexadecimal digits that Gold and Correction carry."""
    return [f"{v:016x}" for v in candidate_id.view(np.uint64).tolist()]
