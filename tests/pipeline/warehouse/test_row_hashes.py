"""Hashes of rows of any columns."""

from __future__ import annotations

import decimal
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa

from pipeline.warehouse.hashing import row_hashes

ROW = {
    "s": "a",
    "n": 1,
    "f": 0.5,
    "b": True,
    "t": datetime(2026, 1, 1, tzinfo=UTC),
    "d": date(2026, 1, 1),
    "y": b"\xff\x00",
    "m": decimal.Decimal("1.50"),
    "l": ["x", "y"],
    "r": {"a": "p", "b": ["q"]},
    "lr": [{"name": "n", "values": ["1", "2"]}],
}
SCHEMA = pa.Table.from_pylist([ROW]).schema


def pairs(*rows: dict) -> list[tuple[int, int]]:
    first, second = row_hashes(pa.Table.from_pylist(list(rows), schema=SCHEMA))
    return list(zip(first.tolist(), second.tolist(), strict=True))


def test_any_change_of_a_value_changes_both_hashes():
    changes = [
        {"s": "b"}, {"s": None}, {"s": ""}, {"n": 2}, {"n": None}, {"f": 0.25}, {"b": False}, {"d": date(2026, 1, 2)},
        {"t": datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)}, {"y": b"\xff\x01"}, {"m": decimal.Decimal("1.51")},
        {"l": ["y", "x"]}, {"l": ["x"]}, {"l": []}, {"l": None}, {"l": ["x", "y", None]}, {"l": ["xy"]},
        {"r": {"a": "p", "b": ["r"]}}, {"r": {"a": None, "b": ["q"]}}, {"r": None}, {"lr": []},
        {"lr": [{"name": "n", "values": ["2", "1"]}]}, {"lr": [{"name": "n", "values": ["1"]}, None]},
    ]  # fmt: skip
    found = pairs(ROW, *(ROW | change for change in changes))
    for half in zip(*found, strict=True):
        assert len(set(half)) == len(changes) + 1


def test_equal_rows_are_equal_wherever_they_stand_and_however_the_columns_do():
    wanted = pairs(ROW)[0]
    other = ROW | {"l": ["q"] * 7, "lr": None, "s": None}
    assert pairs(other, other, ROW, other)[2] == wanted
    table = pa.Table.from_pylist([other, other, ROW, other], schema=SCHEMA)
    sliced = table.slice(1, 2).select(SCHEMA.names[::-1])
    assert tuple(int(half[1]) for half in row_hashes(sliced)) == wanted
    chunked = pa.concat_tables([table.slice(0, 3), table.slice(3)])
    assert np.array_equal(row_hashes(chunked)[0], row_hashes(table)[0])
    assert [len(half) for half in row_hashes(table.slice(0, 0))] == [0, 0]
