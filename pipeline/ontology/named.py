"""Interpretations under an ontology: what it says of each, and their names now. Vectorised: labels are looked up once
each, however often they stand in a log.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import SEPARATOR
from features.interpretation import list_offsets
from pipeline.ontology.labels import Fate, Ontology
from schemas import INTERPRETATION
from schemas.turn import SLOT

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Named:
    """What an ontology says of m interpretations.

    Attributes
    ----------
    entries : pyarrow.StructArray
        Under their names now, without retired slots.
    fate : numpy.ndarray of int8, shape (m,)
        `Fate` of each; of one with an unknown or a split slot that of the slot.
    changed : numpy.ndarray of bool, shape (m,)
        Whether anything of it has another name, or a slot was taken out.
    unknown_slot : numpy.ndarray of object, shape (m,)
        Name of a slot that is not known; None where there is none.
    """

    entries: pa.StructArray
    fate: npt.NDArray[np.int8]
    changed: Mask
    unknown_slot: npt.NDArray[np.object_]


def named(entries: pa.StructArray, ontology: Ontology) -> Named:
    """Look up interpretations.

    Parameters
    ----------
    entries : pyarrow.StructArray
        m of `schemas.INTERPRETATION`, none of them null.
    ontology : Ontology
    """
    domain, intent = (entries.field(name).fill_null("") for name in ("domain", "intent"))
    pairs = pc.binary_join_element_wise(domain, intent, SEPARATOR).dictionary_encode()
    code = pairs.indices.to_numpy().astype(np.int64)
    # The domain of a pair is what stands before the first separator.
    before = [tuple(pair.split(SEPARATOR, 1)) for pair in pairs.dictionary.to_pylist()]
    labels = [ontology.label(*pair) for pair in before]
    fate = np.array([label[0] for label in labels], np.int8)
    renamed = np.array([label[1:] != pair for label, pair in zip(labels, before, strict=True)], bool)
    slots = _slots(entries.field("slots"), code, labels, ontology)
    of_entry = np.where(fate[code] == Fate.ALLOWED, slots.fate, fate[code]).astype(np.int8)
    changed = renamed[code] | slots.changed
    if not changed.any():
        return Named(entries, of_entry, changed, slots.unknown)
    at, new = pa.array(code), renamed[code]
    domains = pa.array([domain or None for _, domain, _ in labels], pa.string())
    intents = pa.array([intent for _, _, intent in labels], pa.string())
    columns = {
        "domain": _now(entries.field("domain"), new, domains, at),
        "intent": _now(entries.field("intent"), new, intents, at),
        "slots": slots.lists,
    }
    held = [columns.get(f.name, entries.field(f.name)) for f in INTERPRETATION]
    return Named(pa.StructArray.from_arrays(held, fields=list(INTERPRETATION)), of_entry, changed, slots.unknown)


def usable(entries: pa.StructArray, ontology: Ontology | None) -> Mask:
    """Interpretations that an ontology lets be a label, shape (m,); all of them where there is none.

    Parameters
    ----------
    entries : pyarrow.StructArray
        m of `schemas.INTERPRETATION`, none of them null.
    ontology : Ontology or None
    """
    if ontology is None or not len(entries):
        return np.ones(len(entries), bool)
    found = named(entries, ontology)
    return (found.fate <= Fate.FREE) & ~found.changed


def _now(held: pa.Array, changed: Mask, names: pa.Array, at: pa.Array) -> pa.Array:
    return pc.if_else(pa.array(changed), names.take(at), held)


@dataclass(frozen=True)
class _Slots:
    """Slots of m interpretations under their names now, and what is said of each interpretation for their sake."""

    lists: pa.ListArray
    fate: npt.NDArray[np.int8]
    changed: Mask
    unknown: npt.NDArray[np.object_]


def _slots(lists: pa.ListArray, code: I64, labels: list[tuple[Fate, str, str]], ontology: Ontology) -> _Slots:
    m = len(lists)
    offsets, held = list_offsets(lists), lists.flatten()
    owner = np.repeat(np.arange(m), np.diff(offsets))
    names = held.field("name").fill_null("").dictionary_encode()
    texts = names.dictionary.to_pylist()
    n = max(len(texts), 1)
    combos, inverse = np.unique(code[owner] * n + names.indices.to_numpy(), return_inverse=True)
    found = [_slot(labels[combo // n], texts[combo % n], ontology) for combo in combos.tolist()]
    fate = np.array([f for f, _ in found], np.int8)[inverse]
    renamed = np.array([now != texts[c % n] for (_, now), c in zip(found, combos.tolist(), strict=True)], bool)
    retired = fate == Fate.RETIRED
    unknown = np.full(m, None, dtype=object)
    where = np.flatnonzero(fate == Fate.UNKNOWN)[::-1]
    unknown[owner[where]] = np.array(texts, dtype=object)[names.indices.to_numpy()[where]]
    worst = np.full(m, Fate.ALLOWED, np.int8)
    worst[owner[fate == Fate.SPLIT]] = Fate.SPLIT
    worst[owner[where]] = Fate.UNKNOWN
    changed = np.zeros(m, bool)
    if not (renamed.any() or retired.any()):
        return _Slots(lists, worst, changed, unknown)
    changed[owner[retired | renamed[inverse]]] = True
    now = pa.array([name for _, name in found], pa.string()).take(pa.array(inverse))
    name = pc.if_else(pa.array(renamed[inverse]), now, held.field("name"))
    struct = pa.StructArray.from_arrays(
        [name if f.name == "name" else held.field(f.name) for f in SLOT], fields=list(SLOT)
    ).filter(pa.array(~retired))
    left = np.bincount(owner[~retired], minlength=m)
    bounds = pa.array(np.concatenate([[0], np.cumsum(left)]), pa.int32())
    null = pa.array(lists.is_null().to_numpy(zero_copy_only=False))
    return _Slots(pa.ListArray.from_arrays(bounds, struct, mask=null), worst, changed, unknown)


def _slot(label: tuple[Fate, str, str], name: str, ontology: Ontology) -> tuple[Fate, str]:
    """What is said of a slot; nothing where its intent is not an allowed one."""
    return ontology.slot(label[1], label[2], name) if label[0] == Fate.ALLOWED else (Fate.ALLOWED, name)
