"""A job server that is not there, or goes away in mid-run: the command ends, says so, and leaves the release alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import AfterwordError, ConfigError
from pipeline.jobs import endpoint
from pipeline.jobs.context import pipeline_options
from pipeline.jobs.endpoint import guarded, job_endpoint

ROOT = Path(__file__).parents[3]


def listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def address(server: socket.socket) -> str:
    return f"127.0.0.1:{server.getsockname()[1]}"


def nobody() -> str:
    """An address where nothing listens: a port that was just let go."""
    with listener() as server:
        return address(server)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "START_SECONDS", 0.2)
    monkeypatch.setattr(endpoint, "_PAUSE", 0.05)


def test_only_runners_that_send_jobs_have_an_endpoint():
    def of(*args: str) -> str | None:
        return job_endpoint(pipeline_options(list(args)))

    assert of("--runner=PortableRunner", "--job_endpoint=host:1") == "host:1"
    assert of("--runner=PortableRunner", "--job_endpoint=embed") is None
    assert of("--runner=PortableRunner") is None
    assert of("--job_endpoint=host:1") is None
    with pytest.raises(ConfigError, match="host:port"):
        of("--runner=PortableRunner", "--job_endpoint=host")


def test_where_nothing_listens_no_job_is_sent(impatient: None):
    sent: list[int] = []
    at = nobody()
    with pytest.raises(AfterwordError, match=f"{at}: no job server listens"):
        guarded(at, lambda: sent.append(1))
    assert not sent


def test_what_the_job_gives_or_raises_comes_through(impatient: None):
    def fails() -> int:
        raise ValueError("of the job")

    with listener() as server:
        assert guarded(address(server), lambda: 3) == 3
        with pytest.raises(ValueError, match="of the job"):
            guarded(address(server), fails)


def test_a_server_that_goes_away_ends_the_wait(impatient: None):
    never, server = threading.Event(), listener()
    threading.Timer(0.3, server.close).start()
    begun = time.monotonic()
    with pytest.raises(AfterwordError, match="went away"):
        guarded(address(server), never.wait, gone_seconds=0.3)
    assert 0.5 < time.monotonic() - begun < 5
    never.set()


def test_a_break_that_is_short_enough_is_waited_for(impatient: None):
    server, over = listener(), threading.Event()
    at, again = server.getsockname(), []

    def restart() -> None:
        server.close()
        time.sleep(0.3)
        again.append(socket.create_server(at))
        time.sleep(0.5)
        over.set()

    threading.Timer(0.2, restart).start()
    assert guarded(address(server), over.wait, gone_seconds=2) is True
    again[0].close()


def logs(folder: Path) -> Path:
    folder.mkdir()
    made = [sys.executable, "-m", "pipeline.cli", "simulate", "--out", folder, "--turns", "3000", "--users", "60"]
    more = ["--days", "2", "--seed", "5", "--wishes", "300"]
    subprocess.run([*map(str, made), *more], cwd=ROOT, check=True, capture_output=True)
    return folder / "logs"


class Server:
    """Beam's own job server, in a process that can be killed; workers are threads of the command."""

    def __init__(self, folder: Path, name: str) -> None:
        self.at = nobody()
        self.log = (folder / f"{name}.log").open("w")
        module = "apache_beam.runners.portability.local_job_service_main"
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, "--port", self.at.rpartition(":")[2]],
            stdout=self.log,
            stderr=self.log,
            cwd=folder,
        )

    def __enter__(self) -> Server:
        until = time.monotonic() + 60
        host, port = self.at.split(":")
        while socket.socket().connect_ex((host, int(port))):
            assert self.process.poll() is None and time.monotonic() < until, "the job server did not start"
            time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()


def command(source: Path, out: Path, at: str) -> subprocess.Popen[str]:
    run = [sys.executable, "-m", "pipeline.cli", "run", "--input", source, "--format", "canonical", "--out", out]
    beam = ["--runner=PortableRunner", f"--job_endpoint={at}", "--environment_type=LOOPBACK"]
    return subprocess.Popen(
        [*map(str, run), "--", *beam],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )


def released(out: Path) -> dict[str, bytes]:
    found = (out / "releases").rglob("*")
    return {str(path.relative_to(out)): path.read_bytes() for path in found if path.is_file()}


def ends(run: subprocess.Popen[str], seconds: float) -> str:
    """What a run said, which must end within that time."""
    try:
        return run.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        run.kill()
        pytest.fail(f"the command still waits after {seconds:g} s:\n{run.communicate()[0][-2000:]}")


def until(holds: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@pytest.mark.long
def test_17_a_job_server_killed_in_mid_run_fails_clean_and_a_rerun_gives_the_same_bytes(tmp_path: Path):
    source, out, whole = logs(tmp_path / "made"), tmp_path / "out", tmp_path / "whole"
    (tmp_path / "out").mkdir()
    (out / "CURRENT").write_text("the one before\n")
    with Server(tmp_path, "killed") as server:
        run = command(source, out, server.at)
        until(lambda: (out / "stages" / "ingest").exists() or run.poll() is not None, 120)
        server.process.kill()
        server.process.wait()
        said = ends(run, 60)
    assert run.returncode == 1, said
    assert "job server" in said and server.at in said and "Traceback" not in said
    assert (out / "CURRENT").read_text() == "the one before\n" and not released(out)

    (out / "CURRENT").unlink()
    with Server(tmp_path, "new") as server:
        for folder in (out, whole):
            run = command(source, folder, server.at)
            said = ends(run, 300)
            assert run.returncode == 0, said
    assert released(out) == released(whole) != {}


def test_17_an_endpoint_where_nobody_listens_ends_the_command(tmp_path: Path):
    (tmp_path / "logs").mkdir()
    line = '{"user_id": "u1", "event_time": "2026-03-01T09:30:00Z", "utterance": "play jazz", "response": "Playing"}\n'
    (tmp_path / "logs" / "a.jsonl").write_text(line)
    at = nobody()
    run = command(tmp_path / "logs", tmp_path / "out", at)
    said = ends(run, 60)
    assert run.returncode == 1, said
    assert f"--job_endpoint={at}: no job server listens there" in said and "Traceback" not in said
    assert not (tmp_path / "out" / "CURRENT").exists()
