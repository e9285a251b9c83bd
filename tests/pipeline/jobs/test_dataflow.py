"""Jobs on Dataflow, up to the edge of the network: what is sent, and what becomes of a job that ends badly."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import StandardOptions
from fake_dataflow import Pipeline, stages
from google.cloud.dataflow import JobState
from on_dataflow import IMAGE, cloud, options, run, upload
from synthetic import SETTINGS, afterword

from pipeline import storage
from pipeline.config import load
from pipeline.errors import ConfigError
from pipeline.jobs import remote
from pipeline.jobs.context import Context, pipeline_options
from pipeline.workspace import Workspace

ARGS = (
    "--runner=DataflowRunner",
    "--project=my-project",
    "--region=us-central1",
    "--temp_location=gs://afterword/tmp",
    f"--sdk_container_image={IMAGE}",
)


def test_the_options_of_a_job_pass_and_its_shuffle_is_native():
    context = Context(Workspace("gs://afterword/out"), load(None, []), list(ARGS))
    assert context.shuffle_mode == "native" and context.threads == 1
    assert context.options.view_as(StandardOptions).runner == "DataflowRunner"


@pytest.mark.parametrize("left_out", range(1, len(ARGS)))
def test_a_missing_option_is_told_before_anything_is_read(left_out: int):
    name = ARGS[left_out].partition("=")[0]
    with pytest.raises(ConfigError, match=name):
        pipeline_options([a for k, a in enumerate(ARGS) if k != left_out])


@pytest.mark.parametrize("local", ["--input", "--out"])
def test_a_path_that_workers_do_not_see_is_refused(local: str, tmp_path: Path, capsys):
    paths = {"--input": "gs://afterword/log", "--out": "gs://afterword/out"} | {local: str(tmp_path)}
    given = [part for pair in paths.items() for part in pair]
    assert afterword("run", *given, *SETTINGS, "--", *ARGS) == 2
    assert f"{local} {tmp_path}: Dataflow's workers do not see" in capsys.readouterr().err


def test_names_and_labels_are_such_as_dataflow_takes():
    chosen = pipeline_options([*ARGS, "--labels=team=nlu", "--job_name=nightly"])
    remote.name_job(chosen, "ingest", "20260301T093000Z-ab12cd", 3)
    told = chosen.get_all_options()
    assert told["job_name"] == "nightly-ingest-20260301t093000z-ab12cd-3"
    assert told["labels"] == ["team=nlu", "afterword_run=20260301t093000z-ab12cd", "afterword_stage=ingest"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("state", "said"), [("JOB_STATE_FAILED", "Quota CPUS exceeded in us-central1"), ("JOB_STATE_CANCELLED", "")]
)
def test_a_job_that_ends_badly_ends_the_command_and_the_old_release_stays(
    state: str, said: str, log: Path, released: Path, capsys
):
    with cloud() as (bucket, service):
        upload(log, f"{bucket}/log")
        upload(released, f"{bucket}/out")
        before = storage.read_bytes(f"{bucket}/out/CURRENT")
        service.ends["signals"] = (state, said)
        assert run(bucket, service) == 1
        told = capsys.readouterr().err.splitlines()[-1]
        jobs = [p for p in storage.sizes(f"{bucket}/out/runs") if p.endswith("/jobs.json")]
        kept = json.loads(storage.read_bytes(jobs[0]))
        assert storage.read_bytes(f"{bucket}/out/CURRENT") == before
    assert [j["labels"]["afterword_stage"] for j in service.jobs] == ["ingest", "signals"]
    assert f"in state {state.removeprefix('JOB_STATE_')}" in told and said in told and "last release stays" in told
    assert kept[1]["job_id"] in told and kept[1]["job_name"] in told
    assert [(row["stage"], row["job_id"]) for row in kept] == list(
        zip(["ingest", "signals"], service.states, strict=True)
    )


def test_what_a_worker_raised_ends_the_command_with_its_own_exit_code(log: Path, capsys):
    with cloud() as (bucket, service):
        upload(log, f"{bucket}/log")
        trace = 'Traceback (most recent call last):\n  File "x.py"\npipeline.errors.StageError: a/b: damaged\n'
        service.ends["ingest"] = ("JOB_STATE_FAILED", trace)
        assert run(bucket, service) == 7
    assert capsys.readouterr().err.splitlines()[-1] == "afterword: a/b: damaged"


@pytest.mark.parametrize("at_work", [True, False], ids=["at work", "not yet answered for"])
def test_a_command_that_is_stopped_cancels_its_job(at_work: bool, log: Path, monkeypatch):
    with cloud() as (bucket, service):
        upload(log, f"{bucket}/log")
        # It would run for ever.
        service.ends["ingest"] = ("JOB_STATE_RUNNING", "")
        create = service.create

        def created(job):
            answer = create(job)
            threading.Timer(1.0 if at_work else 0.0, os.kill, (os.getpid(), signal.SIGTERM)).start()
            time.sleep(0.0 if at_work else 1.0)
            return answer

        monkeypatch.setattr(service, "create", created)
        before = signal.getsignal(signal.SIGTERM)
        assert run(bucket, service) == 130
        assert signal.getsignal(signal.SIGTERM) == before
        assert service.asked_for == [(next(iter(service.states)), JobState.JOB_STATE_CANCELLED)]


@pytest.mark.parametrize("data", [b"", b"\n{bad\n"])
def test_17_no_input_rows_on_dataflow_are_refused_and_nothing_is_released(data: bytes, capsys):
    with cloud() as (bucket, service):
        storage.write_bytes(f"{bucket}/log/a.jsonl", data)
        assert run(bucket, service) == 3
        assert "the input holds no usable turn: 1 file(s)" in capsys.readouterr().err
        left = storage.sizes(f"{bucket}/out")
    assert [job["labels"]["afterword_stage"] for job in service.jobs] == ["ingest"]
    assert not [path for path in left if "/releases/" in path or path.endswith(("CURRENT", "stage.json"))]


def test_a_template_is_written_and_the_stage_is_not_taken_for_done(released: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    out = tmp_path / "out"
    shutil.copytree(released, out)
    places = [f"--{n}={tmp_path}/{n}" for n in ("temp_location", "staging_location")]
    for name in ("temp_location", "staging_location"):
        (tmp_path / name).mkdir()
    args = [
        *(a for a in ARGS if "temp_location" not in a),
        *places,
        f"--template_location={tmp_path}/signals.json",
        "--sdk_location=container",
        "--no_auth",
        "--dataflow_endpoint=http://localhost:1",
    ]
    call = ("signals", "--out", out, "--", *args)
    assert afterword(*call) == 2
    assert "stage signals of" in (said := capsys.readouterr().err) and "is done" in said
    assert (out / "stages" / "signals" / "stage.json").exists()
    shutil.rmtree(out / "stages" / "signals")
    assert afterword(*call) == 0
    assert "its first job was built (--template_location=" in capsys.readouterr().err
    assert afterword("run", "--from", "signals", *call[1:]) == 2
    assert "is of one stage" in capsys.readouterr().err
    job = json.loads((tmp_path / "signals.json").read_text())
    assert job["environment"]["workerPools"][0]["workerHarnessContainerImage"] == IMAGE
    pipeline = Pipeline.FromString((tmp_path / "staging_location" / "pipeline.pb").read_bytes())
    assert {"Create", "Signals", "WriteCounts"} <= stages(pipeline)
    assert not (out / "stages" / "signals" / "stage.json").exists()


def test_a_dry_run_sends_nothing(released: Path, tmp_path: Path):
    shutil.copytree(released, tmp_path / "out")
    with cloud() as (bucket, service):
        args = [*options(bucket, service), "--dry_run=True"]
        shutil.rmtree(tmp_path / "out" / "stages" / "signals")
        assert afterword("signals", "--out", tmp_path / "out", "--", *args) == 0
        assert service.jobs == []
