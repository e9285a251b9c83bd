"""`afterword ready`, and a run that waits for what lacks."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from synthetic import BAD, SETTINGS, afterword, copy, lines, record, records, tree

LOOK = ("ready", "--format", "canonical", "--input")


def partition(folder: Path, day: int, rows: int) -> Path:
    place = folder / f"dt=2026-03-0{day}"
    place.mkdir(parents=True, exist_ok=True)
    day_rows = [record(turn_id=f"{day}-{k}", user_id=f"u{k}") for k in range(rows)]
    (place / "part-0.jsonl").write_bytes(lines(*day_rows))
    return place


def counts(folder: Path, **held: Any) -> Path:
    path = folder / "counts.json"
    path.write_text(json.dumps(held))
    return path


def test_ready_says_what_is_there(tmp_path: Path, capsys: Any):
    partition(tmp_path / "log", 1, 3)
    assert afterword(*LOOK, tmp_path / "log", "--expect", counts(tmp_path, **{"dt=2026-03-01": 4})) == 0
    said = capsys.readouterr().out
    assert said.startswith("ready     1 file(s), ") and "dt=2026-03-01: 1 file(s)" in said
    assert "4 records expected" in said


def test_a_partition_that_is_not_there_yet(tmp_path: Path, capsys: Any):
    partition(tmp_path / "log", 1, 3)
    expect = counts(tmp_path, **{"dt=2026-03-01": 3, "dt=2026-03-02": 5})
    assert afterword(*LOOK, tmp_path / "log", "--expect", expect) == 8
    assert "dt=2026-03-02: no file (5 records expected)" in capsys.readouterr().err
    partition(tmp_path / "log", 2, 5)
    assert afterword(*LOOK, tmp_path / "log", "--expect", expect) == 0
    partition(tmp_path / "log", 3, 5)
    assert afterword(*LOOK, tmp_path / "log", "--expect", expect) == 3
    assert "dt=2026-03-03/part-0.jsonl: not expected" in capsys.readouterr().err


def test_a_count_file_that_is_still_to_come_is_not_ready(tmp_path: Path, capsys: Any):
    partition(tmp_path / "log", 1, 3)
    expect = ("--expect", tmp_path / "counts.json")
    assert afterword(*LOOK, tmp_path / "log", *expect) == 8
    assert f"--expect {tmp_path}/counts.json: no such file" in capsys.readouterr().err
    assert afterword("ingest", "--input", tmp_path / "log", *SETTINGS, "--out", tmp_path / "out", *expect) == 8
    counts(tmp_path, **{"dt=2026-03-01": 3})
    assert afterword(*LOOK, tmp_path / "log", *expect) == 0


def test_no_file_is_not_ready(tmp_path: Path, capsys: Any):
    (tmp_path / "log").mkdir()
    assert afterword(*LOOK, tmp_path / "log") == 8 and afterword(*LOOK, tmp_path / "log" / "*.jsonl") == 8
    assert "wait for it" in capsys.readouterr().err
    # Nothing, where nothing is expected, does not change by waiting.
    assert afterword(*LOOK, tmp_path / "log", "--expect", counts(tmp_path, **{".": 0})) == 3


@pytest.mark.parametrize(
    "name",
    [
        "_temporary/0/task_1/part-1.jsonl",
        ".tmp-0a-part-1.jsonl",
        "beam-temp-part-9f/part-1.jsonl",
        "part-1.jsonl.tmp",
        "part-1.jsonl._COPYING_",
        "part-1.parquet.inprogress",
    ],
)
def test_a_name_that_is_still_being_written(tmp_path: Path, name: str, capsys: Any):
    place = partition(tmp_path / "log", 1, 3)
    (place / name).parent.mkdir(parents=True, exist_ok=True)
    (place / name).write_bytes(b"{")
    assert afterword(*LOOK, tmp_path / "log") == 8
    assert f"still being written: dt=2026-03-01/{name}" in capsys.readouterr().err
    # Whether or not anyone looked before, and whether or not there is anything else.
    for command in ("ingest", "run"):
        assert afterword(command, "--input", tmp_path / "log", *SETTINGS, "--out", tmp_path / "out") == 8
        assert f"still being written: dt=2026-03-01/{name}" in capsys.readouterr().err
    assert not (tmp_path / "out" / "stages").exists()
    (place / "part-0.jsonl").unlink()
    assert afterword("ingest", "--input", tmp_path / "log", *SETTINGS, "--out", tmp_path / "out") == 8
    partition(tmp_path / "log", 1, 3)
    (place / name).unlink()
    assert afterword(*LOOK, tmp_path / "log") == 0


def test_a_marker_stands_beside_the_files_or_above_them(tmp_path: Path, capsys: Any):
    log = tmp_path / "log"
    first, second = partition(log, 1, 3), partition(log, 2, 3)
    marked = ("--marker", "_SUCCESS")
    (first / "_SUCCESS").touch()
    assert afterword(*LOOK, log) == 0
    assert afterword(*LOOK, log, *marked) == 8
    assert "1 folder(s) without _SUCCESS: dt=2026-03-02." in capsys.readouterr().err
    assert afterword(*LOOK, first / "part-0.jsonl", *marked) == 0
    assert afterword(*LOOK, log / "dt=*" / "*.jsonl", *marked) == 8
    (second / "_SUCCESS").touch()
    assert afterword(*LOOK, log / "dt=*" / "*.jsonl", *marked) == 0
    (first / "_SUCCESS").unlink()
    (second / "_SUCCESS").unlink()
    (log / "_SUCCESS").touch()
    assert afterword(*LOOK, log, *marked) == 0
    # A marker above the input is of something else.
    assert afterword(*LOOK, first, *marked) == 8


def test_what_lies_in_the_output_folder_is_no_input(tmp_path: Path):
    partition(tmp_path / "log", 1, 3)
    partition(tmp_path / "log" / "out", 1, 3)
    expect = ("--expect", counts(tmp_path, **{"dt=2026-03-01": 3}))
    assert afterword(*LOOK, tmp_path / "log", *expect) == 3
    assert afterword(*LOOK, tmp_path / "log", *expect, "--out", tmp_path / "log" / "out") == 0


def test_a_run_whose_records_lack_publishes_nothing(log: Path, released: Path, tmp_path: Path, capsys: Any):
    out = copy(released, tmp_path / "out")
    before = tree(out / "releases"), (out / "CURRENT").read_bytes()
    read = len(records()) + len(BAD)
    again = ("run", "--input", log, *SETTINGS, "--out", out, "--expect")
    assert afterword(*again, counts(tmp_path, **{".": read + 1})) == 8
    said = capsys.readouterr().err
    assert f"{read + 1:,} records expected, {read:,} there, 1 lack" in said
    assert (tree(out / "releases"), (out / "CURRENT").read_bytes()) == before
    assert not (out / "stages" / "ingest" / "stage.json").exists()
    assert afterword("signals", "--out", out) == 7
    run = [json.loads(p.read_text()) for p in sorted((out / "runs").glob("*/run.json"))]
    assert [r["result"]["failed"] for r in run if "failed" in r["result"]] == ["ingest"]
    # With all that is expected: the very release of a run that nobody counted for.
    assert afterword(*again, counts(tmp_path, **{"day": 722, "b.jsonl.gz": read - 722})) == 0
    assert "records, as counts.json has them; 2 file(s)" in capsys.readouterr().out
    assert (tree(out / "releases"), (out / "CURRENT").read_bytes()) == before
    facts = json.loads((out / "stages" / "ingest" / "stage.json").read_text())["facts"]["complete"]
    assert [(row["path"], row["expected"], row["read"]) for row in facts["partitions"]] == [
        ("day", 722, 722),
        ("b.jsonl.gz", read - 722, read - 722),
    ]


def ingest(folder: Path, *options: object) -> int:
    return afterword("ingest", "--input", folder / "log", "--format", "canonical", "--out", folder / "out", *options)


def test_the_cheap_look_comes_before_the_stage_is_cleared(tmp_path: Path):
    partition(tmp_path / "log", 1, 3)
    assert ingest(tmp_path) == 0
    marker = (tmp_path / "out" / "stages" / "ingest" / "stage.json").read_bytes()
    assert ingest(tmp_path, "--marker", "_SUCCESS") == 8
    assert ingest(tmp_path, "--expect", counts(tmp_path, **{"dt=2026-03-01": 3, "dt=2026-03-02": 1})) == 8
    assert (tmp_path / "out" / "stages" / "ingest" / "stage.json").read_bytes() == marker


def test_more_than_expected_is_an_error_unless_it_may_be_more(tmp_path: Path, capsys: Any):
    partition(tmp_path / "log", 1, 6)
    assert ingest(tmp_path, "--expect", counts(tmp_path, **{"dt=2026-03-01": 3})) == 3
    assert "3 too many" in capsys.readouterr().err
    assert ingest(tmp_path, "--expect", counts(tmp_path, **{"dt=2026-03-01": {"at_least": 3}})) == 0


def test_a_packed_file_that_breaks_off_is_not_all_there(tmp_path: Path, capsys: Any):
    place = partition(tmp_path / "log", 1, 3)
    packed = gzip.compress(lines(*(record(turn_id=f"p{k}") for k in range(40))))
    (place / "part-1.jsonl.gz").write_bytes(packed[:-9])
    # Without a count file it is a dead letter, and the rest goes on.
    assert ingest(tmp_path) == 0
    assert ingest(tmp_path, "--expect", counts(tmp_path, **{".": {"at_least": 1}})) == 8
    assert "dt=2026-03-01/part-1.jsonl.gz: cannot be read to its end" in capsys.readouterr().err


def test_run_from_a_later_stage_takes_no_count_file(tmp_path: Path, capsys: Any):
    expect = ("--expect", counts(tmp_path, **{".": 3}))
    assert afterword("run", "--out", tmp_path / "out", "--from", "label", *expect) == 2
    assert "stage ingest" in capsys.readouterr().err
