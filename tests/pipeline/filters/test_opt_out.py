from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from build import turns

from pipeline.errors import ConfigError
from pipeline.filters.opt_out import OptOuts, read_opt_outs


def read(tmp_path: Path, text: str, name: str = "opt_out.txt") -> OptOuts:
    path = tmp_path / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return read_opt_outs(str(path))[0]


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.txt.gz"])
def test_ids_stand_one_a_line_plain_or_as_json(tmp_path: Path, name: str):
    text = '\ufeffann\r\n\n  bob \n{"user_id": "cy", "since": "2026"}\n"d e"\n{"user_id": 7}\nann\n\u2028x\u2028y\n'
    held = read(tmp_path, text, name).users.to_pylist()
    assert held == sorted(["ann", "bob", "cy", "d e", "7", "x\u2028y"])


def test_turns_of_these_users_are_found_whatever_white_space_stands_around(tmp_path: Path):
    held = read(tmp_path, "ann\nconv:c9\n")
    users = ["ann", " ann ", "Ann", "ann2", "conv:c9", "bob"]
    assert held.opted_out(turns(*({"subject_id": u} for u in users))).tolist() == [
        True,
        True,
        False,
        False,
        True,
        False,
    ]
    assert not read(tmp_path, "").opted_out(turns({})).any()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ann\n{user: x}\n", "filters.opt_out opt_out.txt: line 2 is neither an id nor JSON"),
        ('{"user": "secret"}\n', "line 1: an id"),
        ('["secret"]\n', "line 1: an id"),
        ('{"user_id": " "}\n', "line 1: an id"),
        ('{"user_id": true}\n', "line 1: an id"),
    ],
)
def test_a_line_without_an_id_is_refused_and_not_quoted(tmp_path: Path, text: str, says: str):
    with pytest.raises(ConfigError, match=says) as raised:
        read(tmp_path, text)
    assert "secret" not in str(raised.value)


def test_a_packed_file_that_breaks_off_is_refused(tmp_path: Path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"ann\n" * 1000)[:-10])
    with pytest.raises(ConfigError, match=r"breaks off .*copy it again"):
        read_opt_outs(str(path))
