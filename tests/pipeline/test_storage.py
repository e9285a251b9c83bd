from __future__ import annotations

import io
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from emulators import gcs, s3

from pipeline import storage

SCHEMA = pa.schema([("a", pa.string()), ("b", pa.list_(pa.int32())), ("t", pa.timestamp("us", "UTC"))])


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = str(tmp_path / "a")
    storage.write_bytes(path, b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        storage.write_bytes(path, b"new")
    assert Path(path).read_bytes() == b"old"
    assert storage.files(str(tmp_path)) == [path], "a temporary file is taken for a whole one"


@pytest.mark.parametrize("store", [s3, gcs])
def test_an_empty_file_comes_back_from_every_store(store):
    with store() as bucket:
        for data in (b"", b"x", b""):
            storage.write_bytes(f"{bucket}/a/b", data)
            assert storage.read_bytes(f"{bucket}/a/b") == data
            assert storage.sizes(f"{bucket}/a") == {f"{bucket}/a/b": len(data)}


def test_a_table_comes_back_under_its_schema_and_twice_is_the_same_bytes(tmp_path: Path):
    table = pa.table({"a": ["x", None], "b": [[1], None], "t": [0, None]}, schema=SCHEMA)
    path = str(tmp_path / "sub" / "t.parquet")
    storage.write_table(path, table)
    assert storage.read_table(path, SCHEMA).equals(table)
    assert storage.read_table(path, SCHEMA, ["b"]).column_names == ["b"]
    split = pa.concat_tables([table.slice(0, 1), table.slice(1)]).replace_schema_metadata({"x": "y"})
    assert storage.encode(split) == storage.encode(table)


def test_a_table_of_another_schema_is_refused_by_name(tmp_path: Path):
    path = str(tmp_path / "t.parquet")
    storage.write_table(path, pa.table({"a": [1]}))
    with pytest.raises(ValueError, match=r"t\.parquet: not the schema"):
        storage.read_table(path, pa.schema([("b", pa.int64())]))


def test_equal_values_are_equal_json_bytes():
    assert storage.canonical_json({"b": 1, "a": "ü"}) == '{"a":"ü","b":1}'.encode()
    assert storage.readable_json({"b": 1, "a": 2}).endswith(b"}\n")


def test_what_is_not_there_can_be_removed(tmp_path: Path):
    storage.remove(str(tmp_path / "none"))
    storage.write_bytes(str(tmp_path / "d" / "e" / "f"), b"")
    storage.remove(str(tmp_path / "d"))
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(("path", "local"), [("out", True), ("/a/b", True), ("gs://b/o", False), ("s3://b", False)])
def test_which_paths_are_local(path: str, local: bool):
    assert storage.is_local(path) is local


def test_row_groups_are_sized_by_bytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(storage, "ROW_GROUP_BYTES", 10_000)
    long = pa.table({"text": ["x" * 996] * 100, "n": pa.array(range(100), pa.int32())})
    held = pq.ParquetFile(io.BytesIO(storage.encode(long))).metadata
    # 996 + 4 of length, and 4 of the number.
    assert [held.row_group(k).num_rows for k in range(held.num_row_groups)] == [9] * 11 + [1]
    short = pq.ParquetFile(io.BytesIO(storage.encode(pa.table({"n": list(range(1000))})))).metadata
    assert short.num_row_groups == 1
    huge = pq.ParquetFile(io.BytesIO(storage.encode(pa.table({"text": ["x" * 20_000] * 3})))).metadata
    assert huge.num_row_groups == 3


def test_the_size_of_a_table_follows_from_its_values():
    held = {"slots": [[{"name": "a", "value": None}], [], None], "flag": [True, None, False], "none": [None] * 3}
    table = pa.table(held)
    # Three lists, one slot of a name and no value, and three flags.
    assert storage.content_bytes(table) == 3 * 4 + (4 + 1) + 3
    parts = [table.slice(0, 1), table.slice(1)]
    assert storage.content_bytes(pa.concat_tables(parts)) == sum(map(storage.content_bytes, parts)) == 20
    hidden = pa.StructArray.from_arrays([pa.array(["xx", "yyy"])], ["a"], mask=pa.array([True, False]))
    assert storage.content_bytes(pa.table({"s": hidden})) == 2 * 4 + 3
