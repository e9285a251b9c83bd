"""Conversations in which users of both sides of the split speak, as on a shared device or where one is handed over.

Their turns of test cast no vote: what was said there is known to train. A conversation is told by a hash of its id, a
blank one is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, shares, strings
from features.text import is_true

if TYPE_CHECKING:
    from datetime import datetime

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Columns of turns that sides are told from; the time only where there is a cut in it.
SIDE_READS: Final = ("conversation_id", "subject_id", "event_time")
SIDE: Final = pa.schema([("conversation", pa.int64()), ("test", pa.bool_())])
NONE: Final[I64] = np.zeros(0, np.int64)
_KEY: Final = "afterword/talk/1"
_SPLIT_KEY: Final = "afterword/split1"


def in_test(subjects: npt.NDArray[np.object_], test_share: float) -> Mask:
    """Users whose turns are of the test split, by hash, shape (n,)."""
    return np.asarray(shares(hash64(subjects, _SPLIT_KEY)) < test_share, dtype=bool)


def fits(event_time: pa.Array, test: Mask, test_from: datetime | None) -> Mask:
    """Turns whose time is on their user's side of the cut, shape (n,); all of them where there is none."""
    if test_from is None:
        return np.ones(len(test), bool)
    later = pc.greater_equal(event_time, pa.scalar(test_from, pa.timestamp("us", "UTC")))
    return np.asarray(later.to_numpy(zero_copy_only=False) == test, dtype=bool)


def known(ids: pa.Array) -> pa.Array:
    """Conversation ids, null where one is blank."""
    return pc.if_else(pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(ids)), 0), ids, pa.scalar(None, pa.string()))


def hashes(ids: pa.Array) -> I64:
    """Hash of each conversation id, shape (n,)."""
    return hash64(strings(ids), _KEY).view(np.int64)


def sides(turns: pa.Table, test_share: float, test_from: datetime | None) -> pa.Table:
    """SIDE rows of a bucket, distinct: who speaks in which conversation, as far as they may vote.

    Each distinct id is hashed once.

    Parameters
    ----------
    turns : pyarrow.Table
        `conversation_id` and `subject_id`, dictionary-encoded; `event_time` where there is a cut in time.
    test_share : float
    test_from : datetime or None
    """
    conversation, subject = (turns[name].unify_dictionaries().combine_chunks() for name in SIDE_READS[:2])
    test = in_test(strings(subject.dictionary), test_share)[subject.indices.to_numpy()]
    inside = np.ones(len(test), bool)
    if test_from is not None:
        inside = fits(turns["event_time"].combine_chunks(), test, test_from)
    named = is_true(known(conversation.dictionary).is_valid())
    at = conversation.indices.fill_null(len(named)).to_numpy().astype(np.int64)
    inside &= np.append(named, False)[at]
    pairs = np.unique(at[inside] * 2 + test[inside])
    distinct = hashes(conversation.dictionary)[pairs // 2]
    return pa.table([pa.array(distinct), pa.array(pairs % 2 == 1)], schema=SIDE)


def on_both(rows: pa.Table) -> I64:
    """Conversations that have rows of both sides, ascending.

    Parameters
    ----------
    rows : pyarrow.Table
        SIDE rows, all of each conversation.
    """
    conversation, test = rows["conversation"].to_numpy(), rows["test"].to_numpy()
    return np.intersect1d(conversation[test], conversation[~test])


def stands_in(ids: pa.Array, shared: I64, among: Mask) -> Mask:
    """Turns of some that stand in one of the conversations, shape (n,).

    Parameters
    ----------
    ids : pyarrow.StringArray, shape (n,)
        Conversation ids.
    shared : numpy.ndarray of int64
        Hashes of conversations.
    among : numpy.ndarray of bool, shape (n,)
        The turns that are asked about.
    """
    out = np.zeros(len(among), bool)
    rows = np.flatnonzero(among & is_true(known(ids).is_valid())) if len(shared) else NONE
    out[rows] = np.isin(hashes(ids.take(pa.array(rows))), shared)
    return out
