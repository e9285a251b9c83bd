"""The main job as a command, and what it left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import grpc
from apache_beam.portability.api import beam_job_api_pb2, beam_job_api_pb2_grpc

ROOT: Final = Path(__file__).parents[2]
DATA: Final = Path(os.environ.get("AFTERWORD_DATA", ROOT.parent / "shared" / "data"))
CALLS: Final = DATA / "dstc1_letsgo"
SECONDS: Final = 900


def started(*arguments: Any, beam: list[str] | None = None, cwd: Path = ROOT) -> subprocess.Popen[str]:
    """The command, at work; what it says is one stream."""
    command = [sys.executable, "-m", "pipeline.cli", *map(str, arguments), *(["--", *beam] if beam else [])]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, cwd=cwd, env=environment, text=True, **said)


def ended(command: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code, and what it said."""
    said, _ = command.communicate(timeout=SECONDS)
    return command.returncode, said


def run(*arguments: Any, beam: list[str] | None = None, cwd: Path = ROOT) -> tuple[int, str]:
    """The whole main job in a process of its own."""
    return ended(started("run", *arguments, beam=beam, cwd=cwd))


def states(endpoint: str) -> list[str]:
    """States of the jobs of a job server."""
    with grpc.insecure_channel(endpoint) as channel:
        asked = beam_job_api_pb2.GetJobsRequest()
        jobs = beam_job_api_pb2_grpc.JobServiceStub(channel).GetJobs(asked).job_info
    return [beam_job_api_pb2.JobState.Enum.Name(job.state) for job in jobs]


def released(out: Path) -> dict[str, bytes]:
    """Every file of the releases, by path: the release's id is a part of it."""
    return files(out, "releases")


def files(out: Path, below: str) -> dict[str, bytes]:
    """Every file below a folder of an output, by path."""
    return {str(path.relative_to(out)): path.read_bytes() for path in (out / below).rglob("*") if path.is_file()}
