"""The main job on a standalone Spark cluster, whole, and with workers that are killed in mid-run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from bench.spark_cluster import EXECUTOR, SDK_WORKER, Process, Spark
from tests.spark.command import CALLS, ended, files, released, run, started

pytestmark = pytest.mark.spark

INPUT = ("--input", CALLS, "--format", "dstc")
# Another release than that of the calls as they are.
OTHERWISE = ("--set", "curate.min_users=3")
# Between two looks: the calls are read in less than a second.
LOOK_SECONDS = 0.01


@pytest.fixture(scope="module")
def whole(cluster: Spark, local: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Output of the main job on the cluster; paths are given as seen from the folder of the command."""
    folder = tmp_path_factory.mktemp("whole")
    source = ("--input", os.path.relpath(CALLS, folder), "--format", "dstc")
    code, said = run(*source, "--out", "out", beam=cluster.beam, cwd=folder)
    assert code == 0, said
    return folder / "out"


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, for a command to go on with."""
    shutil.copytree(whole, tmp_path / "out")
    return tmp_path / "out"


def test_real_calls_give_the_local_bytes(whole: Path, local: Path):
    assert released(whole) == released(local)
    assert (whole / "CURRENT").read_text() == (local / "CURRENT").read_text()


def at_work(cluster: Spark) -> list[Process]:
    """SDK workers in the midst of the calls, their one file open; this is in stage ingest."""
    (calls,) = CALLS.resolve().glob("*.jsonl.gz")
    return [worker for worker in cluster.of(SDK_WORKER) if calls in opened(worker.pid)]


def opened(pid: int) -> set[Path]:
    """Files that a process has open; none where it has ended."""
    found = set()
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.add(link.readlink())
    return found


def executors_at_work(cluster: Spark) -> list[Process]:
    """Their executors: a worker is a child of its own."""
    parents = {worker.parent for worker in at_work(cluster)}
    return [p for p in cluster.of(EXECUTOR) if p.pid in parents]


def kill(found: Callable[[], list[Process]], command: subprocess.Popen[str]) -> Process:
    """Kill the first that is found while a command runs."""
    while not (victims := found()):
        assert command.poll() is None, ended(command)
        time.sleep(LOOK_SECONDS)
    os.kill(victims[0].pid, signal.SIGKILL)
    return victims[0]


def test_a_killed_sdk_worker_is_replaced_and_nothing_is_lost_or_doubled(cluster: Spark, out: Path):
    wanted = files(out, "stages/ingest")
    command = started("ingest", *INPUT, "--out", out, beam=cluster.beam)
    kill(lambda: at_work(cluster), command)
    code, said = ended(command)
    assert code == 0, said
    assert files(out, "stages/ingest") == wanted


def test_where_every_worker_dies_the_run_fails_clean_and_the_same_again_outlives_a_killed_executor(
    cluster: Spark, out: Path, local: Path, tmp_path: Path
):
    current, before = (out / "CURRENT").read_text(), released(out)
    again = (*INPUT, "--out", out, *OTHERWISE)
    command = started("run", *again, beam=cluster.beam)
    while command.poll() is None:
        for victim in at_work(cluster):
            os.kill(victim.pid, signal.SIGKILL)
        time.sleep(LOOK_SECONDS)
    code, said = ended(command)
    assert code == 1, said
    assert "a worker was lost" in said
    assert "org.apache" not in said
    assert ((out / "CURRENT").read_text(), released(out)) == (current, before)

    command = started("run", *again, beam=cluster.beam)
    kill(lambda: executors_at_work(cluster), command)
    code, said = ended(command)
    assert code == 0, said
    assert (out / "CURRENT").read_text() != current
    shutil.copytree(local, tmp_path / "local")
    code, said = run("--from", "curate", "--out", tmp_path / "local", *OTHERWISE)
    assert code == 0, said
    assert released(out) == released(tmp_path / "local")
