"""The same input, configuration and code give the same release, however the work is cut and whoever does it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from repairs import SETTINGS, write_log
from synthetic import afterword, tree

ROOT = Path(__file__).parents[2]
WAYS = {
    "two workers, native": (
        ("--set", "shuffle.mode=native"),
        ("--direct_running_mode=multi_processing", "--direct_num_workers=2"),
    ),
    "two workers, spill, small buckets": (
        ("--set", "shuffle.mode=spill", "--set", "shuffle.bucket_bytes=60000"),
        ("--direct_running_mode=multi_processing", "--direct_num_workers=2"),
    ),
    "one worker, native, other buckets, three threads": (
        ("--set", "shuffle.mode=native", "--set", "shuffle.bucket_bytes=150000", "--set", "workers.threads=3"),
        (),
    ),
}


@pytest.mark.long
def test_workers_buckets_and_shuffles_do_not_change_a_byte(repaired: Path, tmp_path: Path):
    (tmp_path / "log").mkdir()
    log = write_log(tmp_path / "log")
    wanted = tree(repaired / "releases")
    assert any("/lineage/" in name for name in wanted)
    for name, (settings, runner) in WAYS.items():
        out = tmp_path / name.replace(" ", "-").replace(",", "")
        assert afterword("run", "--input", log, *SETTINGS, *settings, "--out", out, "--", *runner) == 0, name
        assert tree(out / "releases") == wanted, name


@pytest.mark.long
@pytest.mark.parametrize("processes", ["1", "2", "3"])
def test_processes_beside_the_command_do_not_change_a_byte(repaired: Path, tmp_path: Path, processes: str):
    log = tmp_path / "log"
    log.mkdir()
    settings = [*SETTINGS, "--set", f"workers.threads={processes}", "--set", "shuffle.bucket_bytes=60000"]
    command = [sys.executable, "-m", "pipeline.cli", "run", "--input", str(write_log(log)), *settings]
    # A process of its own: where the command is called in this one, it works in threads.
    subprocess.run([*command, "--out", str(tmp_path / "out")], check=True, cwd=ROOT, capture_output=True)
    assert tree(tmp_path / "out" / "releases") == tree(repaired / "releases")
