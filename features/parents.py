"""Which turn a turn follows, where the log says so: links that name nothing, or go in circles, are cut and flagged."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.text import flat

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def linked(turns: pa.Table) -> pa.Table:
    """Turns whose links are a forest, within a subject.

    A link is cut where the parent is no turn of the subject or is the turn itself, and of a cycle at the turn that
    comes first in the table; such a turn is an `orphan` and its `parent_id` is null. A turn that follows another is not
    the first of its conversation: where `sequence` says so, as it does where none was logged, it becomes the number of
    turns before it on its path, so that turns of one time stand after those that they follow.

    Parameters
    ----------
    turns : pyarrow.Table
        TURN rows of whole subjects in the total order; turn_id is unique.
    """
    named = flat(turns["parent_id"])
    if named.null_count == len(named):
        return turns
    logged = named.is_valid().to_numpy(zero_copy_only=False)
    parent = _cut(_rows(turns, named))
    kept = parent >= 0
    sequence = turns["sequence"].to_numpy()
    sequence = np.where(kept & (sequence == 0), _depth(parent), sequence)
    columns = {
        "parent_id": pc.if_else(pa.array(kept), named, pa.scalar(None, pa.string())),
        # One that was cut before, and handed on to a next run, stays one.
        "orphan": pc.if_else(pa.array(logged), pa.array(~kept), flat(turns["orphan"])),
        "sequence": pa.array(sequence),
    }
    for name, values in columns.items():
        turns = turns.set_column(turns.column_names.index(name), name, values)
    return turns


def _rows(turns: pa.Table, named: pa.Array) -> I64:
    """Row of each turn's parent, shape (n,); -1 where none is named, or no other turn of the subject has that id."""
    rows = np.asarray(pc.fill_null(pc.index_in(named, value_set=flat(turns["turn_id"])), -1).to_numpy(), dtype=np.int64)
    rows[named.is_null().to_numpy(zero_copy_only=False)] = -1
    subject = strings(turns["subject_id"])
    own = rows == np.arange(len(rows))
    rows[own | (subject[rows] != subject)] = -1
    return rows


def _cut(parent: I64) -> I64:
    """The links less one of each cycle: that of its first row."""
    end, least = _followed(parent)
    # Of a path without an end, as many steps on as there are rows, a cycle has been reached, and gone round.
    around = np.unique(end[end >= 0])
    out = parent.copy()
    out[np.unique(least[around])] = -1
    return out


def _followed(parent: I64) -> tuple[I64, I64]:
    """Row that is reached by at least n steps, -1 beyond an end, and the least row of the first n steps, shape (n,)."""
    at, least = parent.copy(), np.arange(len(parent))
    for _ in range(len(parent).bit_length()):
        goes = at >= 0
        least = np.where(goes, np.minimum(least, least[at]), least)
        at = np.where(goes, at[at], -1)
    return at, least


def _depth(parent: I64) -> I64:
    """Turns before each one on its path, shape (n,). The links are a forest; the steps double."""
    at, depth = parent.copy(), (parent >= 0).astype(np.int64)
    while (goes := at >= 0).any():
        depth = np.where(goes, depth + depth[at], depth)
        at = np.where(goes, at[at], -1)
    return depth
