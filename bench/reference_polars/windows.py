"""Counts of events in windows around positions of a session."""

from __future__ import annotations

import numpy as np
import polars as pl

from bench.reference_polars.common import HORIZON, LEFT, STRIDE, col


class Events:
    """Weighted events at positions of groups; counts them in windows around other positions."""

    def __init__(self, code: np.ndarray, weight: np.ndarray | None = None) -> None:
        order = pl.Series(code).arg_sort().to_numpy()
        self._code = code[order]
        self._summed = np.concatenate([[0.0], np.cumsum(np.ones(len(code)) if weight is None else weight[order])])

    def window(self, here: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How many, their weight, and the distance to the first (0 = none), at here + first .. here + last."""
        low = np.searchsorted(self._code, here + first, "left")
        high = np.searchsorted(self._code, here + last, "right")
        offset = np.where(high > low, np.append(self._code, 0)[low] - here, 0)
        return (high - low).astype(np.int32), self._summed[high] - self._summed[low], offset.astype(np.int32)


def groups(frame: pl.DataFrame, key: str) -> pl.Series:
    """Number of the session and key of each row."""
    numbers = frame.lazy().select(key).unique().with_row_index("number").collect()
    numbered = frame.lazy().select("session", key).join(numbers.lazy(), on=key, **LEFT)
    return numbered.select(col("session") * numbers.height + col("number").cast(pl.Int64)).collect().to_series()


def codes(group: pl.Series, position: pl.Series) -> np.ndarray:
    """Group and position as one number, with room for a window between groups."""
    return (group * STRIDE + position + HORIZON).to_numpy()
