"""Buckets that are shared out: the same files and counts as of one call a bucket, from threads and from processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from synthetic import afterword

from pipeline.transforms import sessions

HERE = Path(__file__).parents[1]
STAGES = ("signals", "label")
# A command of its own, with two processes beside it.
COMMAND = """
import sys
from pipeline import cli
from pipeline.transforms import sessions
sessions.LARGE_ROWS, sessions.PIECE_ROWS = 200, 40
for stage in ("signals", "label"):
    sys.argv = ["afterword", stage, "--out", sys.argv[-1]]
    assert cli.console() == 0
"""


def files(out: Path, stage: str) -> dict[str, bytes]:
    """Of a stage, by name, but for the options that it was given."""
    found = [path for path in (out / "stages" / stage).rglob("*") if path.is_file() and path.name != "options.json"]
    return {str(path.relative_to(out)): path.read_bytes() for path in found}


@pytest.fixture
def copied(released: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(released, tmp_path / "out"))


@pytest.fixture
def shared_out(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every bucket of the log is large; gives the pieces that were worked on."""
    worked: list[Any] = []
    work_piece = sessions.OfSessions.work_piece
    monkeypatch.setattr(sessions, "LARGE_ROWS", 200)
    monkeypatch.setattr(sessions, "PIECE_ROWS", 40)
    monkeypatch.setattr(
        sessions.OfSessions, "work_piece", lambda self, piece: worked.append(piece) or work_piece(self, piece)
    )
    return worked


@pytest.mark.parametrize("threads", [1, 3])
def test_a_bucket_in_pieces_is_the_same_bucket(copied: Path, released: Path, shared_out: list[Any], threads: int):
    for stage in STAGES:
        assert afterword(stage, "--out", copied, "--set", f"workers.threads={threads}") == 0
        assert files(copied, stage) == files(released, stage)
        # Of every bucket, several, each with a number of its own.
        numbers = [(bucket, number) for bucket, (number, _) in shared_out]
        assert len(numbers) == len(set(numbers)) > 20
        shared_out.clear()
    assert not (copied / "stages" / "spill").exists() or not any((copied / "stages" / "spill").iterdir())


def test_processes_give_the_same_bucket(copied: Path, released: Path):
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(copied)],
        env=os.environ | {"PYTHONPATH": str(HERE.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for stage in STAGES:
        assert files(copied, stage) == files(released, stage)


def test_a_piece_that_is_gone_ends_the_stage_with_words(copied: Path, shared_out: list[Any], capsys, monkeypatch):
    read = sessions.read_piece

    def gone(path: str) -> Any:
        Path(path).unlink()
        return read(path)

    monkeypatch.setattr(sessions, "read_piece", gone)
    assert afterword("signals", "--out", copied) != 0
    assert "a file of the shuffle is gone or damaged" in capsys.readouterr().err
