"""The first thing that a new user runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.long
def test_the_demo_goes_through_and_tells_what_there_is_now(tmp_path: Path):
    # What a try that was broken off leaves behind.
    (tmp_path / "made" / "logs").mkdir(parents=True)
    run = subprocess.run(
        [sys.executable, "examples/demo.py", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    release = tmp_path / "out" / "releases" / (tmp_path / "out" / "CURRENT").read_text().strip()
    assert {p.name for p in release.iterdir()} >= {"nlu", "sft", "rl", "lineage", "manifest.json", "README.md"}
    # The closing table, a correction explained with its dialog, and where the release lies.
    for said in ("corrections", "\nexample ", ">!", "What became of it", str(release), "== Next"):
        assert said in run.stdout, said
    assert list((tmp_path / "made" / "truth").rglob("*.parquet"))
