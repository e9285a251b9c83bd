"""Makes `tests/build.py` and the helpers beside this file importable; builds the synthetic release once."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
logging.getLogger("apache_beam").setLevel(logging.ERROR)


@pytest.fixture(scope="session")
def letsgo() -> Path:
    """The real calls; skips where they are not at hand."""
    data = Path(os.environ.get("AFTERWORD_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
    path = data / "dstc1_letsgo" / "train3.jsonl.gz"
    if not path.exists():
        pytest.skip(f"no data at {path}; set AFTERWORD_DATA")
    return path


@pytest.fixture(scope="module")
def s3_bucket() -> Iterator[str]:
    """A bucket of an emulated S3."""
    from emulators import s3

    with s3() as bucket:
        yield bucket


@pytest.fixture(scope="module")
def gcs_bucket() -> Iterator[str]:
    """A bucket of an emulated Cloud Storage."""
    from emulators import gcs

    with gcs() as bucket:
        yield bucket


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the synthetic log: two files, one packed."""
    from synthetic import write_log

    return write_log(tmp_path_factory.mktemp("log"))


@pytest.fixture(scope="session")
def released(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder after one run over the log. Read it; copy it before changing it."""
    from synthetic import SETTINGS, afterword

    out = tmp_path_factory.mktemp("released") / "out"
    assert afterword("run", "--input", log, *SETTINGS, "--out", out) == 0
    return out


@pytest.fixture(scope="session")
def repaired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder after one run over a log with accepted corrections. Read it; copy it before changing it."""
    from repairs import SETTINGS, write_log
    from synthetic import afterword

    folder = tmp_path_factory.mktemp("repaired")
    (folder / "log").mkdir()
    log = write_log(folder / "log")
    assert afterword("run", "--input", log, *SETTINGS, "--out", folder / "out") == 0
    return folder / "out"
