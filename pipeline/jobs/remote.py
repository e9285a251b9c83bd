"""Jobs on Dataflow: what is wanted before one is submitted, its name and labels, and what is kept of it.

Beam's runner does the submitting. What is added here is that a job can be found again from the run that submitted it
(`<out>/runs/<run_id>/jobs.json`), and that its end is told in one line.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from apache_beam.options.pipeline_options import (
    GoogleCloudOptions,
    PipelineOptions,
    StandardOptions,
    TestOptions,
    WorkerOptions,
)
from apache_beam.runners.runner import PipelineState

from pipeline import storage
from pipeline.errors import AfterwordError, ConfigError
from pipeline.jobs.attempts import Attempt
from pipeline.jobs.failures import cause
from pipeline.warehouse.source import is_warehouse

LOCAL_RUNNER: Final = "FnApiRunner"
JOBS_FILE: Final = "jobs.json"
_RUNNER: Final = "DataflowRunner"
_WANTED: Final = ("project", "region", "temp_location")
# What a label's value may hold, and how long it may be.
_LABEL: Final = re.compile(r"[^a-z0-9_-]")
_LABEL_CHARS: Final = 63


def on_dataflow(options: PipelineOptions) -> bool:
    """Whether the jobs go to Dataflow."""
    return str(options.view_as(StandardOptions).runner).rsplit(".", 1)[-1] == _RUNNER


def check(options: PipelineOptions) -> None:
    """Refuse options that Dataflow, or its workers, would only fail with after hours of waiting.

    Raises
    ------
    ConfigError
        If one that a job needs is missing.
    """
    if not on_dataflow(options):
        return
    cloud = options.view_as(GoogleCloudOptions)
    missing = [f"--{name}" for name in _WANTED if not getattr(cloud, name)]
    if not options.view_as(WorkerOptions).sdk_container_image:
        missing.append("--sdk_container_image")
    if missing:
        raise ConfigError(f"--runner={_RUNNER}: {', '.join(missing)} wanted after -- (docs/dataflow.md)")


def reachable(options: PipelineOptions, **paths: str | None) -> None:
    """Refuse paths of this machine for jobs that run on others.

    Raises
    ------
    ConfigError
        With the argument's name.
    """
    for name, path in paths.items():
        # What is only built is seen by no worker.
        if path and on_dataflow(options) and not only_built(options) and storage.is_local(path):
            raise ConfigError(
                f"--{name} {path}: Dataflow's workers do not see paths of this machine; give one of gs://"
            )


def rooted(options: PipelineOptions, path: str) -> str:
    """A path as workers find it: those of another runner are at work in folders of their own, so it is from the root.

    On the local runner it stays as it was given, and messages name it so.
    """
    if options.view_as(StandardOptions).runner == LOCAL_RUNNER or not storage.is_local(path) or is_warehouse(path):
        return path
    return str(Path.cwd() / path)


def name_job(options: PipelineOptions, stage: str, run_id: str, number: int, attempt: Attempt | None = None) -> None:
    """Give a job the name and the labels that it is found by.

    The name is `afterword-<stage>-<what it is made from>-<attempt>-<number>`; of a job outside a stage's attempt
    `afterword-<stage>-<run id>-<number>`.
    """
    cloud = options.view_as(GoogleCloudOptions)
    run = _LABEL.sub("-", run_id.lower())[:_LABEL_CHARS]
    part = _LABEL.sub("-", stage.lower()) or "job"
    first = cloud.job_name or "afterword"
    # A job that is only built leaves nothing to come back to.
    named = attempt is not None and only_built(options) is None
    cloud.job_name = attempt.name(first, part, number) if named else f"{first}-{part}-{run}-{number}"
    cloud.labels = [*(cloud.labels or []), f"afterword_run={run}", f"afterword_stage={part}"]


def job_name(options: PipelineOptions) -> str:
    """The name that a job was given."""
    return str(options.view_as(GoogleCloudOptions).job_name)


def only_built(options: PipelineOptions) -> str | None:
    """The option by which a job is built and not run; None where it is run."""
    if on_dataflow(options) and options.view_as(GoogleCloudOptions).template_location:
        return f"--template_location={options.view_as(GoogleCloudOptions).template_location}"
    return "--dry_run" if on_dataflow(options) and options.view_as(TestOptions).dry_run else None


def keep(path: str, result: Any, stage: str, options: PipelineOptions) -> None:
    """Add a submitted job to the list of its run, before it is waited for."""
    jobs = json.loads(storage.read_bytes(path)) if storage.exists(path) else []
    cloud = options.view_as(GoogleCloudOptions)
    row = {
        "stage": stage,
        "job_id": result.job_id(),
        "job_name": cloud.job_name,
        "project": cloud.project,
        "region": cloud.region,
        "submitted": datetime.now(UTC).isoformat(),
    }
    storage.write_bytes(path, storage.readable_json([*jobs, row]))


def wait(result: Any, options: PipelineOptions) -> str:
    """Wait for a submitted job; gives its state.

    Raises
    ------
    AfterwordError
        If the job did not end well: what a worker raised, if that was ours, else the state and what Dataflow says.
    """
    from apache_beam.runners.dataflow.dataflow_runner import DataflowRuntimeException

    try:
        state: str = result.wait_until_finish()
    except DataflowRuntimeException as error:
        ours = cause(str(error))
        if ours is not None:
            raise ours from error
        said = str(error).partition("Error:\n")[2].strip()
        raise _ended(result, error.result.state, "" if said == "None" else said, options) from error
    if state != PipelineState.DONE:
        raise _ended(result, state, "", options)
    return state


def _ended(result: Any, state: str, said: str, options: PipelineOptions) -> AfterwordError:
    cloud = options.view_as(GoogleCloudOptions)
    job = result.job_id()
    return AfterwordError(
        f"Dataflow ended job {job} ({cloud.job_name}) in state {state}{f': {said}' if said else ''}; its log is at "
        f"https://console.cloud.google.com/dataflow/jobs/{cloud.region}/{job}?project={cloud.project}. "
        "The last release stays current"
    )
