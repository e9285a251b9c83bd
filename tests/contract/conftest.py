"""Releases that the readers of others are tried on: one made up, with every view, and one of a whole run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Read when the libraries are imported.
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "pipeline")]

import pytest  # noqa: E402


@pytest.fixture(scope="session")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release's folder with rows of every view in two splits and several shards. Read it only."""
    from made_up_release import write_release

    return write_release(tmp_path_factory.mktemp("made_up"))


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release that a whole run over the synthetic log made."""
    from synthetic import SETTINGS, afterword, write_log

    folder = tmp_path_factory.mktemp("whole")
    (folder / "log").mkdir()
    log, out = write_log(folder / "log"), folder / "out"
    assert afterword("run", "--input", log, *SETTINGS, "--out", out) == 0
    return out / "releases" / (out / "CURRENT").read_text().strip()
