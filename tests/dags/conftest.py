"""An Airflow with a home and a database of its own, and the command of the project's own environment.

Airflow reads its settings when it is imported, so they stand here, before any test is read.
"""

from __future__ import annotations

import atexit
import gzip
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DAGS = ROOT / "dags"
sys.path[:0] = [str(DAGS), str(Path(__file__).parent)]
HAS_AIRFLOW = importlib.util.find_spec("airflow") is not None

if HAS_AIRFLOW:
    _HOME = tempfile.mkdtemp(prefix="afterword-airflow-")
    atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
    _lines = [line for line in (DAGS / "airflow.env").read_text().splitlines() if "=" in line and line[0] != "#"]
    os.environ |= dict(line.split("=", 1) for line in _lines) | {
        "AIRFLOW_HOME": _HOME,
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{_HOME}/airflow.db",
    }


@pytest.fixture(scope="session")
def airflow() -> Path:
    """Airflow's home, with its database made."""
    if not HAS_AIRFLOW:
        pytest.skip("no airflow in this environment; run `make test-airflow`")
    done = subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Path(os.environ["AIRFLOW_HOME"])


@pytest.fixture(scope="session")
def python() -> list[str]:
    """Python of the project's environment; skips where it is not made."""
    path = Path(os.environ.get("AFTERWORD_PYTHON", ROOT / ".venv" / "bin" / "python"))
    if not path.exists():
        pytest.skip(f"no environment of the project at {path}; run `make install`")
    return [str(path)]


@pytest.fixture(scope="session")
def command(python: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, as it would be called in its own environment; see `spoiled` for what a test can do to it."""
    folder = tmp_path_factory.mktemp("command")
    path = folder / "afterword"
    path.write_text(
        f"""#!/bin/sh
echo "$@" >> {folder}/calls
stage=$1
if [ "$stage" = run ]; then stage=$3; fi
if [ -e {folder}/fail-$stage ]; then
  echo "afterword: made to fail" >&2
  exit $(cat {folder}/fail-$stage)
fi
if [ "$1" = ready ]; then
  if [ -s {folder}/not-ready ]; then sed -i 1d {folder}/not-ready; exit 8; fi
fi
PYTHONPATH={ROOT} exec {shlex.join(python)} -m pipeline.cli "$@"
"""
    )
    path.chmod(0o755)
    return path


class Spoiled:
    """The command, made to fail, with the calls that it got."""

    def __init__(self, path: Path) -> None:
        self.path, self._folder = path, path.parent

    def fail(self, stage: str, code: int) -> None:
        """Have a stage end with an exit code, having said so."""
        (self._folder / f"fail-{stage}").write_text(str(code))

    def not_ready(self, times: int) -> None:
        """Have `ready` say so many times that the log is not complete, whatever is there."""
        (self._folder / "not-ready").write_text("\n" * times)

    def calls(self) -> list[str]:
        """First word of each call."""
        path = self._folder / "calls"
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []

    def reset(self) -> None:
        for path in [*self._folder.glob("fail-*"), self._folder / "not-ready", self._folder / "calls"]:
            path.unlink(missing_ok=True)


@pytest.fixture
def spoiled(command: Path) -> Iterator[Spoiled]:
    """The command for one test to spoil."""
    held = Spoiled(command)
    held.reset()
    yield held
    held.reset()


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets Airflow variables, by the environment."""

    def set_(**values: object) -> None:
        for name, value in values.items():
            monkeypatch.setenv(f"AIRFLOW_VAR_AFTERWORD_{name.upper()}", str(value))

    return set_


@pytest.fixture(scope="session")
def made(python: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up logs of three days, a folder each: `day=2026-03-01` and so on."""
    out = tmp_path_factory.mktemp("made")
    subprocess.run(
        [*python, "-m", "pipeline.cli", "simulate", "--out", str(out), "--turns", "6000", "--days", "3"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return out / "logs"


@pytest.fixture(scope="session")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The day of most real calls, and a folder with a folder of each day; skips where they are not at hand."""
    data = Path(os.environ.get("AFTERWORD_DATA", ROOT / ".." / "shared" / "data"))
    path = data / "dstc1_letsgo" / "train3.jsonl.gz"
    if not path.exists():
        pytest.skip(f"no data at {path}; set AFTERWORD_DATA")
    days = defaultdict(list)
    with gzip.open(path) as stream:
        for line in stream:
            month, day, year = json.loads(line)["session-date"].split("-")
            days[f"{year}-{month}-{day}"].append(line)
    folder = tmp_path_factory.mktemp("calls")
    for day, lines in days.items():
        (folder / day).mkdir()
        (folder / day / "calls.jsonl").write_bytes(b"".join(lines))
    yield max(days, key=lambda day: len(days[day])), folder
