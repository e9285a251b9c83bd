"""Count files: what they say, and what is wrong with one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from pipeline.completeness.expected import Expected, read_expectations
from pipeline.errors import ConfigError, NotReadyError

SHA = "ab" * 32
_FILE = {"path": "./a.jsonl", "records": "3", "bytes": 40, "sha256": SHA}


def entries(path: Path, text: str) -> tuple[Expected, ...]:
    path.write_text(text)
    return read_expectations(str(path)).entries


def test_csv_and_all_forms_of_json_say_the_same(tmp_path: Path):
    rows = [{"path": "dt=2026-11-01/", "records": 12}, _FILE]
    wanted = (Expected("dt=2026-11-01", 12), Expected("a.jsonl", 3, bytes=40, sha256=SHA))
    assert entries(tmp_path / "c.json", json.dumps(rows)) == wanted
    assert entries(tmp_path / "c.jsonl", "\n".join(map(json.dumps, rows))) == wanted
    mapped = {"dt=2026-11-01": 12, "a.jsonl": {"records": 3, "bytes": 40, "sha256": SHA}}
    assert entries(tmp_path / "d.json", json.dumps(mapped)) == wanted
    csv = f"path,records,bytes,sha256\ndt=2026-11-01,12,,\na.jsonl,3,40,{SHA.upper()}\n"
    assert entries(tmp_path / "c.csv", csv) == wanted
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(csv.encode()))
    assert read_expectations(str(tmp_path / "c.csv.gz")).entries == wanted


@pytest.mark.parametrize(
    ("path", "uri", "held"),
    [
        (".", "a/b.jsonl", True),
        ("dt=1", "dt=1/a.jsonl", True),
        ("dt=1", "dt=10/a.jsonl", False),
        ("dt=1", "x/dt=1/a.jsonl", False),
        ("dt=1/a.jsonl", "dt=1/a.jsonl", True),
        ("dt=1/*", "dt=1/a.jsonl", True),
        ("dt=1/*", "dt=1/h=2/a.jsonl", False),
        ("dt=1/**", "dt=1/h=2/a.jsonl", True),
        ("dt=[12]/a.jsonl", "dt=2/a.jsonl", True),
    ],
)
def test_a_path_is_a_file_a_folder_or_a_glob(path: str, uri: str, held: bool):
    assert Expected(path, 1).holds(uri) is held


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("c.json", "{", "not JSON"),
        ("c.json", "3", "a list of objects"),
        ("c.json", "[]", "no entry"),
        ("c.json", "[4]", "entry 1: an object with path"),
        ("c.json", '[{"path": "a"}]', "records, at_least or sha256 is wanted"),
        ("c.json", '[{"path": "a", "bytes": 4}]', "records, at_least or sha256 is wanted"),
        ("c.json", '[{"records": 1}]', "path, relative to the input"),
        ("c.json", '{"a": -1}', "a whole number, 0 or more, is wanted, found -1"),
        ("c.json", '{"a": 1.5}', "a whole number"),
        ("c.json", '{"a": true}', "a whole number"),
        ("c.json", '{"a": {"rows": 1}}', "unknown key 'rows'"),
        ("c.json", '{"a": {"records": 1, "at_least": 1}}', "not both"),
        ("c.json", '{"a": {"sha256": "x"}}', "64 hexadecimal digits"),
        ("c.json", '{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ("c.json", '{"a": 1, "a/": 2}', "'a' stands twice"),
        ("c.csv", "path,records\na,1,2\n", "more cells than the header"),
        ("c.csv", "path,records\na,many\n", "line 2 records: a whole number"),
        ("c.jsonl", '{"path": "a", "records": 1}\n{"path": "a", "records": 1}', "'a' stands twice"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, name: str, text: str, said: str):
    with pytest.raises(ConfigError) as caught:
        entries(tmp_path / name, text)
    assert said in str(caught.value) and f"--expect {name}" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(NotReadyError, match="--expect"):
        read_expectations(str(tmp_path / "none.csv"))
