"""A worker process of the local runner that is killed while the command works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from site_of_runs import SECOND, Site
from synthetic import SETTINGS

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
TWO_PROCESSES = ("--", "--runner=FnApiRunner", "--direct_running_mode=multi_processing", "--direct_num_workers=2")
# No run of this log takes so long; one that does hangs.
LIMIT = 300.0


@pytest.fixture(scope="module")
def held(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site.copied(tmp_path_factory.mktemp("lost") / "out")


def command(log: Path, out: Path, *beam: str) -> subprocess.Popen[str]:
    words = ["run", "--input", log, *SETTINGS, *SECOND, "--out", out, *beam]
    whole = [sys.executable, "-m", "pipeline.cli", *map(str, words)]
    return subprocess.Popen(whole, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def workers(pid: int) -> Iterator[int]:
    """Worker processes below a process: a shell, and the interpreter that it started."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
            if b"sdk_worker_main" not in (stat.parent / "cmdline").read_bytes():
                continue
        except (OSError, IndexError):
            continue
        yield from [int(stat.parent.name)] if pid in _above(int(stat.parent.name), parents) else []


def _above(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid > 1:
        if pid not in parents:
            parents[pid] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        yield pid
        pid = parents[pid]


def after(process: subprocess.Popen[str], line: str) -> list[str]:
    """Read what it says up to a line; the rest is read on in a thread, into the list that is given back."""
    assert process.stderr is not None
    said: list[str] = []
    for each in process.stderr:
        said.append(each)
        if line in each:
            break
    threading.Thread(target=lambda: said.extend(process.stderr or ()), daemon=True).start()
    return said


@pytest.mark.parametrize(
    ("stage", "victim"), [("ingest", "interpreter"), ("signals", "shell"), ("curate", "interpreter")]
)
def test_a_killed_worker_ends_the_run_clean_and_the_same_again_finishes_it(
    held: Site, log: Path, stage: str, victim: str
):
    held.put_back()
    process = command(log, held.out, *TWO_PROCESSES)
    try:
        said = after(process, f"{stage}: started")
        found: list[int] = []
        while process.poll() is None and len(found) < 4:
            found = sorted(workers(process.pid))
            time.sleep(0.02)
        os.kill(found[-1 if victim == "interpreter" else 0], signal.SIGKILL)
        assert process.wait(LIMIT) == 1
    finally:
        process.kill()
    last = "".join(said).splitlines()[-1]
    assert last.startswith("afterword: a worker of the local runner was lost (its process ended with code ")
    assert "Traceback" not in "".join(said)
    assert held.check_readers() == held.old
    again = command(log, held.out)
    _, errors = again.communicate(timeout=LIMIT)
    assert again.returncode == 0, errors[-300:]
    held.check_finished()
