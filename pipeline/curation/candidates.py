"""Pairs of examples that share a band of their signatures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import mix
from pipeline.curation.shingles import I64

BAND: Final = pa.schema(
    [
        ("band", pa.int64()),
        ("key", pa.int64()),
        ("label", pa.int64()),
        ("size", pa.int32()),
        ("test", pa.bool_()),
    ]
)
PAIR: Final = pa.schema([("first", pa.int64()), ("second", pa.int64())])
# Pairs made at once: about 100 bytes each while they are sorted. What bounds memory where very many texts are alike.
_BLOCK: Final = 1 << 21
# Products of whole numbers and a share may fall short of a whole number by this.
_ROUNDING: Final = 1e-9


def pairs(rows: pa.Table, least: float) -> Iterator[pa.Table]:
    """Pairs to compare, of rows that hold all examples of their bands.

    Two examples of one band are a pair if they teach the same, or if one is of train and the other of test. One that
    has too few shingles beside the other's to be alike is passed over: the similarity is at most the share of their
    numbers.

    Parameters
    ----------
    rows : pyarrow.Table
        BAND rows.
    least : float
        Least similarity of near-duplicates.

    Yields
    ------
    pyarrow.Table
        PAIR rows, `first` < `second`, sorted and distinct within a table.
    """
    band, key, label, size = (rows[name].to_numpy() for name in ("band", "key", "label", "size"))
    test = rows["test"].to_numpy()
    for runs in (_within(mix(band, label), key, size, least), _across(band, key, size, test, least)):
        for first, second in runs.blocks():
            yield _distinct(np.minimum(first, second), np.maximum(first, second))


@dataclass(frozen=True)
class _Runs:
    """key[i] is to be paired with each of other[begin[i]:end[i]]."""

    begin: I64
    end: I64
    key: I64
    other: I64

    def blocks(self) -> Iterator[tuple[I64, I64]]:
        """The pairs, a bounded number at a time (a single run is never cut)."""
        many = np.maximum(self.end - self.begin, 0)
        total = np.cumsum(many)
        at = 0
        while at < len(many):
            done = total[at - 1] if at else 0
            until = max(int(np.searchsorted(total, done + _BLOCK, side="right")), at + 1)
            if total[until - 1] > done:
                yield self._some(slice(at, until), many)
            at = until

    def _some(self, part: slice, many: I64) -> tuple[I64, I64]:
        held = many[part]
        at = np.repeat(self.begin[part] - (np.cumsum(held) - held), held) + np.arange(held.sum())
        return np.repeat(self.key[part], held), self.other[at]


def _within(group: I64, key: I64, size: I64, least: float) -> _Runs:
    """Pairs of a group: sorted by size, each row with those before it that are large enough."""
    order = np.lexsort((size, group))
    group, key, size = group[order], key[order], size[order].astype(np.int64)
    base = _rising(group, size)
    begin = np.searchsorted(base + size, base + np.ceil(size * least - _ROUNDING).astype(np.int64))
    return _Runs(begin, np.arange(len(key)), key, key)


def _across(band: I64, key: I64, size: I64, test: npt.NDArray[np.bool_], least: float) -> _Runs:
    """Each row of test with those of train in its band that are neither too small nor too large."""
    order = np.lexsort((size, band))
    band, key, size, test = band[order], key[order], size[order].astype(np.int64), test[order]
    base = _rising(band, size)
    held = (base + size)[~test]
    lowest = np.ceil(size[test] * least - _ROUNDING).astype(np.int64)
    highest = np.minimum(np.floor(size[test] / least + _ROUNDING).astype(np.int64), size.max(initial=0))
    begin = np.searchsorted(held, base[test] + lowest)
    end = np.searchsorted(held, base[test] + highest, side="right")
    return _Runs(begin, end, key[test], key[~test])


def _rising(group: I64, size: I64) -> I64:
    """A base for each row, so that base + size rises over rows that are sorted by group, then size."""
    new = np.zeros(len(group), np.int64)
    new[1:] = group[1:] != group[:-1]
    return np.cumsum(new) * (int(size.max(initial=0)) + 1)


def _distinct(first: I64, second: I64) -> pa.Table:
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    fresh = np.ones(len(first), bool)
    fresh[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return pa.table([pa.array(first[fresh]), pa.array(second[fresh])], schema=PAIR)
