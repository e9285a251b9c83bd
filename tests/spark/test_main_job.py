"""The main job, unchanged, on Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("AFTERWORD_DATA", ROOT.parent / "shared" / "data"))
CALLS = DATA / "dstc1_letsgo"
TWO_PROCESSES = ["--runner=FnApiRunner", "--direct_running_mode=multi_processing", "--direct_num_workers=2"]


def run(source: Path, format: str, out: Path, *beam: str) -> tuple[int, str]:
    """Exit code of the whole job in a process of its own, and what it said."""
    command = [sys.executable, "-m", "pipeline.cli", "run", "--input", source, "--format", format, "--out", out]
    done = subprocess.run(
        [*map(str, command), *(["--", *beam] if beam else [])], cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    return done.returncode, done.stdout + done.stderr


def released(out: Path) -> dict[str, bytes]:
    """Every file of the releases, by path: the release's id is a part of it."""
    found = (out / "releases").rglob("*")
    return {str(path.relative_to(out)): path.read_bytes() for path in found if path.is_file()}


def test_real_calls_give_the_same_bytes_on_spark_and_on_local_processes(job_server: list[str], tmp_path: Path):
    if not CALLS.is_dir():
        pytest.skip(f"{CALLS} is absent")
    runners = {"memory": [], "processes": TWO_PROCESSES, "spark": job_server}
    for name, options in runners.items():
        code, said = run(CALLS, "dstc", tmp_path / name, *options)
        assert code == 0, said
    wanted = released(tmp_path / "memory")
    assert any(path.endswith("manifest.json") for path in wanted)
    assert any(path.endswith(".parquet") for path in wanted)
    assert released(tmp_path / "processes") == wanted
    assert released(tmp_path / "spark") == wanted


def test_17_no_input_rows_end_on_spark_as_on_the_local_runner(job_server: list[str], tmp_path: Path):
    source = tmp_path / "logs"
    source.mkdir()
    (source / "none.jsonl").touch()
    local, there = tmp_path / "local", tmp_path / "spark"
    code, said = run(source, "canonical", local)
    assert run(source, "canonical", there, *job_server)[0] == code, said
    assert released(there) == released(local)
