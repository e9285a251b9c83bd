from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from synthetic import lines, record

from pipeline.readers import stream
from pipeline.readers.canonical import CanonicalReader
from pipeline.readers.canonical import lines as json_lines
from pipeline.transforms.read import ReadFiles
from schemas import DEAD_LETTER, INPUT, TURN, Reason

SECRET = "my pin is 4711"


def read(path: Path, format: str = "canonical", threads: int = 1) -> dict[str, pa.Table]:
    """What a file gives, by tag."""
    files = ReadFiles(format, None, threads)
    files.setup()
    files.start_bundle()
    out: dict[str, list[pa.Table]] = {"turns": [TURN.empty()], "dead_letters": [DEAD_LETTER.empty()], "inputs": []}
    for element in files.process((str(path), path.name)):
        out.setdefault(element.tag, []).append(element.value)
    for element in files.finish_bundle():
        out.setdefault(element.tag, []).append(element.value.value)
    return {tag: pa.concat_tables(tables) for tag, tables in out.items() if tables}


def many(n: int = 2000) -> bytes:
    return lines(*(record(turn_id=str(k), utterance=hashlib.sha256(b"%d" % k).hexdigest()) for k in range(n)))


def members(pack: Callable[[bytes], bytes]) -> bytes:
    data = many()
    return pack(data[:5001]) + pack(data[5001:]) + pack(b"")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", many()),
        ("a.jsonl.gz", gzip.compress(many())),
        ("a.jsonl.zst", zstandard.compress(many())),
        ("m.jsonl.gz", members(gzip.compress)),
        ("m.jsonl.zstd", members(zstandard.compress)),
        ("A.JSONL.GZ", gzip.compress(many())),
    ],
)
def test_a_file_is_read_to_its_end_and_hashed_as_stored(tmp_path: Path, name: str, data: bytes):
    (tmp_path / name).write_bytes(data)
    got = read(tmp_path / name)
    assert got["turns"]["turn_id"].to_pylist() == [str(k) for k in range(2000)]
    assert got["dead_letters"].num_rows == 0
    assert got["inputs"].to_pylist() == [
        {"uri": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "records": 2000, "replaced": 0}
    ]
    assert got["inputs"].schema.equals(INPUT.schema)


@pytest.mark.parametrize(
    ("suffix", "pack", "chunk"), [(".gz", gzip.compress, 1 << 20), (".zst", zstandard.compress, 1 << 12)]
)
def test_a_file_that_breaks_off_keeps_the_rows_before_and_is_a_dead_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, pack: Callable[[bytes], bytes], chunk: int
):
    monkeypatch.setattr(stream, "_CHUNK", chunk)
    packed = pack(many(20_000))
    broken = packed[: len(packed) * 3 // 4]
    (tmp_path / f"a.jsonl{suffix}").write_bytes(broken)
    got = read(tmp_path / f"a.jsonl{suffix}")
    kept = got["turns"].num_rows
    assert 10_000 < kept < 20_000
    assert got["turns"]["turn_id"].to_pylist() == [str(k) for k in range(kept)]
    # The line that was cut, then the file.
    *cut, last = got["dead_letters"].to_pylist()
    assert last["reason"] == Reason.UNREADABLE_FILE and "EOFError" in last["detail"]
    assert [c["reason"] for c in cut] in ([], [Reason.INVALID_JSON])
    row = got["inputs"].to_pylist()[0]
    assert (row["bytes"], row["sha256"]) == (len(broken), hashlib.sha256(broken).hexdigest())
    assert row["records"] == kept + got["dead_letters"].num_rows


def test_bytes_after_the_last_gzip_member_are_a_dead_letter(tmp_path: Path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(many(10)) + SECRET.encode())
    got = read(tmp_path / "a.jsonl.gz")
    assert got["turns"].num_rows == 10
    assert got["dead_letters"]["reason"].to_pylist() == [Reason.UNREADABLE_FILE]
    assert SECRET[:2] not in got["dead_letters"]["detail"][0].as_py().split("(")[1].split(")")[0]


def test_a_missing_file_is_a_dead_letter_without_this_machines_paths(tmp_path: Path):
    got = read(tmp_path / "none.jsonl")
    detail = got["dead_letters"]["detail"][0].as_py()
    assert got["dead_letters"]["reason"].to_pylist() == [Reason.UNREADABLE_FILE]
    assert str(tmp_path) not in detail and "No such file" in detail
    assert got["inputs"]["records"].to_pylist() == [1]


def test_parquet_that_breaks_off_is_a_dead_letter(tmp_path: Path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    got = read(tmp_path / "a.parquet")
    assert got["dead_letters"]["reason"].to_pylist() == [Reason.UNREADABLE_FILE]


def test_what_a_reader_raises_does_not_carry_text_into_the_dead_letter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any) -> Any:
        raise pa.ArrowInvalid(SECRET)

    monkeypatch.setattr(CanonicalReader, "read", fail)
    (tmp_path / "a.jsonl").write_bytes(many(1))
    letter = read(tmp_path / "a.jsonl")["dead_letters"].to_pylist()[0]
    assert letter["reason"] == Reason.UNREADABLE_FILE and SECRET not in json.dumps(letter)


@pytest.mark.parametrize("error", [KeyError("ours"), pa.ArrowInvalid("ours"), OSError("ours")], ids=repr)
@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_ours_is_not_taken_for_a_broken_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, threads: int
):
    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr("pipeline.transforms.read.check", fail)
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 1 << 12)
    (tmp_path / "a.jsonl").write_bytes(many(200))
    with pytest.raises(type(error), match="ours"):
        read(tmp_path / "a.jsonl", threads=threads)


def test_a_salvaged_stream_ends_at_the_error_and_keeps_it():
    def chunks():
        yield b"abc"
        yield b"defg"
        raise EOFError("cut")

    salvage = stream.Salvage(chunks())
    assert salvage.read() == b"abcdefg"
    assert isinstance(salvage.error, EOFError)
