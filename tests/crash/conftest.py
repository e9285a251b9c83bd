"""An output folder with a release that is current, and a later one that a crash may interrupt."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / "pipeline"), str(Path(__file__).parent)]
logging.getLogger("apache_beam").setLevel(logging.CRITICAL)


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small log: two files, one packed, with records that become dead letters."""
    from synthetic import write_log

    return write_log(tmp_path_factory.mktemp("log"), 120)


@pytest.fixture(scope="session")
def site(log: Path, tmp_path_factory: pytest.TempPathFactory) -> object:
    """Two whole runs; see `site.Site`. Copy it before changing it."""
    from site_of_runs import Site

    return Site.made(log, tmp_path_factory.mktemp("site") / "out")
