"""When a program of the cluster is taken for started, and when for ended."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from bench import spark_cluster
from bench.spark_cluster import _wait_for, free_port

LISTEN = """
import socket, sys, time
time.sleep(0.3)
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(60)
"""


def test_a_program_without_a_command_line_yet_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # So the system shows a program that begins, for a moment, and one that has ended.
    bare = spark_cluster.Process(0, 0, "", 0.0, 0)
    monkeypatch.setattr(spark_cluster, "processes", lambda: defaultdict(lambda: bare))
    port = free_port()
    program = subprocess.Popen([sys.executable, "-c", LISTEN, str(port)])
    try:
        _wait_for(port, program, tmp_path / "log")
        assert program.poll() is None
    finally:
        program.kill()
        program.wait()


def test_one_that_ended_is_told_with_what_it_said(tmp_path: Path):
    log = tmp_path / "master"
    with log.open("w") as said:
        program = subprocess.Popen(["bash", "-c", "echo no memory >&2; exit 1"], stderr=said)
        with pytest.raises(RuntimeError, match="master did not start:\nno memory"):
            _wait_for(free_port(), program, log)
