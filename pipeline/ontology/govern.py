"""Turns under an ontology: labels get the names that they have now, and what is none any more never becomes one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import acted_on, candidate_ids, hex_id, list_offsets
from features.text import flat
from pipeline.ontology.labels import Fate, Ontology, shown
from pipeline.ontology.named import Named, named
from pipeline.readers.base import dead_letter
from schemas import DEAD_LETTER, RENAMED, TURN, Reason

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# What a label looks like; in a log without order an intent may hold anything, the user's words too.
_NAME: Final = re.compile(r"[\w.:/-]{1,80}")


@dataclass(frozen=True)
class Governed:
    """Turns under an ontology.

    Attributes
    ----------
    turns : pyarrow.Table
        TURN rows.
    dead : pyarrow.Table
        DEAD_LETTER rows of the others.
    counts : dict of str to int
        Interpretations: `labels_renamed`; `labels_dropped.unknown`, `.split`, `.retired` from n-best lists;
        `labels_history.split`, `.retired`, `.unknown`: kept in a turn, yet never to be a label.
    renamed : pyarrow.Table
        RENAMED rows of the turns asked for.
    """

    turns: pa.Table
    dead: pa.Table
    counts: dict[str, int]
    renamed: pa.Table


def govern(turns: pa.Table, ontology: Ontology, labelled: pa.Array | None = None) -> Governed:
    """Put turns under an ontology.

    A turn that acted on an unknown label is a dead letter. One that acted on a split or retired label stays, as
    history: what the user did next still tells whether it was right. Other interpretations that are no label any more
    leave the n-best list, so that none of them is proposed for a correction; the first one stays, as history too, where
    nothing was acted on and the list would be empty: a turn that the NLU read is no answer in words.

    Parameters
    ----------
    turns : pyarrow.Table
        TURN rows, as `check` gives them.
    ontology : Ontology
    labelled : pyarrow.StringArray, optional
        Turns that people have labelled, whose candidates' ids are wanted.
    """
    lists = flat(turns["interpretations"])
    entries, offsets = lists.flatten(), list_offsets(lists)
    if not len(entries):
        return Governed(turns, DEAD_LETTER.empty(), {}, RENAMED.empty())
    found = named(entries, ontology)
    acted = acted_on(turns["interpretations"], turns["executed"])
    has = acted >= 0
    dead = np.zeros(turns.num_rows, bool)
    dead[has] = found.fate[acted[has]] == Fate.UNKNOWN
    kept = _kept(found.fate, acted, offsets)
    letters = _letters(turns, found, acted, np.flatnonzero(dead))
    alive = ~dead[np.repeat(np.arange(len(lists)), np.diff(offsets))]
    counts = _counts(found, kept, alive)
    ids = _ids(turns, lists, found, kept & alive, labelled)
    if not kept.all() or found.changed.any():
        at = turns.column_names.index("interpretations")
        turns = turns.set_column(at, "interpretations", _lists(lists, offsets, found.entries, kept))
    if dead.any():
        turns = turns.filter(pa.array(~dead))
    return Governed(TURN.conform(turns), letters, counts, ids)


def _kept(fate: npt.NDArray[np.int8], acted: I64, offsets: I64) -> Mask:
    """Interpretations that stay in their list, shape (m,)."""
    kept = fate <= Fate.FREE
    kept[acted[acted >= 0]] = True
    size = np.diff(offsets)
    left = np.diff(np.concatenate([[0], np.cumsum(kept)])[offsets])
    kept[offsets[:-1][(size > 0) & (left == 0)]] = True
    return kept


def _lists(lists: pa.ListArray, offsets: I64, entries: pa.StructArray, kept: Mask) -> pa.ListArray:
    bounds = np.concatenate([[0], np.cumsum(kept)])[offsets]
    null = pa.array(lists.is_null().to_numpy(zero_copy_only=False))
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), entries.filter(pa.array(kept)), mask=null)


def _counts(found: Named, kept: Mask, alive: Mask) -> dict[str, int]:
    out = {"labels_renamed": int((found.changed & kept & alive).sum())}
    for name, where in (("dropped", ~kept), ("history", kept)):
        for fate in (Fate.UNKNOWN, Fate.SPLIT, Fate.RETIRED):
            out[f"labels_{name}.{fate.name.lower()}"] = int((where & alive & (found.fate == fate)).sum())
    return {name: rows for name, rows in out.items() if rows}


def _ids(turns: pa.Table, lists: pa.ListArray, found: Named, wanted: Mask, labelled: pa.Array | None) -> pa.Table:
    """RENAMED rows of the interpretations that were renamed in the turns that people have labelled."""
    if labelled is None or not len(labelled):
        return RENAMED.empty()
    offsets = list_offsets(lists)
    of_turn = pc.is_in(turns["turn_id"], value_set=labelled).to_numpy(zero_copy_only=False)
    owner = np.repeat(np.arange(len(lists)), np.diff(offsets))
    at = np.flatnonzero(wanted & found.changed & of_turn[owner])
    rows = pa.array(at)
    before, now = (_hex(entries.take(rows)) for entries in (lists.flatten(), found.entries))
    return pa.table([flat(turns["turn_id"]).take(pa.array(owner[at])), before, now], schema=RENAMED.schema)


def _hex(entries: pa.StructArray) -> pa.Array:
    """Candidate ids, as labels of people name them."""
    return pa.array(hex_id(candidate_ids(entries)), pa.string())


def with_names_now(gold: pa.Table, renamed: pa.Table) -> pa.Table:
    """GOLD rows whose candidates have the ids that they have under their names now.

    Parameters
    ----------
    gold : pyarrow.Table
    renamed : pyarrow.Table
        RENAMED rows.
    """
    if not (renamed.num_rows and gold.num_rows):
        return gold
    before, now = (
        pc.binary_join_element_wise(flat(t["turn_id"]), pc.fill_null(flat(t[name]), ""), " ")
        for t, name in ((renamed, "before"), (gold, "candidate_id"))
    )
    at = pc.index_in(now, value_set=before)
    candidate = pc.coalesce(flat(renamed["now"]).take(at), flat(gold["candidate_id"]))
    return gold.set_column(gold.column_names.index("candidate_id"), "candidate_id", candidate)


def _letters(turns: pa.Table, found: Named, acted: I64, rows: I64) -> pa.Table:
    """DEAD_LETTER rows of turns that acted on a label that is not known."""
    letters = []
    held = turns.take(pa.array(rows)).to_pylist()
    labels = found.entries.take(pa.array(acted[rows])).to_pylist()
    for row, label, slot in zip(held, labels, found.unknown_slot[acted[rows]], strict=True):
        source = row.pop("source")
        name = shown(label["domain"], label["intent"], slot)
        text = name if all(_NAME.fullmatch(part) for part in name.split(" slot ")) else f"<text of {len(name)}>"
        place = f"{source['uri']}:{source['position']}"
        detail = f"{place}: interpretations: the ontology does not name what was executed, {text}"
        record = {k: v for k, v in row.items() if v is not None}
        letters.append(
            dead_letter(Reason.UNKNOWN_LABEL, source["uri"], source["position"], detail, record, "interpretations")
        )
    return pa.Table.from_pylist(letters, schema=DEAD_LETTER.schema)
