"""Expected against found and read."""

from __future__ import annotations

import pytest

from pipeline.completeness.check import File, check
from pipeline.completeness.expected import Expectations, Expected
from pipeline.errors import InputError, NotReadyError

FILES = [File("dt=1/a", 10, 3, "aa"), File("dt=1/b", 20, 4, "bb"), File("dt=2/a", 5, 1, "cc")]


def told(*entries: Expected, files: list[File] = FILES, broken: tuple[str, ...] = ()):
    return check(Expectations("counts.json", entries), files, broken)


def test_what_is_as_expected_is_told_by_entry():
    assert told(Expected("dt=1", 7, bytes=30), Expected("dt=2", at_least=1)) == [
        {"path": "dt=1", "files": 2, "bytes": 30, "expected": 7, "read": 7},
        {"path": "dt=2", "files": 1, "bytes": 5, "expected": 1, "read": 1},
    ]


def test_before_anything_is_read_only_files_and_bytes_count():
    unread = [File(f.uri, f.bytes) for f in FILES]
    assert [row["read"] for row in told(Expected("dt=1", 9), Expected("dt=2", 1), files=unread)] == [None, None]
    with pytest.raises(NotReadyError, match="dt=1: 31 bytes expected, 30 there, 1 lack"):
        told(Expected("dt=1", 9, bytes=31), Expected("dt=2", 1), files=unread)
    with pytest.raises(NotReadyError, match=r"dt=3: no file \(1,000 records expected\)"):
        told(Expected("dt=3", 1000), Expected("."), files=unread)


def test_too_few_is_not_ready_and_names_which_and_how_many():
    with pytest.raises(NotReadyError) as caught:
        told(Expected("dt=1", 1008), Expected("dt=2", at_least=2))
    assert "dt=1: 1,008 records expected, 7 there, 1,001 lack; dt=2: 2 records expected, 1 there, 1 lack" in str(
        caught.value
    )
    assert "last release stays" in str(caught.value) and caught.value.exit_code == 8


def test_too_many_is_an_error_that_waiting_does_not_mend():
    with pytest.raises(InputError, match="dt=1: 5 records expected, 7 there, 2 too many") as caught:
        told(Expected("dt=1", 5), Expected("dt=2", 1))
    assert not isinstance(caught.value, NotReadyError) and caught.value.exit_code == 3
    with pytest.raises(InputError, match="dt=2/a: not expected"):
        told(Expected("dt=1", 7))
    assert told(Expected("dt=1", at_least=5), Expected(".", at_least=0))


def test_while_something_lacks_too_much_is_only_mentioned():
    with pytest.raises(NotReadyError, match=r"dt=1: 8 records.*there is too much: dt=2/a: not expected"):
        told(Expected("dt=1", 8))


def test_a_partition_of_nothing_needs_no_file():
    assert told(Expected("dt=3", 0), Expected(".", 8))[0] == {
        "path": "dt=3", "files": 0, "bytes": 0, "expected": 0, "read": 0,
    }  # fmt: skip


def test_a_file_that_breaks_off_is_not_all_there_though_its_records_are_as_many():
    with pytest.raises(NotReadyError, match="dt=2/a: cannot be read to its end"):
        told(Expected(".", 8), broken=("dt=2/a",))


def test_a_hash_is_of_one_file():
    assert told(Expected("dt=2/a", sha256="cc"), Expected("dt=1", 7))
    with pytest.raises(NotReadyError, match="dt=2/a: SHA-256 dd… expected, cc… there"):
        told(Expected("dt=2/a", sha256="dd"), Expected("dt=1", 7))
    with pytest.raises(InputError, match="dt=1: 2 files, and sha256 is of one"):
        told(Expected("dt=1", sha256="cc"), Expected("dt=2", 1))


def test_a_long_list_is_cut():
    with pytest.raises(NotReadyError, match=r"dt=14: no file.*; and 3 more"):
        told(*(Expected(f"dt={k}", 1) for k in range(10, 18)), Expected("."))
