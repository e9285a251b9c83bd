"""A command that is killed while its job goes on: the same again waits for that job, and sends no other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_dataflow import Service
from on_dataflow import cloud, options, upload
from synthetic import SETTINGS, afterword, tree

from pipeline import lease, storage
from pipeline.errors import Superseded
from pipeline.jobs import attempts, remote

ROOT = Path(__file__).parents[3]
# The fake answers at once; Beam's runner looks every 5 seconds.
LIMIT = 120.0


class Killed(BaseException):
    """The process ends here, as far as the code can tell."""


@pytest.fixture
def away(released: Path) -> Iterator[tuple[str, Service]]:
    """A bucket with what stage ingest left, and a service whose jobs run until they are let go."""
    with cloud() as (bucket, service):
        upload(released / "stages" / "ingest", f"{bucket}/out/stages/ingest")
        service.held = held = threading.Event()
        yield bucket, service
        held.set()


@pytest.fixture(autouse=True)
def soon_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that was killed is known to be dead after a second; its lease is another's then."""
    monkeypatch.setattr(lease, "DEAD_S", 1.0)
    monkeypatch.setattr(lease, "LOOK_S", 0.1)


def words(bucket: str, service: Service, *more: str) -> list[str]:
    return ["signals", *SETTINGS[2:], *more, "--out", f"{bucket}/out", "--", *options(bucket, service)]


def kill(*_: Any) -> str:
    raise Killed


def killed(away: tuple[str, Service], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run stage signals up to where its job was sent."""

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(remote, "wait", kill)
        afterword(*words(*away))


def made(bucket: str) -> dict[str, bytes]:
    """The tables of the stage, by name."""
    folder = f"{bucket}/out/stages/signals"
    paths = [p for p in storage.sizes(folder) if p.endswith(".parquet")]
    return {p.removeprefix(f"{folder}/"): storage.read_bytes(p) for p in paths}


def wanted(released: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(released / "stages" / "signals").items() if name.endswith(".parquet")}


@pytest.mark.long
def test_after_a_kill_the_same_again_waits_for_the_job_that_runs(
    away: tuple[str, Service], released: Path, capsys: Any
):
    bucket, service = away
    command = [sys.executable, "-m", "pipeline.cli", *words(*away)]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    until = time.monotonic() + LIMIT
    while not service.jobs and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL and len(service.jobs) == 1
    threading.Timer(2.0, service.held.set).start()
    assert afterword(*words(*away)) == 0
    assert "2026-03-01-0 of an earlier command is waited for" in capsys.readouterr().err
    assert len(service.jobs) == 1 and service.asked_for == []
    assert made(bucket) == wanted(released)
    rows = [p for p in storage.sizes(f"{bucket}/out/runs") if p.endswith("/jobs.json")]
    assert {json.loads(storage.read_bytes(p))[0]["job_id"] for p in rows} == {"2026-03-01-0"}


def test_a_job_that_ended_meanwhile_is_taken_as_it_is(
    away: tuple[str, Service], released: Path, monkeypatch: pytest.MonkeyPatch
):
    bucket, service = away
    killed(away, monkeypatch)
    service.held.set()
    until = time.monotonic() + LIMIT
    while service.states["2026-03-01-0"] != "JOB_STATE_DONE" and time.monotonic() < until:
        time.sleep(0.05)
    assert afterword(*words(*away)) == 0
    assert len(service.jobs) == 1 and made(bucket) == wanted(released)
    # A stage that is whole is run anew, under another name.
    assert afterword(*words(*away)) == 0
    assert len({job["name"] for job in service.jobs}) == 2 and made(bucket) == wanted(released)


def test_a_job_that_failed_meanwhile_is_sent_anew(
    away: tuple[str, Service], released: Path, monkeypatch: pytest.MonkeyPatch
):
    bucket, service = away
    killed(away, monkeypatch)
    service.states["2026-03-01-0"] = "JOB_STATE_FAILED"
    service.held = None
    assert afterword(*words(*away)) == 0
    assert len({job["name"] for job in service.jobs}) == 2 and made(bucket) == wanted(released)


def test_a_job_that_is_being_cancelled_ends_before_the_stage_is_begun_anew(
    away: tuple[str, Service], released: Path, monkeypatch: pytest.MonkeyPatch
):
    bucket, service = away
    killed(away, monkeypatch)
    service.states["2026-03-01-0"] = "JOB_STATE_CANCELLING"
    monkeypatch.setattr(attempts, "_PAUSE", 0.05)
    threading.Timer(1.0, service.states.update, [{"2026-03-01-0": "JOB_STATE_CANCELLED"}]).start()
    service.held = None
    assert afterword(*words(*away)) == 0
    assert service.states["2026-03-01-0"] == "JOB_STATE_CANCELLED"
    assert len({job["name"] for job in service.jobs}) == 2 and made(bucket) == wanted(released)


def test_a_job_that_was_named_and_never_sent_is_sent(
    away: tuple[str, Service], released: Path, monkeypatch: pytest.MonkeyPatch
):
    bucket, service = away
    service.held = None
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr("apache_beam.Pipeline.run", _kill)
        afterword(*words(*away))
    assert json.loads(storage.read_bytes(f"{bucket}/out/stages/signals/attempt.json"))["jobs"]
    assert afterword(*words(*away)) == 0
    assert len(service.jobs) == 1 and made(bucket) == wanted(released)


def _kill(*_: Any) -> None:
    raise Killed


def test_other_work_does_not_begin_under_a_job_that_still_writes(
    away: tuple[str, Service], monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    bucket, service = away
    killed(away, monkeypatch)
    before = made(bucket)
    assert afterword(*words(*away, "--set", "signals.session_gap=60")) == 10
    said = capsys.readouterr().err.splitlines()[-1]
    assert "job 2026-03-01-0 (afterword-signals-" in said and "gcloud dataflow jobs cancel 2026-03-01-0" in said
    assert len(service.jobs) == 1 and made(bucket) == before


def test_a_file_of_options_that_changed_meanwhile_is_other_work(
    away: tuple[str, Service], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """Who opted out since the job was sent would be kept by it."""
    bucket, service = away
    upload(log, f"{bucket}/log")
    opted_out = tmp_path / "opted_out.txt"
    opted_out.write_text("u001\n")
    read = ("--input", f"{bucket}/log", *SETTINGS, "--set", f"filters.opt_out={json.dumps(str(opted_out))}")
    command = ("ingest", *read, "--out", f"{bucket}/new", "--", *options(bucket, service))
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(remote, "wait", kill)
        afterword(*command)
    opted_out.write_text("u001\nu002\n")
    assert afterword(*command) == 10
    assert "of another configuration or input still writes here" in capsys.readouterr().err
    assert len(service.jobs) == 1


def test_a_run_whose_lease_another_has_leaves_its_job_to_that_one(
    away: tuple[str, Service], monkeypatch: pytest.MonkeyPatch
):
    def wait(*_: Any, **__: Any) -> str:
        raise Superseded

    monkeypatch.setattr("apache_beam.runners.dataflow.dataflow_runner.DataflowPipelineResult.wait_until_finish", wait)
    assert afterword(*words(*away)) == 130
    assert away[1].asked_for == []
