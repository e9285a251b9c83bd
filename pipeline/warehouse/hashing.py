"""A hash of each row of a table, whatever its columns, a column at a time."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, mix, strings

I64 = npt.NDArray[np.int64]

_KEYS: Final = ("afterword/rows/1", "afterword/rows/2")
_NULL: Final = 0x6E756C6C


def row_hashes(table: pa.Table) -> tuple[I64, I64]:
    """Two 64-bit hashes of each row, each shape (n,): equal for equal values, in the order of the columns' names.

    Together they tell rows apart; of two rows with the same pair one may stand for the other.
    """
    columns = sorted(table.column_names)
    first, second = (np.full(table.num_rows, k, np.int64) for k in (1, 2))
    for name in columns:
        column = table[name].combine_chunks()
        first, second = (mix(h, _hashes(column, key)) for h, key in zip((first, second), _KEYS, strict=True))
    return first, second


def value_hashes(values: pa.Array | pa.ChunkedArray) -> I64:
    """A 64-bit hash of each value of a column, shape (n,)."""
    return _hashes(values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values, _KEYS[0])


def _hashes(values: pa.Array, key: str) -> I64:
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if pa.types.is_struct(values.type):
        hashes = np.full(len(values), values.type.num_fields, np.int64)
        for field in values.flatten():
            hashes = mix(hashes, _hashes(field, key))
    elif pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        hashes = _of_lists(values, key)
    else:
        hashes = hash64(_texts(values), key).view(np.int64)
    return np.where(values.is_valid().to_numpy(zero_copy_only=False), hashes, np.int64(_NULL))


def _of_lists(values: pa.Array, key: str) -> I64:
    """Of each list the sum over its items, each mixed with its place, mixed with the list's length."""
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy().astype(np.int64)
    ends = np.cumsum(lengths)
    items = values.flatten()
    place = np.arange(len(items), dtype=np.int64) - np.repeat(ends - lengths, lengths)
    sums = np.concatenate([[np.int64(0)], np.cumsum(mix(place, _hashes(items, key)), dtype=np.int64)])
    return mix(lengths, sums[ends] - sums[ends - lengths])


def _texts(values: pa.Array) -> npt.NDArray[np.object_]:
    """Values of a type without parts as texts; of bytes as they are."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.full(len(values), "", dtype=object)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return np.asarray(values.fill_null(b"").to_numpy(zero_copy_only=False), dtype=object)
    if isinstance(values, pa.DictionaryArray) or pa.types.is_string(kind):
        return strings(values)
    return strings(values.cast(pa.string()))
