"""Buckets that are shared out: the same files and counts as of one call a bucket, from threads and from processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from synthetic import SETTINGS, afterword

from pipeline.transforms import sessions
from pipeline.transforms.sessions import SessionWork, Sharing, Tables, large
from pipeline.workspace import Workspace

ROOT = Path(__file__).parents[3]
STAGES = ("signals", "label")
# Rows of a piece, so that a bucket of the log is several.
ROWS = 40
# Stage, output folder and a folder for the numbers of processes that wrote pieces: a command of its own.
COMMAND = f"""
import os, sys
from pathlib import Path
from pipeline import cli
from pipeline.jobs import context
from pipeline.transforms import sessions
stage, out, seen = sys.argv[1:]
write = sessions.write_piece
def written(*piece):
    (Path(seen) / str(os.getpid())).touch()
    return write(*piece)
sessions.PIECE_ROWS, sessions.write_piece = {ROWS}, written
context.large = lambda sizes, at_once: frozenset(sizes)
sys.argv = ["afterword", stage, "--out", out, "--set", "workers.threads=2"]
cli.console()
"""


@pytest.fixture(scope="module")
def several(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder of several buckets. Read it; copy it before changing it."""
    out = tmp_path_factory.mktemp("several") / "out"
    assert afterword("run", "--input", log, *SETTINGS, "--set", "shuffle.bucket_bytes=50000", "--out", out) == 0
    return out


@pytest.fixture
def copied(several: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(several, tmp_path / "out"))


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Two of the buckets are large; gives the pieces that were worked on."""
    seen: list[Any] = []
    work_piece = sessions.SessionWork.work_piece
    monkeypatch.setattr(sessions, "PIECE_ROWS", ROWS)
    monkeypatch.setattr("pipeline.jobs.context.large", lambda sizes, at_once: frozenset(sorted(sizes)[:2]))
    monkeypatch.setattr(
        sessions.SessionWork, "work_piece", lambda self, piece: seen.append(piece) or work_piece(self, piece)
    )
    return seen


def files(out: Path, stage: str) -> dict[str, bytes]:
    """Of a stage, by name, but for the options that it was given."""
    found = [path for path in (out / "stages" / stage).rglob("*") if path.is_file() and path.name != "options.json"]
    return {str(path.relative_to(out)): path.read_bytes() for path in found}


@pytest.mark.parametrize("threads", [1, 3])
def test_buckets_in_pieces_are_the_same_buckets(copied: Path, several: Path, worked: list[Any], threads: int):
    buckets = sorted(Workspace(str(copied)).buckets("ingest", "turns"))
    assert len(buckets) > 2
    for stage in STAGES:
        shutil.rmtree(copied / "stages" / stage / ("signals" if stage == "signals" else "judgements"))
        assert afterword(stage, "--out", copied, "--set", f"workers.threads={threads}") == 0
        assert files(copied, stage) == files(several, stage)
        numbers = [(bucket, number) for bucket, (number, _) in worked]
        # Of each of the two, several, each once.
        assert {bucket for bucket, _ in numbers} == set(buckets[:2]) and len(set(numbers)) == len(numbers) > 6
        worked.clear()
    assert not [path for path in (copied / "stages").rglob("*.arrow")]


@pytest.mark.parametrize("stage", STAGES)
def test_processes_give_the_same_buckets(copied: Path, several: Path, tmp_path: Path, stage: str):
    seen = tmp_path / "seen"
    seen.mkdir()
    command = subprocess.Popen(
        [sys.executable, "-c", COMMAND, stage, str(copied), str(seen)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    _, said = command.communicate()
    assert command.returncode == 0, said
    assert files(copied, stage) == files(several, stage)
    # Pieces were cut, and in processes beside the command.
    wrote = {int(path.name) for path in seen.iterdir()}
    assert wrote and command.pid not in wrote


class Kept(SessionWork):
    """What would be written."""

    def write(self, bucket: int, made: Tables) -> list[Any]:
        return [bucket, *made]


def test_pieces_are_put_together_in_their_order_whatever_they_come_in(tmp_path: Path):
    work = Kept(Sharing(frozenset(), str(tmp_path), 1))
    made = [work._put(7, number, (pa.table({"n": [number]}),))[1] for number in range(11)]
    bucket, table = work.put_together(7, [*made[5:], *made[:5]])
    assert bucket == 7 and table["n"].to_pylist() == list(range(11))


def test_a_piece_that_is_gone_ends_the_stage_with_words(copied: Path, worked: list[Any], capsys, monkeypatch):
    read = sessions.read_piece

    def gone(path: str) -> Any:
        Path(path).unlink()
        return read(path)

    monkeypatch.setattr(sessions, "read_piece", gone)
    assert afterword("signals", "--out", copied) != 0
    assert "a file of the shuffle is gone or damaged" in capsys.readouterr().err and worked


def test_what_stands_out_is_large_and_all_where_there_are_too_few():
    assert large({}, 2) == large({0: 10, 1: 11, 2: 9}, 2) == frozenset()
    assert large({0: 10, 1: 11, 2: 9, 3: 21}, 2) == {3}
    assert large({0: 10, 1: 60}, 2) == {1}
    assert large({7: 10}, 2) == {7} and large({7: 10}, 1) == frozenset()
