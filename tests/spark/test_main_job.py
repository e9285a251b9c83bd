"""The main job, unchanged, on embedded Spark."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from bench.spark_cluster import ROOT, Spark, processes
from tests.spark.command import CALLS, ended, released, run, started, states

pytestmark = pytest.mark.spark

TWO_PROCESSES = ["--runner=FnApiRunner", "--direct_running_mode=multi_processing", "--direct_num_workers=2"]


def test_real_calls_give_the_same_bytes_on_spark_and_on_local_processes(local: Path, embedded: Spark, tmp_path: Path):
    for name, options in {"processes": TWO_PROCESSES, "spark": embedded.beam}.items():
        code, said = run("--input", CALLS, "--format", "dstc", "--out", tmp_path / name, beam=options)
        assert code == 0, said
    wanted = released(local)
    assert any(path.endswith("manifest.json") for path in wanted)
    assert any(path.endswith(".parquet") for path in wanted)
    assert released(tmp_path / "processes") == wanted
    assert released(tmp_path / "spark") == wanted


@pytest.fixture
def no_rows(tmp_path: Path) -> Path:
    source = tmp_path / "logs"
    source.mkdir()
    (source / "none.jsonl").touch()
    return source


@pytest.mark.parametrize("runner", ["processes", "embedded", "cluster"])
def test_17_no_input_rows_end_on_spark_as_on_the_local_runner(
    runner: str, no_rows: Path, tmp_path: Path, request: pytest.FixtureRequest
):
    beam = TWO_PROCESSES if runner == "processes" else request.getfixturevalue(runner).beam
    arguments = ("--input", no_rows, "--format", "canonical", "--out")
    code, said = run(*arguments, tmp_path / "local")
    assert code == 3, said
    assert run(*arguments, tmp_path / "there", beam=beam)[0] == code
    assert released(tmp_path / "there") == released(tmp_path / "local") == {}


def test_beams_own_spark_runner_starts_the_jar_and_leaves_no_server_behind(jars: None, no_rows: Path, tmp_path: Path):
    jar = ROOT / ".spark" / "job-server.jar"
    beam = ["--runner=SparkRunner", f"--spark_job_server_jar={jar}", "--spark_master_url=local[2]"]
    code, said = run("--input", no_rows, "--format", "canonical", "--out", tmp_path / "out", beam=beam)
    assert code == 3, said
    assert "holds no usable turn" in said
    assert not [p for p in processes().values() if str(jar) in p.command]


def test_a_command_that_is_stopped_cancels_its_job(embedded: Spark, tmp_path: Path):
    arguments = ("ingest", "--input", CALLS, "--format", "dstc", "--out", tmp_path / "out")
    command, until = started(*arguments, beam=embedded.beam), time.monotonic() + 120
    # As early as may be: the server has the job by then, and the command mostly has no answer yet.
    while "RUNNING" not in states(embedded.endpoint):
        assert command.poll() is None and time.monotonic() < until
    command.send_signal(signal.SIGTERM)
    code, said = ended(command)
    assert code == 130, said
    assert said.splitlines()[-1] == "afterword: stopped; the last release stays current"
    found = states(embedded.endpoint)
    assert "CANCELLED" in found and "RUNNING" not in found
