"""Which days of the warehouse a release's rows go to.

A day is replaced whole, so no two releases of a log that goes on may share one. A turn's own time does not see to that:
a run over one day also judges sessions that began the day before, and turns that came late. Of a release with an
interval, the days are those of the interval.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.checks import MICROSECOND, parse_microseconds
from pipeline.errors import ConfigError

I64 = npt.NDArray[np.int64]

_DAY: Final = timedelta(days=1) // MICROSECOND
# The shortest day of a calendar: that on which clocks go forward.
_SHORTEST: Final = timedelta(hours=23) // MICROSECOND


class LogDays:
    """The days of a release.

    Of an interval they are those whose noon (UTC) lies in it: each day is of just one of any intervals in a row, and an
    interval from midnight to midnight has the day that it is called by, in time zones from UTC-12 to UTC+11.
    Without an interval they are the UTC days of the turns.

    Parameters
    ----------
    interval : dict or None
        `start` and `end` of a manifest.

    Raises
    ------
    ConfigError
        If the interval has no whole day.
    """

    def __init__(self, interval: dict[str, Any] | None) -> None:
        self.of_interval = interval is not None
        self._begin = self._first = self._last = 0
        if interval is None:
            return
        self._begin, end = (parse_microseconds(interval[side], f"interval.{side}") for side in ("start", "end"))
        self._first, self._last = _day_of_noon(self._begin), _day_of_noon(end) - 1
        if end - self._begin < _SHORTEST or self._last < self._first:
            raise ConfigError(
                f"interval {interval['start']} to {interval['end']} of the release: less than a day, and a push "
                "replaces whole days; push a release of an interval of a day or more"
            )

    @property
    def owned(self) -> frozenset[str]:
        """Days of the interval (`YYYYMMDD`), whether there are rows of them or not; none without an interval."""
        if not self.of_interval:
            return frozenset()
        return frozenset(name_of(day) for day in range(self._first, self._last + 1))

    def of(self, times: I64) -> I64:
        """The day of each turn, in days of the epoch, shape (n,).

        Of an interval, its first 24 hours are its first day, and so on; a turn of before is of the first day, one of
        after of the last.

        Parameters
        ----------
        times : numpy.ndarray of int64
            Microseconds of the epoch.
        """
        if not self.of_interval:
            return times // _DAY
        return np.clip(self._first + (times - self._begin) // _DAY, self._first, self._last)


def _day_of_noon(moment: int) -> int:
    """Day of the first noon at a moment or after it."""
    return -((_DAY // 2 - moment) // _DAY)


def name_of(day: int) -> str:
    """A day of the epoch as a partition is named."""
    return (date(1970, 1, 1) + timedelta(days=day)).strftime("%Y%m%d")
