"""Where a session's candidates say the same: counts over the turns before and after each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_UNITS: Final = float(1 << 30)


def groups(session: I64, key: I64) -> I64:
    """Number the distinct (session, key) pairs, from 0, in the order in which they first come, shape (m,).

    By hash tables, as a sort on both costs several times as much. Sessions are numbers from 0.
    """
    number, distinct = pd.factorize(key)
    return np.asarray(pd.factorize(session * len(distinct) + number)[0], dtype=np.int64)


@dataclass(frozen=True)
class Occurrences:
    """Weighted events at positions of groups, searchable by group and position.

    Attributes
    ----------
    code : numpy.ndarray of int64, shape (k,)
        Group and position as one number, ascending.
    cumulative : numpy.ndarray of int64, shape (k + 1,)
        Summed weight of the events before each, in units of 2^-30: a sum of floats over a bucket would carry the
        rounding of all its users into each of them, and differ from bucket to bucket.
    stride, horizon : int
        Positions set aside for each group; how far a window reaches.
    """

    code: I64
    cumulative: I64
    stride: int
    horizon: int

    @staticmethod
    def of(group: I64, position: I64, weight: F64, horizon: int, longest: int) -> Occurrences:
        """Index events; `longest` is above every position, the arrays have shape (k,)."""
        stride = longest + 2 * horizon + 2
        code = group * stride + position + horizon
        order = np.argsort(code, kind="stable")
        units = np.rint(weight[order] * _UNITS).astype(np.int64)
        return Occurrences(code[order], np.concatenate([np.zeros(1, np.int64), np.cumsum(units)]), stride, horizon)

    def window(self, group: I64, position: I64, first: int, last: int) -> tuple[I64, F64, I64]:
        """Events of a group at position + first .. position + last; both within the horizon.

        Returns
        -------
        count : numpy.ndarray of int64, shape (m,)
        weight : numpy.ndarray of float64, shape (m,)
            Summed.
        offset : numpy.ndarray of int64, shape (m,)
            From the position to the first of them; 0 = none.
        """
        here = group * self.stride + position + self.horizon
        low = np.searchsorted(self.code, here + first, "left")
        high = np.searchsorted(self.code, here + last, "right")
        offset = np.zeros(len(here), np.int64)
        found = np.flatnonzero(high > low)
        offset[found] = self.code[low[found]] - here[found]
        return high - low, (self.cumulative[high] - self.cumulative[low]) / _UNITS, offset


def reach(group: I64, position: I64, length: I64, horizon: int) -> tuple[I64, I64]:
    """Every (group, position) within the horizon of an occurrence of the group, once, in order.

    Parameters
    ----------
    group, position : numpy.ndarray of int64, shape (m,)
        Occurrences, sorted by group and position.
    length : numpy.ndarray of int64, shape (m,)
        Turns in the occurrence's session; positions stay in [0, length).
    horizon : int

    Returns
    -------
    occurrence : numpy.ndarray of int64, shape (k,)
        Which occurrence brings the position in reach.
    position : numpy.ndarray of int64, shape (k,)
    """
    low = np.maximum(position - horizon, 0)
    high = np.minimum(position + horizon, length - 1)
    follows = np.zeros(len(group), bool)
    follows[1:] = group[1:] == group[:-1]
    low[1:] = np.where(follows[1:], np.maximum(low[1:], high[:-1] + 1), low[1:])
    count = np.maximum(high - low + 1, 0)
    owner = np.repeat(np.arange(len(group)), count)
    inside = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    return owner, low[owner] + inside
