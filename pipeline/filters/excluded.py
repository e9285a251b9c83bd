"""Mark turns with what keeps them out of learning. Vectorised over whole subjects."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.interpretation import list_offsets
from features.text import distinct, flat, is_true
from pipeline.filters.rules import LISTS, Rule
from schemas import TIME

Mask = npt.NDArray[np.bool_]
_MINUTE: Final = 60_000_000


def with_excluded(turns: pa.Table, rules: Sequence[Rule]) -> pa.Table:
    """Turns with the name of the first rule that holds of each in `excluded`; null where none does.

    Parameters
    ----------
    turns : pyarrow.Table
        TURN rows of whole subjects in the total order.
    rules : sequence of Rule
        In the order in which they are asked.
    """
    if not rules or not turns.num_rows:
        return turns
    name = np.full(turns.num_rows, None, dtype=object)
    free = np.ones(turns.num_rows, bool)
    for rule in rules:
        new = free & holds(turns, rule)
        name[new] = rule.name
        free &= ~new
    return turns.set_column(turns.column_names.index("excluded"), "excluded", pa.array(name, pa.string()))


def holds(turns: pa.Table, rule: Rule) -> Mask:
    """Turns that a rule holds of, shape (n,). What was not logged is in no list."""
    out = np.ones(turns.num_rows, bool)
    for key, values in rule.lists.items():
        out &= is_true(pc.is_in(_column(turns, LISTS[key]), value_set=pa.array(values, pa.string())))
    time = flat(turns["event_time"])
    if rule.begins is not None:
        out &= is_true(pc.greater_equal(time, pa.scalar(rule.begins, TIME)))
    if rule.ends is not None:
        out &= is_true(pc.less(time, pa.scalar(rule.ends, TIME)))
    if rule.user_hashes or rule.user_prefixes or rule.user_pattern:
        out &= _users(turns, rule)
    if rule.turns_per_minute is not None:
        out &= hasty(turns, rule.turns_per_minute)
    if rule.expired_by is not None:
        out &= is_true(pc.less_equal(flat(turns["expires"]), pa.scalar(rule.expired_by, TIME)))
    if rule.without_consent:
        out &= ~is_true(flat(turns["consent"]))
    return out


def _column(turns: pa.Table, name: str) -> pa.Array:
    if name != "domain":
        return flat(turns[name])
    lists = flat(turns["interpretations"])
    offsets = list_offsets(lists)
    none = np.diff(offsets) == 0
    return lists.flatten().field("domain").take(pa.array(np.where(none, 0, offsets[:-1]), mask=none))


def _users(turns: pa.Table, rule: Rule) -> Mask:
    """Turns whose user's id is as a rule says; each distinct id is looked at once."""
    users = distinct(turns["user_id"])
    ids = users.dictionary
    good = np.ones(len(ids), bool)
    if rule.user_hashes:
        digests = [hashlib.sha256(user.encode()).hexdigest() for user in ids.to_pylist()]
        good &= is_true(pc.is_in(pa.array(digests, pa.string()), value_set=pa.array(rule.user_hashes, pa.string())))
    if rule.user_prefixes:
        good &= np.logical_or.reduce([is_true(pc.starts_with(ids, pattern=p)) for p in rule.user_prefixes])
    if rule.user_pattern:
        good &= is_true(pc.match_substring_regex(ids, rule.user_pattern))
    return np.append(good, False)[users.indices.fill_null(len(ids)).to_numpy()]


def hasty(turns: pa.Table, turns_per_minute: int) -> Mask:
    """Turns of subjects who have more turns than this in some span of less than a minute, shape (n,)."""
    subject = np.unique(strings(turns["subject_id"]), return_inverse=True)[1]
    time = flat(turns["event_time"]).cast(pa.int64()).to_numpy()
    n = turns_per_minute
    quick = (subject[n:] == subject[:-n]) & (time[n:] - time[:-n] < _MINUTE)
    return np.isin(subject, subject[n:][quick])
