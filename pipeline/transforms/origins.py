"""Where what a vote holds comes from: the domains, systems, licences and conversations of the turns behind it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import list_offsets
from features.text import flat
from pipeline.transforms.conversations import known
from pipeline.transforms.counts import domain_names

I64 = npt.NDArray[np.int64]


def origins(
    turns: pa.Table, judgements: pa.Table, rows: I64, done: I64, supporting: pa.ListArray, context: pa.ListArray
) -> dict[str, pa.ListArray]:
    """The columns `domains`, `policies`, `licences` and `conversations` of votes: distinct values each, sorted.

    A vote is judged in the domains, and answered by the systems, of its own turn and of the one that did what is voted
    for. It says what its supporting turns and its context say, too, so it is under the licences, and of the
    conversations, of all of them.

    Parameters
    ----------
    turns, judgements : pyarrow.Table
        Rows of the same turns in the same order.
    rows, done : numpy.ndarray of int64, shape (k,)
        The vote's turn, and the turn in which the system did what is voted for; -1 = it never did.
    supporting, context : pyarrow.ListArray, shape (k,)
        Turn ids; turns that are not among `turns` tell nothing.
    """
    each = np.arange(len(rows))
    acted = done >= 0
    judged = np.append(each, each[acted]), np.append(rows, done[acted])
    owners, at = [each], [rows]
    for ids in (supporting, context):
        found = pc.index_in(ids.flatten(), value_set=flat(turns["turn_id"]))
        there = found.is_valid().to_numpy(zero_copy_only=False)
        owners.append(np.repeat(each, np.diff(list_offsets(ids)))[there])
        at.append(found.drop_null().to_numpy().astype(np.int64))
    said = np.concatenate(owners), np.concatenate(at)
    return {
        "domains": _distinct(domain_names(judgements["domain"]), *judged, len(rows)),
        "policies": _distinct(flat(turns["policy"]), *judged, len(rows)),
        "licences": _distinct(flat(turns["licence"]), *said, len(rows)),
        "conversations": _distinct(known(flat(turns["conversation_id"])), *said, len(rows)),
    }


def _distinct(values: pa.Array, owner: I64, rows: I64, n: int) -> pa.ListArray:
    """Distinct values of each owner's rows, sorted, nulls left out, as n lists."""
    names = pc.unique(values.drop_null()).sort()
    place = pc.index_in(values, value_set=names).take(pa.array(rows))
    held = place.is_valid().to_numpy(zero_copy_only=False)
    size = max(len(names), 1)
    pairs = np.unique(owner[held] * size + place.drop_null().to_numpy())
    offsets = np.concatenate([[0], np.cumsum(np.bincount(pairs // size, minlength=n))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), names.take(pa.array(pairs % size)))
