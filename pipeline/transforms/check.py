"""Check logged turns: what is usable becomes a Turn, the rest a dead letter with its reason. Vectorised."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash128_hex, join, strings
from features.interpretation import leading_first
from features.text import flat, is_true
from pipeline.readers.base import dead_letter
from schemas import CONVERSATION_SUBJECT, DEAD_LETTER, LOGGED_TURN, OUTCOMES, TIME, TURN, Reason

Mask = npt.NDArray[np.bool_]

# A date, and a time of day to any precision; basic or extended form. What pandas takes beyond it ("now", a bare year)
# is no time of a request.
_NAIVE: Final = r"^\d{4}-?\d{2}-?\d{2}(?:[T ]\d{2}(?::?\d{2}(?::?\d{2}(?:\.\d+)?)?)?)?$"
_ZONED: Final = r"^\d{4}-?\d{2}-?\d{2}[T ]\d{2}(?::?\d{2}(?::?\d{2}(?:\.\d+)?)?)? ?(?:Z|[+-]\d{2}(?::?\d{2})?)$"


@dataclass
class _Check:
    """Rows still good, and for each bad row the first reason found."""

    table: pa.Table
    reason: npt.NDArray[np.object_] = field(init=False)
    fault: npt.NDArray[np.object_] = field(init=False)

    def __post_init__(self) -> None:
        self.reason = np.full(self.table.num_rows, None, dtype=object)
        self.fault = np.full(self.table.num_rows, None, dtype=object)

    def refuse(self, bad: Mask, reason: Reason, column: str | None) -> None:
        """Mark rows that are bad and were not refused before."""
        new = bad & np.equal(self.reason, None)
        self.reason[new], self.fault[new] = str(reason), column


def check(logged: pa.Table, zone: str | None) -> tuple[pa.Table, pa.Table]:
    """Split logged turns into Turn rows and DeadLetter rows; every row lands in one of them.

    Parameters
    ----------
    logged : pyarrow.Table
        LOGGED_TURN rows.
    zone : str or None
        IANA zone of times without an offset; None refuses them. Of a time that the clocks show twice, the first is
        meant; one that they skip moves forward to the next that exists.
    """
    state = _Check(logged)
    user, conversation = _present(logged["user_id"]), _present(logged["conversation_id"])
    state.refuse(~(user | conversation), Reason.MISSING_SUBJECT, "user_id")
    state.refuse(~_present(logged["utterance"]), Reason.EMPTY_UTTERANCE, "utterance")
    event_time = _time(state, "event_time", zone, required=True)
    received = _time(state, "received_time", zone)
    expires = _time(state, "expires", zone)
    state.refuse(_wrong_executed(logged), Reason.INVALID_FIELD, "executed")
    for column in ("asr", "interpretations"):
        state.refuse(_null_item(flat(logged[column])), Reason.INVALID_FIELD, column)
    state.refuse(_unknown_outcome(logged), Reason.INVALID_FIELD, "outcome")
    for column in ("explicit_rating", "propensity"):
        state.refuse(_outside_unit(logged[column]), Reason.INVALID_FIELD, column)

    good = np.equal(state.reason, None)
    subject = _subject(logged, user)
    turns = (
        logged.drop_columns(["event_time", "received_time", "expires"])
        .append_column("event_time", event_time)
        .append_column("received_time", received)
        .append_column("expires", expires)
        .append_column("subject_id", subject)
        .append_column("user_known", pa.array(user))
        .append_column("orphan", pa.nulls(logged.num_rows, pa.bool_()))
        .append_column("excluded", pa.nulls(logged.num_rows, pa.string()))
        .filter(pa.array(good))
    )
    turns = _with(turns, "sequence", pc.fill_null(flat(turns["sequence"]), 0))
    turns = _with(turns, "turn_id", _turn_ids(turns))
    turns = _with(turns, "parent_id", _or_null(turns["parent_id"]))
    turns = _with(turns, "interpretations", leading_first(turns["interpretations"], turns["executed"]))
    executed = flat(turns["executed"])
    turns = _with(turns, "executed", pc.if_else(executed.is_valid(), pa.scalar(0, pa.int32()), executed))
    return TURN.conform(turns), _dead(state)


def _present(text: pa.ChunkedArray) -> Mask:
    """Not null and not blank."""
    return is_true(pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(flat(text))), 0))


def _or_null(text: pa.ChunkedArray) -> pa.Array:
    """Null where blank."""
    return pc.if_else(pa.array(_present(text)), flat(text), pa.scalar(None, pa.string()))


def _subject(logged: pa.Table, user: Mask) -> pa.Array:
    """user_id, else conv:<conversation_id>."""
    named = pc.fill_null(flat(logged["conversation_id"]), "")
    conversation = pc.binary_join_element_wise(CONVERSATION_SUBJECT, named, "")
    return pc.if_else(pa.array(user), flat(logged["user_id"]), conversation)


def _turn_ids(turns: pa.Table) -> pa.Array:
    """The logged id, else a hash of subject, conversation, time, sequence and utterance.

    Without an id a replayed record hashes to the same turn, so replays still supersede each other.
    """
    given = flat(turns["turn_id"])
    missing = ~_present(turns["turn_id"])
    if not missing.any():
        return given
    micros = flat(turns["event_time"]).cast(pa.int64()).cast(pa.string())
    parts = [
        turns["subject_id"],
        turns["conversation_id"],
        micros,
        turns["sequence"].cast(pa.string()),
        turns["utterance"],
    ]
    return pc.if_else(pa.array(missing), pa.array(hash128_hex(join(*(strings(p) for p in parts))), pa.string()), given)


def _time(state: _Check, column: str, zone: str | None, required: bool = False) -> pa.Array:
    """Parse a text column to UTC; refuse rows whose time is missing (if required), malformed, or naive."""
    text = pc.utf8_upper(pc.utf8_trim_whitespace(flat(state.table[column])))
    present = _present(text)
    if required:
        state.refuse(~present, Reason.MISSING_TIME, column)
    zoned, naive = _matches(text, _ZONED), _matches(text, _NAIVE)
    values = pd.Series(strings(text))
    out = pd.Series(pd.NaT, index=values.index, dtype="datetime64[us, UTC]")
    if zoned.any():
        out[zoned] = _parse(values[zoned], utc=True).dt.as_unit("us")
    if naive.any():
        local = _parse(values[naive], utc=False)
        if zone is None:
            # A malformed time is refused as such below; only a well-formed one lacks nothing but its zone.
            lacking = naive.copy()
            lacking[naive] = local.notna().to_numpy()
            state.refuse(lacking, Reason.NAIVE_TIME, column)
        else:
            first = np.ones(len(local), bool)
            placed = local.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
            out[naive] = placed.dt.tz_convert("UTC").dt.as_unit("us")
    unparsed = present & out.isna().to_numpy()
    state.refuse(unparsed, Reason.INVALID_TIME, column)
    return pa.array(out.dt.tz_convert("UTC").to_numpy("datetime64[us]"), pa.timestamp("us")).cast(TIME)


def _matches(text: pa.Array, pattern: str) -> Mask:
    return is_true(pc.match_substring_regex(text, pattern))


def _parse(values: pd.Series, utc: bool) -> pd.Series:
    return pd.to_datetime(values, format="ISO8601", utc=utc, errors="coerce")


def _wrong_executed(logged: pa.Table) -> Mask:
    """The index of the executed interpretation points outside the list."""
    executed = flat(logged["executed"])
    length = pc.fill_null(pc.list_value_length(flat(logged["interpretations"])), 0)
    return is_true(pc.or_(pc.less(executed, 0), pc.greater_equal(executed, length)))


def _null_item(lists: pa.ListArray) -> Mask:
    """A null where a record is wanted, in the list or in the slots of one of its records."""
    items, owner = pc.list_flatten(lists), pc.list_parent_indices(lists)
    bad = pc.is_null(items).to_numpy(zero_copy_only=False)
    if items.type.get_field_index("slots") >= 0:
        slots = pc.struct_field(items, "slots")
        bad[pc.list_parent_indices(slots).filter(pc.is_null(pc.list_flatten(slots))).to_numpy()] = True
    out = np.zeros(len(lists), bool)
    out[owner.to_numpy()[bad]] = True
    return out


def _unknown_outcome(logged: pa.Table) -> Mask:
    outcome = flat(logged["outcome"])
    known = pc.or_(pc.is_null(outcome), pc.is_in(outcome, value_set=pa.array(OUTCOMES)))
    return ~is_true(known)


def _outside_unit(numbers: pa.ChunkedArray) -> Mask:
    """Not in [0, 1]; null is, NaN is not."""
    inside = pc.and_(pc.greater_equal(flat(numbers), 0.0), pc.less_equal(flat(numbers), 1.0))
    return is_true(pc.invert(inside))


def _with(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


_FOUND: Final[dict[str, str]] = {
    Reason.MISSING_SUBJECT: "neither user_id nor conversation_id",
    Reason.MISSING_TIME: "no time",
    Reason.INVALID_TIME: "a time that does not parse",
    Reason.NAIVE_TIME: "a time without an offset, and no zone is declared",
    Reason.EMPTY_UTTERANCE: "an empty utterance",
}
_FOUND_IN: Final[dict[str, str]] = {
    "asr": "a null among the hypotheses",
    "interpretations": "a null among the interpretations or their slots",
    "executed": "an index outside the list of interpretations",
    "outcome": f"none of {', '.join(OUTCOMES)}",
    "explicit_rating": "a number outside [0, 1]",
    "propensity": "a number outside [0, 1]",
}


def _dead(state: _Check) -> pa.Table:
    bad = np.flatnonzero(np.not_equal(state.reason, None))
    rows = state.table.take(pa.array(bad)).select([n for n in LOGGED_TURN.names]).to_pylist()
    letters = []
    for at, row in zip(bad, rows, strict=True):
        source = row.pop("source") or {"uri": "", "position": -1}
        reason = Reason(state.reason[at])
        found = _FOUND.get(reason) or _FOUND_IN[state.fault[at]]
        detail = f"{source['uri']}:{source['position']}: {state.fault[at]}: {found}"
        record = {k: v for k, v in row.items() if v is not None}
        letters.append(dead_letter(reason, source["uri"], source["position"], detail, record, state.fault[at]))
    return pa.Table.from_pylist(letters, schema=DEAD_LETTER.schema)
