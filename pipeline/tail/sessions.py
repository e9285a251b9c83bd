"""Which sessions a run judges. Pure, over turns in the total order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from features.timeline import ORDER, timeline, unbroken

Mask = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]

# Column of a turn that a release handed on: the release that judged its session, or NOBODY; null = read now.
TAKEN: Final = "taken"
NOBODY: Final = ""


@dataclass(frozen=True)
class Interval:
    """The interval of a run, and when its sessions end.

    Attributes
    ----------
    start, end : int
        Microseconds of the epoch; what happens at `end` is of the next interval.
    session_gap : float
        Seconds.
    session_cap : int
        Turns.
    session_bytes : int
        Bytes of text.
    lateness : float
        Seconds: a turn of no longer before the end, that comes late, still finds its session.
    """

    start: int
    end: int
    session_gap: float
    session_cap: int
    session_bytes: int
    lateness: float


@dataclass(frozen=True)
class Division:
    """Turns by what becomes of them, each shape (n,).

    Attributes
    ----------
    judged : numpy.ndarray of bool
        Of sessions that this run judges.
    open : numpy.ndarray of bool
        Of sessions that a turn of the next interval may still belong to: left to the next run.
    before : numpy.ndarray of bool
        Of sessions that were judged before and are as they were. With the other two: every turn.
    recent : numpy.ndarray of bool
        Of those judged now or before, the ones that late events may still join.
    late : numpy.ndarray of bool
        Read now, of before the interval.
    late_alone : numpy.ndarray of bool
        Late, and in a session that nothing was kept of: judged without what came before.
    before_by : pyarrow.StringArray
        Of turns that were judged before and are now anew, as their session is another by now: the release that did; a
        turn whose record gave way to a later one is the same turn. Null = another turn.
    sessions : int
        Sessions of turns judged now that were of a session judged before.
    """

    judged: Mask
    open: Mask
    before: Mask
    recent: Mask
    late: Mask
    late_alone: Mask
    before_by: pa.Array
    sessions: int


def divide(turns: pa.Table, lost: pa.Table, interval: Interval) -> Division:
    """Divide turns by what becomes of their sessions.

    A session is *open* while a turn at the interval's end, or after it, could belong to it: the gap from its last turn
    to the end does not exceed `session_gap`, and it is not full. One that begins later than a whole interval after the
    end is not waited for: its clock is wrong. A session is *as it was* where all its turns were judged before, and no
    turn joined or left it, nor the turns before it that a full session was cut from.

    Parameters
    ----------
    turns : pyarrow.Table
        `subject_id, event_time, sequence, turn_id, taken` and the texts that sessions are capped by
        (`features.timeline.timeline`), whole subjects in the total order.
    lost : pyarrow.Table
        The first five columns of turns that had been judged and that a record read now took the place of, in any order.
    interval : Interval
    """
    if not turns.num_rows:
        none = np.zeros(0, bool)
        return Division(none, none, none, none, none, none, pa.array([], pa.string()), 0)
    taken = flat(turns[TAKEN])
    read_now = taken.is_null().to_numpy(zero_copy_only=False)
    was_judged = pc.greater(pc.binary_length(taken), 0).fill_null(False).to_numpy(zero_copy_only=False)
    time = flat(turns["event_time"]).cast(pa.int64()).to_numpy()
    number = timeline(turns, interval.session_gap, interval.session_cap, interval.session_bytes).session
    first, last = _bounds(number)

    # By session, shape (sessions,), from here on.
    left, beyond = interval.end - time[last], time[first] - interval.end > interval.end - interval.start
    whole = unbroken(turns, interval.session_gap)
    # Full in turns; or what follows at once had no room in it.
    is_full = (last - first + 1 >= interval.session_cap) | (whole[last] == np.append(whole, -1)[last + 1])
    is_open = (left <= interval.session_gap * 1e6) & ~is_full & ~beyond
    # A late turn may come a whole gap after the session's last.
    may_come = (left <= (interval.lateness + interval.session_gap) * 1e6) & (interval.lateness > 0)
    is_kept = may_come & ~is_open & ~beyond
    touched = _touched(turns, lost, interval)
    is_before = ~_changed(whole, ~was_judged | touched, last) & ~is_open
    is_alone = np.bincount(number, weights=~read_now) == 0

    judged = (~is_open & ~is_before)[number]
    late = read_now & (time < interval.start)
    replaced = flat(lost[TAKEN]).take(pc.index_in(flat(turns["turn_id"]), value_set=flat(lost["turn_id"])))
    before_by = pc.if_else(pa.array(was_judged), taken, replaced)
    before_by = pc.if_else(pa.array(judged), before_by, pa.scalar(None, pa.string()))
    revised = before_by.is_valid().to_numpy(zero_copy_only=False)
    return Division(
        judged=judged,
        open=is_open[number],
        before=is_before[number],
        recent=is_kept[number],
        late=late,
        late_alone=late & is_alone[number],
        before_by=before_by,
        sessions=len(np.unique(number[revised | (judged & touched)])),
    )


def _bounds(number: I64) -> tuple[I64, I64]:
    """Row of each session's first and of its last turn."""
    first = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    return first, np.append(first[1:], len(number)) - 1


def _changed(whole: I64, new: Mask, last: I64) -> Mask:
    """Sessions that are not as they were judged, shape (sessions,); `whole` is of `features.timeline.unbroken`.

    Where a session was cut because it grew too long, a new turn before the cut moves what follows: all sessions of one
    unbroken run of turns change from the first new turn on.
    """
    first_new = np.full(int(whole[-1]) + 1, len(new))
    rows = np.flatnonzero(new)
    np.minimum.at(first_new, whole[rows], rows)
    return np.asarray(last >= first_new[whole[last]])


def _touched(turns: pa.Table, lost: pa.Table, interval: Interval) -> Mask:
    """Turns that were of one session with a turn that is gone, shape (n,)."""
    if not lost.num_rows:
        return np.zeros(turns.num_rows, bool)
    columns = [name for name, _ in ORDER]
    both = pa.concat_tables([t.select(columns) for t in (turns, lost)])
    both = both.append_column("gone", pa.array(np.arange(both.num_rows) >= turns.num_rows))
    both = both.sort_by([*ORDER, ("gone", "ascending")])
    gone = both["gone"].to_numpy()
    whole = unbroken(both, interval.session_gap)
    touched = np.isin(whole, whole[gone])
    # Without what is gone the order is that of the turns.
    return np.asarray(touched[~gone])
