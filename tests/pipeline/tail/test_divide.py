"""The rules of open, recent and late sessions, at their boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.timeline import sort, timeline
from pipeline.tail.sessions import NOBODY, TAKEN, Division, Interval, divide

SECOND = 1_000_000
START, END = 100_000 * SECOND, 200_000 * SECOND
DAY = Interval(START, END, session_gap=300.0, session_cap=10_000, session_bytes=1 << 20, lateness=3_600.0)
OLD = "release-0"
TEXT = "some text"
# Turns as (subject, seconds from the interval's end, or its start where late, what it was taken from).
Row = tuple[str, float, str | None]


def table(rows: Sequence[Row]) -> pa.Table:
    subject, micros, taken = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {
        "subject_id": pa.array(subject, pa.string()),
        "event_time": pa.array([round(m) for m in micros], pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        "sequence": pa.array([0] * len(rows), pa.int64()),
        "turn_id": pa.array([f"{s}@{m}" for s, m, _ in rows], pa.string()),
        TAKEN: pa.array(taken, pa.string()),
        **{name: pa.array([TEXT] * len(rows), pa.string()) for name in ("prompt", "utterance", "response")},
    }
    return sort(pa.table(columns))


def of(rows: Sequence[Row], lost: Sequence[Row] = (), interval: Interval = DAY) -> Division:
    return divide(table(rows), table(lost), interval)


def at(second: float, taken: str | None = None, subject: str = "u") -> Row:
    """A turn so many seconds from the interval's end."""
    return subject, END + second * SECOND, taken


def early(second: float, taken: str | None = None, subject: str = "u") -> Row:
    """A turn so many seconds from the interval's start."""
    return subject, START + second * SECOND, taken


def test_a_session_is_open_while_the_gap_to_the_end_does_not_exceed_the_session_gap():
    just = 1 / SECOND
    assert of([at(-300)]).open.tolist() == [True]
    assert of([at(-300 - just)]).judged.tolist() == [True]
    # What a turn at the end would join is open whole; what ended before it is not.
    assert of([at(-700), at(-400), at(-100)]).open.tolist() == [True] * 3
    assert of([at(-701), at(-400), at(-100)]).open.tolist() == [False, True, True]


def test_turns_of_the_next_interval_wait_for_it_and_those_of_no_time_do_not():
    assert of([at(5), at(90_000)]).open.tolist() == [True, True]
    # A clock that is a whole interval ahead is wrong.
    whole = (END - START) / SECOND
    assert of([at(whole)]).open.tolist() == [True]
    late = of([at(whole + 1)])
    assert late.judged.tolist() == [True] and late.recent.tolist() == [False]


def test_what_was_judged_and_is_as_it_was_is_not_judged_again_and_is_kept_while_late_events_may_come():
    # An hour, and the gap that a turn of then may keep from the session's last.
    within, over = at(-3_900, OLD, "a"), at(-3_900.000001, OLD, "b")
    got = of([within, over])
    assert got.before.tolist() == [True, True] and not got.judged.any()
    assert got.recent.tolist() == [True, False]
    assert of([at(-3_900)]).recent.tolist() == [True] and of([at(-3_901)]).recent.tolist() == [False]
    # Open sessions are kept as such.
    assert of([at(-10)]).recent.tolist() == [False]
    assert not of([at(-3_000)], interval=replace(DAY, lateness=0.0)).recent.any()


def test_a_late_turn_that_joins_a_judged_session_has_it_judged_anew_whole():
    got = of([early(-1_000, OLD), early(-900), early(-800, OLD), early(-400, OLD)])
    assert got.judged.tolist() == [True, True, True, False] and got.before.tolist() == [False] * 3 + [True]
    assert got.late.tolist() == [False, True, False, False] and not got.late_alone.any()
    assert got.before_by.to_pylist() == [OLD, None, OLD, None] and got.sessions == 1


def test_a_late_turn_joins_at_a_gap_that_is_equal_to_the_session_gap():
    assert of([early(-1_000, OLD), early(-700)]).before_by.to_pylist() == [OLD, None]
    apart = of([early(-1_000, OLD), early(-699.999999)])
    assert apart.before.tolist() == [True, False] and apart.late_alone.tolist() == [False, True]


