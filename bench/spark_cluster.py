"""A job server and a standalone Spark cluster on this machine, of `spark/`, for tests and figures."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
JARS: Final = ROOT / ".spark" / "jars"
START_SECONDS: Final = 120
# How the command lines of an executor and of an SDK worker are told.
EXECUTOR: Final = "CoarseGrainedExecutorBackend"
SDK_WORKER: Final = "spark/boot.py"
TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    """A process as the system sees it; `cpu` in seconds, with its children that have ended."""

    pid: int
    parent: int
    command: str
    cpu: float
    resident: int


def processes() -> dict[int, Process]:
    """All of this machine, by number."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # The name may hold blanks; what follows its bracket does not.
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            ticks = [int(n) / TICKS for n in stat[11:15]]
            pages = int(stat[21]) * os.sysconf("SC_PAGE_SIZE")
            pid = int(folder.name)
            found[pid] = Process(pid, int(stat[1]), command, sum(ticks), pages)
    return found


def below(roots: list[int], mark: str = "") -> list[Process]:
    """Processes that descend from some, those included, with a text in their command line."""
    all_of_them = processes()

    def descends(pid: int) -> bool:
        while pid in all_of_them:
            if pid in roots:
                return True
            pid = all_of_them[pid].parent
        return False

    return [p for pid, p in all_of_them.items() if mark in p.command and descends(pid)]


@dataclass
class Spark:
    """A job server with what it runs on."""

    endpoint: str
    beam: list[str]
    pids: list[int] = field(default_factory=list)

    def of(self, mark: str) -> list[Process]:
        """Its processes with a text in their command line."""
        return below(self.pids, mark)


@contextmanager
def local(folder: Path, threads: int = 2) -> Iterator[Spark]:
    """Embedded Spark; the workers are threads of the submitting process."""
    with _job_server(folder, f"local[{threads}]", []) as (endpoint, server):
        yield Spark(endpoint, [*_portable(endpoint), "--environment_type=LOOPBACK"], [server.pid])


@contextmanager
def standalone(folder: Path, workers: int = 2, memory: str = "2g", settings: tuple[str, ...] = ()) -> Iterator[Spark]:
    """A master, workers of one core each, and a job server; SDK workers are processes of the executors."""
    master = free_port()
    with ExitStack() as stack:
        programs = [stack.enter_context(_program(folder / "master", ["cluster", "master", str(master)]))]
        _wait_for(master, programs[0], folder / "master")
        for n in range(workers):
            command = ["cluster", "worker", str(master), str(folder / f"worker-{n}"), "1", memory]
            programs.append(stack.enter_context(_program(folder / f"worker-{n}.log", command)))
        endpoint, server = stack.enter_context(_job_server(folder, f"spark://127.0.0.1:{master}", list(settings)))
        environment = f'{{"command": "{ROOT / "spark" / "boot"}"}}'
        beam = [*_portable(endpoint), "--environment_type=PROCESS", f"--environment_config={environment}"]
        yield Spark(endpoint, [*beam, "--environment_cache_millis=30000"], [p.pid for p in (*programs, server)])


def _portable(endpoint: str) -> list[str]:
    return ["--runner=PortableRunner", f"--job_endpoint={endpoint}"]


@contextmanager
def _job_server(folder: Path, master: str, settings: list[str]) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Its endpoint and its process."""
    port = free_port()
    with _program(folder / "job-server", ["job-server", str(port), master, *settings]) as server:
        _wait_for(port, server, folder / "job-server")
        yield f"127.0.0.1:{port}", server


@contextmanager
def _program(log: Path, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program of `spark/`, stopped at the end; SDK workers run in this interpreter."""
    log.parent.mkdir(parents=True, exist_ok=True)
    ours = {
        "SPARK_ARTIFACTS": str(log.parent / "artifacts"),
        "AFTERWORD_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
    program = [str(ROOT / "spark" / command[0]), *command[1:]]
    with log.open("w") as said:
        process = subprocess.Popen(program, stdout=said, stderr=said, env=os.environ | ours)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when something listens."""
    until = time.monotonic() + START_SECONDS
    while True:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        # Not by its command line, which is empty for a moment while it begins too.
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"{log.name} did not start:\n{log.read_text()[-2000:]}")
        time.sleep(0.2)


def free_port() -> int:
    """A port that was free just now, and most likely the two after it."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
