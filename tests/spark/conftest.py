"""Beam's Spark job server, embedded Spark with two threads."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """A port with two free ones after it, as far as can be told."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="session")
def job_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Beam's options that send a job to it; its workers are threads of the submitting process."""
    if not (ROOT / ".spark" / "jars").is_dir():
        pytest.skip(".spark/jars is absent: run make spark")
    port, folder = free_port(), tmp_path_factory.mktemp("spark")
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [ROOT / "spark" / "job-server", str(port), "local[2]"],
            stdout=log,
            stderr=log,
            env=os.environ | {"SPARK_ARTIFACTS": str(folder / "artifacts")},
        )
    try:
        until = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if server.poll() is not None or time.monotonic() > until:
                pytest.fail(f"the job server did not start:\n{(folder / 'log').read_text()[-2000:]}")
            time.sleep(0.2)
        yield ["--runner=PortableRunner", f"--job_endpoint=127.0.0.1:{port}", "--environment_type=LOOPBACK"]
    finally:
        server.terminate()
        server.wait(30)