def test_a_late_turn_that_lies_between_two_judged_sessions_makes_them_one():
    got = of([early(-1_000, OLD), early(-750), early(-500, OLD)])
    assert got.judged.all() and got.sessions == 1 and got.before_by.to_pylist() == [OLD, None, OLD]


def test_what_was_left_open_is_judged_when_it_ends_and_is_no_late_turn():
    got = of([early(-100, NOBODY), early(50), at(-10, NOBODY, "v")])
    assert got.judged.tolist() == [True, True, False] and got.open.tolist() == [False, False, True]
    assert not got.late.any() and got.before_by.null_count == 3 and got.sessions == 0
    # Late, but of a session that no one has judged yet.
    late = of([early(-100, NOBODY), early(-50)])
    assert late.late.tolist() == [False, True] and not late.late_alone.any() and late.before_by.null_count == 2


def test_a_session_that_lost_a_turn_is_judged_anew():
    rest = [early(-1_000, OLD), early(-500, OLD), early(-100, OLD, "v")]
    got = of(rest, lost=[early(-750, OLD)])
    assert got.judged.tolist() == [True, True, False] and got.sessions == 2
    assert not of(rest, lost=[early(-1_301, OLD)]).judged.any()


def test_a_turn_whose_record_gave_way_to_a_later_one_was_judged_before():
    got = of([early(-1_000), early(-900)], lost=[early(-1_000, OLD)])
    assert got.before_by.to_pylist() == [OLD, None] and got.sessions == 1


def test_a_full_session_is_judged_and_a_turn_before_its_cut_moves_what_follows():
    three = replace(DAY, session_cap=3)
    got = of([at(-50 + k) for k in range(7)], interval=three)
    assert got.judged.tolist() == [True] * 6 + [False] and got.open.tolist() == [False] * 6 + [True]
    # As the next run finds it: what was judged, what was left open, what is new.
    taken = [at(-50 + k, OLD if k < 6 else NOBODY) for k in range(7)]
    later = replace(three, start=END, end=2 * END)
    assert of([*taken, at(-43)], interval=later).before.tolist() == [True] * 6 + [False] * 2
    moved = of([*taken, at(-46.5)], interval=later)
    assert moved.before.tolist() == [True] * 3 + [False] * 5 and moved.sessions == 2


def test_no_turns_are_divided_into_nothing():
    assert of([]).sessions == 0 and len(of([]).judged) == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.integers(-2_000, 2_000),
            st.sampled_from([None, NOBODY, OLD]),
        ),
        max_size=25,
        unique_by=lambda row: row[:2],
    ),
    st.sampled_from([3, 10_000]),
)
def test_every_turn_has_one_fate_and_a_session_is_never_cut(rows: list[tuple[str, int, str | None]], cap: int):
    interval = replace(DAY, session_cap=cap)
    turns = table([at(second, taken, subject) for subject, second, taken in rows])
    got = divide(turns, turns.slice(0, 0), interval)
    assert (got.judged.astype(int) + got.open + got.before == 1).all()
    session = timeline(turns, interval.session_gap, cap).session
    for mask in (got.judged, got.open, got.before, got.recent):
        for number in np.unique(session):
            assert len(set(mask[session == number].tolist())) == 1
    assert not (got.recent & got.open).any()
    taken = turns[TAKEN].to_pylist()
    assert got.before_by.to_pylist() == [
        OLD if j and t == OLD else None for j, t in zip(got.judged, taken, strict=True)
    ]
    assert all(t == OLD for t, before in zip(taken, got.before, strict=True) if before)


@pytest.mark.parametrize("taken", [None, NOBODY])
def test_what_nobody_judged_is_judged_or_left_open(taken: str | None):
    got = of([early(10, taken), at(-10, taken)])
    assert got.judged.tolist() == [True, False] and got.open.tolist() == [False, True]


def test_a_session_that_is_full_of_text_is_judged_and_the_one_that_goes_on_is_open():
    two = replace(DAY, session_bytes=2 * 3 * len(TEXT))
    got = of([at(-30), at(-20), at(-10)], interval=two)
    assert got.judged.tolist() == [True, True, False] and got.open.tolist() == [False, False, True]
    # Whether the next turn would have had room nobody knows before it comes.
    assert of([at(-30), at(-20)], interval=two).open.tolist() == [True, True]
