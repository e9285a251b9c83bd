"""Pairs of examples that share a band of their signatures, and whose sketches do not say that they are unlike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import mix
from pipeline.curation.minhash import SKETCH_BITS, SKETCHES
from pipeline.curation.shingles import I64

BAND: Final = pa.schema(
    [
        ("band", pa.int64()),
        ("key", pa.int64()),
        ("label", pa.int64()),
        ("test", pa.bool_()),
        *((name, pa.uint64()) for name in SKETCHES),
    ]
)
PAIR: Final = pa.schema([("first", pa.int64()), ("second", pa.int64())])
# Pairs made at once: about 100 bytes each. What bounds memory where very many texts are alike.
_BLOCK: Final = 1 << 20
# Standard deviations that a sketch may fall short by: of pairs at the least likeness one in 700 is lost.
_SLACK: Final = 3.0


def pairs(rows: pa.Table, least: float) -> Iterator[pa.Table]:
    """Pairs to compare, of rows that hold all examples of their bands.

    Two examples of one band are a pair if they teach the same, or if one is of train and the other of test.

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
    rows = rows.take(pa.array(_shared(rows["band"].to_numpy())))
    band, key, label = (rows[name].to_numpy() for name in ("band", "key", "label"))
    test = rows["test"].to_numpy()
    sketches = [rows[name].to_numpy() for name in SKETCHES]
    for runs in (within(mix(band, label)), across(band, test)):
        for one, other in runs.blocks():
            near = _agreeing(sketches, one, other) >= _fewest(least)
            first, second = key[one[near]], key[other[near]]
            if len(first):
                yield distinct(np.minimum(first, second), np.maximum(first, second))


def _shared(band: I64) -> I64:
    """Rows whose band another row has too, those of a band together: most have none."""
    order = np.argsort(band)
    held = band[order]
    same = np.zeros(len(held) + 1, bool)
    same[1:-1] = held[1:] == held[:-1]
    return order[same[1:] | same[:-1]]


def _agreeing(sketches: list[npt.NDArray[np.uint64]], one: I64, other: I64) -> I64:
    """Bits of the sketches that agree, shape (pairs,)."""
    unlike = sum(np.bitwise_count(s[one] ^ s[other]).astype(np.int64) for s in sketches)
    return SKETCH_BITS - np.asarray(unlike, dtype=np.int64)


def _fewest(likeness: float) -> float:
    """Fewest bits that agree in texts of this likeness: each does with probability (1 + likeness) / 2."""
    share = (1.0 + likeness) / 2.0
    return SKETCH_BITS * share - _SLACK * math.sqrt(SKETCH_BITS * share * (1.0 - share))


@dataclass(frozen=True)
class Runs:
    """Pairs of rows: row[i] is to be paired with each of other[begin[i]:end[i]]."""

    begin: I64
    end: I64
    row: I64
    other: I64

    @classmethod
    def between(cls, group: I64, ones: npt.NDArray[np.bool_], others: npt.NDArray[np.bool_]) -> Runs:
        """Each of some rows with each of others in its group; a row that is in both meets itself."""
        order = np.argsort(group, kind="stable")
        rows, with_ = order[ones[order]], order[others[order]]
        begin, end = (np.searchsorted(group[with_], group[rows], side) for side in ("left", "right"))
        return cls(begin, end, rows, with_)

    def blocks(self) -> Iterator[tuple[I64, I64]]:
        """The pairs, a bounded number at a time (a single run is never cut)."""
        many = self.end - self.begin
        total = np.cumsum(many)
        at = 0
        while at < len(many):
            done = int(total[at - 1]) if at else 0
            until = max(int(np.searchsorted(total, done + _BLOCK, side="right")), at + 1)
            if total[until - 1] > done:
                yield self._some(slice(at, until), many)
            at = until

    def _some(self, part: slice, many: I64) -> tuple[I64, I64]:
        held = many[part]
        at = np.repeat(self.begin[part] - (np.cumsum(held) - held), held) + np.arange(held.sum())
        return np.repeat(self.row[part], held), self.other[at]


def within(group: I64) -> Runs:
    """Each row with those before it in its group."""
    order = np.argsort(group, kind="stable")
    held = group[order]
    return Runs(np.searchsorted(held, held), np.arange(len(held)), order, order)


def across(band: I64, test: npt.NDArray[np.bool_]) -> Runs:
    """Each row of test with those of train in its band."""
    return Runs.between(band, test, ~test)


def distinct(first: I64, second: I64) -> pa.Table:
    """PAIR rows, sorted, each once."""
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    fresh = np.ones(len(first), bool)
    fresh[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return pa.table([pa.array(first[fresh]), pa.array(second[fresh])], schema=PAIR)
