"""Pairs of texts that are alike, none missed: by the rarest letter sequences that two of them must share.

Two sets that have a share t of their union in common share one of their first n - ceil(t n) + 1 elements, in any order
that is the same for all (Chaudhuri et al. 2006; Xiao et al. 2008, PPJoin). With the rarest first, few texts meet.
MinHash misses one pair in some hundreds and grows with the texts; this misses none, and at worst grows with their
square.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import mix, strings
from features.interpretation import list_offsets
from features.text import flat
from pipeline.curation.candidates import Runs, across, distinct, within
from pipeline.curation.shingles import I64, Shingles, jaccard, shingles
from pipeline.curation.texts import labels, texts

Mask = npt.NDArray[np.bool_]

# An example as it is compared; `key` is where it lies.
CUT: Final = pa.schema(
    [("key", pa.int64()), ("label", pa.int64()), ("test", pa.bool_()), ("shingles", pa.list_(pa.uint32()))]
)
# Leading bits of a hashed sequence, by which sequences are counted: an order needs no exact counts.
_BITS: Final = 20
# Of a product of floats that should be whole.
_EPSILON: Final = 1e-9


def cut_rows(examples: pa.Table, key: I64, width: int) -> pa.Table:
    """CUT rows of examples; those whose text is shorter than `width` have none."""
    held = shingles(texts(examples), width)
    some = np.flatnonzero(held.sizes)
    offsets = pa.array(np.append(held.offsets[some], held.offsets[-1]), pa.int32())
    test = strings(examples["split"]) == "test"
    columns = [pa.array(v[some]) for v in (key, labels(examples), test)]
    return pa.table([*columns, pa.ListArray.from_arrays(offsets, pa.array(held.hashes))], schema=CUT)


def alike_pairs(
    rows: pa.Table, least: float, asked: Mask | None = None
) -> Iterator[tuple[I64, I64, npt.NDArray[np.float64]]]:
    """All pairs that teach the same, or of which one is of train and the other of test, and that are alike.

    Parameters
    ----------
    rows : pyarrow.Table
        n CUT rows.
    least : float
        Least Jaccard similarity.
    asked : numpy.ndarray of bool, shape (n,), optional
        Only pairs with one of these.

    Yields
    ------
    first, second : numpy.ndarray of int64
        Rows, `first` < `second`; a pair may come more than once.
    similarity : numpy.ndarray of float64
    """
    lists = flat(rows["shingles"])
    held = Shingles(list_offsets(lists).astype(np.int64), lists.flatten().to_numpy())
    held = Shingles(held.offsets - held.offsets[0], held.hashes)
    size, label, test = held.sizes, rows["label"].to_numpy(), rows["test"].to_numpy()
    row, at, element = _prefixes(_rarest_first(held), least)
    groups = mix(element, label[row])
    runs = (
        (within(groups), across(element, test[row])) if asked is None else _of(asked[row], groups, element, test[row])
    )
    for run in runs:
        for one, other in run.blocks():
            first, second = row[one], row[other]
            few, many = np.minimum(size[first], size[second]), np.maximum(size[first], size[second])
            # Where the first shared element stands, no more than what is left of both can be shared.
            left = np.minimum(size[first] - at[one], size[second] - at[other])
            shared = np.ceil(least / (1.0 + least) * (few + many) - _EPSILON)
            fits = (few >= least * many - _EPSILON) & (left >= shared) & (first != second)
            pair = distinct(np.minimum(first, second)[fits], np.maximum(first, second)[fits])
            first, second = (pair[name].to_numpy() for name in pair.column_names)
            similarity = jaccard(held.take(first), held.take(second))
            near = similarity >= least
            yield first[near], second[near], similarity[near]


def exact_pairs(rows: pa.Table, least: float) -> Iterator[pa.Table]:
    """PAIR rows of all pairs that are alike, `first` < `second`; a pair may be in several tables."""
    key = rows["key"].to_numpy()
    for first, second, _ in alike_pairs(rows, least):
        yield distinct(np.minimum(key[first], key[second]), np.maximum(key[first], key[second]))


def _rarest_first(held: Shingles) -> Shingles:
    """Each text's sequences under other names, rising: the rarer, the lower."""
    top = held.hashes >> np.uint32(32 - _BITS)
    order = np.argsort(np.bincount(top, minlength=1 << _BITS), kind="stable")
    rank = np.empty(1 << _BITS, np.uint32)
    rank[order] = np.arange(1 << _BITS, dtype=np.uint32)
    low = held.hashes & np.uint32((1 << (32 - _BITS)) - 1)
    key = np.repeat(np.arange(len(held), dtype=np.uint64), held.sizes) << np.uint64(32)
    key |= (rank[top] << np.uint32(32 - _BITS) | low).astype(np.uint64)
    key.sort()
    return Shingles(held.offsets, key.astype(np.uint32))


def _prefixes(held: Shingles, least: float) -> tuple[I64, I64, I64]:
    """Text, position and element of all first elements of which two alike texts share one."""
    size = held.sizes
    many = size - np.ceil(least * size - _EPSILON).astype(np.int64) + 1
    row = np.repeat(np.arange(len(size)), many)
    at = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    return row, at, held.hashes[held.offsets[:-1][row] + at].astype(np.int64)


def _of(asked: Mask, groups: I64, element: I64, test: Mask) -> tuple[Runs, ...]:
    """Pairs of one that is asked about with any other."""
    every = np.ones(len(asked), bool)
    sides = [(asked & test, ~test), (asked & ~test, test)]
    return Runs.between(groups, asked, every), *(Runs.between(element, one, other) for one, other in sides)
