"""Whether two Signals tables say the same: by value, and for columns of hashes by what they tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.signals import CANDIDATE_COLUMNS, SIGNALS

# Their numbers depend on the hash function; what counts is which rows have the same one, and which have none.
HASHES: Final = frozenset({"candidate_id", "frame_id", "value_id", "question_id", "utterance_id"})
TOLERANCE: Final = 1e-6


def read(path: Path) -> pa.Table:
    """A table in one file, or in a folder of buckets."""
    files = sorted(path.glob("bucket-*.parquet")) if path.is_dir() else [path]
    return pa.concat_tables([pq.read_table(f) for f in files])


def differences(one: pa.Table, other: pa.Table, without: frozenset[str] = frozenset()) -> list[str]:
    """Columns that differ, each with what differs; empty where the tables agree.

    Parameters
    ----------
    one, other : pyarrow.Table
        SIGNALS rows in any order.
    without : frozenset of str
        Columns that are not compared.
    """
    if one.num_rows != other.num_rows:
        return [f"{one.num_rows} rows against {other.num_rows}"]
    one, other = (t.sort_by("turn_id").combine_chunks() for t in (one, other))
    found = []
    for name, left, right in _columns(one, other, without):
        bad = _unlike(name, left, right)
        if bad:
            found.append(f"{name}: {bad}")
    return found


def _columns(one: pa.Table, other: pa.Table, without: frozenset[str]) -> Iterator[tuple[str, pa.Array, pa.Array]]:
    """Columns, those of the candidates after them."""
    for column in SIGNALS.columns:
        if column.name not in without | {"candidates"}:
            yield column.name, *(t[column.name].combine_chunks() for t in (one, other))
    if "candidates" in without:
        return
    lists = [t["candidates"].combine_chunks() for t in (one, other)]
    yield "candidates", *(pc.list_value_length(each) for each in lists)
    entries = [pc.list_flatten(each) for each in lists]
    for column in CANDIDATE_COLUMNS:
        if column.name not in without:
            yield f"candidates.{column.name}", *(pc.struct_field(each, column.name) for each in entries)


def _unlike(name: str, one: pa.Array, other: pa.Array) -> str | None:
    if len(one) != len(other):
        return f"{len(one)} values against {len(other)}"
    nulls = pc.not_equal(one.is_null(), other.is_null())
    if pc.any(nulls).as_py():
        return f"{pc.sum(nulls).as_py()} rows are null in one alone"
    if name.rpartition(".")[2] in HASHES:
        return _unlike_parts(one, other)
    if pa.types.is_floating(one.type):
        apart = np.abs(_numbers(one) - _numbers(other))
        # Single precision keeps seven digits: of a number above 1 the same share may be lost.
        bad = apart > TOLERANCE * np.maximum(1.0, np.abs(_numbers(one)))
    else:
        bad = pc.not_equal(one, other.cast(one.type)).fill_null(False).to_numpy(zero_copy_only=False)
    if not bad.any():
        return None
    row = int(np.flatnonzero(bad)[0])
    return f"{bad.sum()} rows differ, the first {one[row]} against {other[row]}"


def _numbers(values: pa.Array) -> np.ndarray:
    return values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)


def _unlike_parts(one: pa.Array, other: pa.Array) -> str | None:
    """The two must number the same sets of rows."""
    pairs = pa.table({"one": one, "other": other}).group_by(["one", "other"]).aggregate([])
    sets = [len(pairs), len(pc.unique(one)), len(pc.unique(other))]
    return None if len(set(sets)) == 1 else f"{sets[1]} sets against {sets[2]}, {sets[0]} where they meet"
