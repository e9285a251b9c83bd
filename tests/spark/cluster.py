"""A standalone Spark cluster on this machine: a master, two workers, and a job server that sends to it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """A port with two free ones after it, as far as can be told."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Cluster:
    """Processes that end together; `options` sends a job there, its SDK workers are processes of the executors."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.master, self.jobs = free_port(), free_port()
        boot = json.dumps({"command": str(ROOT / "spark" / "boot")})
        self.options = [
            "--runner=PortableRunner",
            f"--job_endpoint=127.0.0.1:{self.jobs}",
            "--environment_type=PROCESS",
            f"--environment_config={boot}",
            "--environment_cache_millis=600000",
        ]

    def __enter__(self) -> Cluster:
        self.start("cluster", "master", str(self.master))
        self.wait_for(self.master)
        for name in ("one", "two"):
            self.start("cluster", "worker", str(self.master), str(self.folder / name), "1", "2g")
        self.start("job-server", str(self.jobs), f"spark://127.0.0.1:{self.master}")
        self.wait_for(self.jobs)
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, program: str, *arguments: str) -> None:
        """Start one of the programs of spark/."""
        ours = {
            "AFTERWORD_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "SPARK_ARTIFACTS": str(self.folder / "artifacts"),
        }
        with (self.folder / "log").open("ab") as log:
            command = [str(ROOT / "spark" / program), *arguments]
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | ours))

    def wait_for(self, port: int) -> None:
        """Wait until the process started last listens."""
        until = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if self.processes[-1].poll() is not None or time.monotonic() > until:
                pytest.fail(f"a part of the cluster did not start:\n{(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.2)
