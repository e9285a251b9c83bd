"""Which day of the warehouse a turn goes to."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest

from pipeline.errors import ConfigError
from pipeline.warehouse.log_days import LogDays, name_of


def days_of(start: str | None, end: str | None, *times: str) -> list[str]:
    moments = [int(datetime.fromisoformat(t).replace(tzinfo=UTC).timestamp()) * 1_000_000 for t in times]
    interval = None if start is None else {"start": start, "end": end}
    return [name_of(day) for day in LogDays(interval).of(np.array(moments, np.int64)).tolist()]


@pytest.mark.parametrize(
    ("start", "end", "owned"),
    [
        ("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", ["20260301"]),
        ("2026-02-28T00:00:00Z", "2026-03-02T00:00:00Z", ["20260228", "20260301"]),
        # Days of Tokyo and of Los Angeles, and those on which clocks go forward and back in Berlin and London.
        ("2026-03-01T15:00:00Z", "2026-03-02T15:00:00Z", ["20260302"]),
        ("2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z", ["20260302"]),
        ("2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00", ["20260329"]),
        ("2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00", ["20261025"]),
        ("2026-03-29T00:00:00+00:00", "2026-03-30T00:00:00+01:00", ["20260329"]),
        ("2026-10-25T00:00:00+01:00", "2026-10-26T00:00:00+00:00", ["20261025"]),
        ("2026-03-02T00:00:00+12:00", "2026-03-03T00:00:00+12:00", ["20260301"]),
        ("2026-03-02T00:00:00-12:00", "2026-03-03T00:00:00-12:00", ["20260302"]),
    ],
)
def test_the_days_of_an_interval(start: str, end: str, owned: list[str]):
    assert sorted(LogDays({"start": start, "end": end}).owned) == owned


@pytest.mark.parametrize("hour", ["00", "05", "11", "12", "13", "23"])
def test_intervals_in_a_row_share_no_day_and_leave_none_out(hour: str):
    starts = [f"2026-03-{day:02}T{hour}:00:00Z" for day in (1, 2, 4, 5, 9)]
    owned = [day for start, end in pairwise(starts) for day in sorted(LogDays({"start": start, "end": end}).owned)]
    assert len(owned) == 8 and owned == sorted({*owned})


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"),
        ("2026-03-01T00:00:00Z", "2026-03-01T12:00:00Z"),
        ("2026-03-01T12:30:00Z", "2026-03-02T11:45:00Z"),
    ],
)
def test_less_than_a_day_is_refused(start: str, end: str):
    with pytest.raises(ConfigError, match="less than a day"):
        LogDays({"start": start, "end": end})


def test_a_turn_of_another_day_goes_to_the_nearest_one_of_the_interval():
    times = ("2026-02-01T00:00:00", "2026-03-01T23:59:59", "2026-03-02T00:00:00", "2026-03-03T00:00:00")
    assert days_of("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", *times) == ["20260301"] * 4
    two = ["20260301", "20260301", "20260302", "20260302"]
    assert days_of("2026-03-01T00:00:00Z", "2026-03-03T00:00:00Z", *times) == two
    assert days_of(None, None, *times) == ["20260201", "20260301", "20260302", "20260303"]


def test_a_day_of_an_interval_of_several_is_24_hours_from_its_start_on():
    # Days of Tokyo, as a run over each would have them.
    times = ("2026-03-01T15:00:00", "2026-03-02T14:59:59", "2026-03-02T15:00:00")
    wanted = ["20260302", "20260302", "20260303"]
    assert days_of("2026-03-02T00:00:00+09:00", "2026-03-04T00:00:00+09:00", *times) == wanted
