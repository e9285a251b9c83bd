"""A stage that is taken up where it was left: jobs on Dataflow outlive the command that sent them.

An attempt at a stage names its jobs before it sends them, in `<out>/stages/<stage>/attempt.json`. A command that is
killed outright leaves that file, the tables so far, and a job that goes on. The same command again (a retried task)
finds them, waits for the job that runs, takes those that are done as they are, and sends only what was not sent. Any
other command clears the stage and begins an attempt of its own, but not under a job that still writes there.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from pipeline import storage
from pipeline.errors import BusyError

FILE: Final = "attempt.json"
_DONE: Final = "JOB_STATE_DONE"
_CANCELLING: Final = "JOB_STATE_CANCELLING"
# Seconds that Dataflow may take to end a cancelled job's workers, and between two looks.
_CANCEL_SECONDS: Final = 900.0
_PAUSE: Final = 5.0
# A job in any other state, also in one that is not known here, may write more.
_ENDED: Final = frozenset(f"JOB_STATE_{state}" for state in ("DONE", "FAILED", "CANCELLED", "UPDATED", "DRAINED"))


@dataclass
class Attempt:
    """An attempt at a stage.

    Attributes
    ----------
    path : str
        Its file.
    identity : str
        SHA-256 of what the stage is made from: equal identities are the same work.
    token : str
        Of this attempt alone. A job's name is unique only among those that run, and another attempt's tables may have
        been cleared since.
    names : list of str
        Jobs that were named so far, sent or about to be.
    resumed : bool
        Whether an earlier command began it.
    """

    path: str
    identity: str
    token: str
    names: list[str]
    resumed: bool = False

    def name(self, first: str, stage: str, number: int) -> str:
        """Name of the attempt's next job, kept before it is sent."""
        name = f"{first}-{stage}-{self.identity[:12]}-{self.token}-{number}"
        if name not in self.names:
            self.names.append(name)
            self.keep()
        return name

    def keep(self) -> None:
        """Write it down."""
        row = {"identity": self.identity, "token": self.token, "jobs": self.names}
        storage.write_bytes(self.path, storage.readable_json(row))


def identity(*made_from: object) -> str:
    """Identity of a stage by what it is made from, as values that JSON has."""
    return storage.sha256(storage.canonical_json(made_from))


def attempt(folder: str, same: str, whole: bool, options: PipelineOptions) -> Attempt:
    """The attempt that lies in a stage's folder, where it can be taken up; else a new one, not yet written down.

    Parameters
    ----------
    folder : str
        Of the stage.
    same : str
        Identity of the work.
    whole : bool
        Whether the stage was run to its end: then it is to be run anew.
    options : PipelineOptions
        Of Dataflow.

    Raises
    ------
    BusyError
        If a job of other work still writes to the folder.
    """
    path = storage.join(folder, FILE)
    new = Attempt(path, same, uuid.uuid4().hex[:8], [])
    if not storage.exists(path):
        return new
    held = json.loads(storage.read_bytes(path))
    found = [job for name in held["jobs"] if (job := _settled(name, options)) is not None]
    states = [job.current_state.name for job in found]
    usable = found and all(state == _DONE or state not in _ENDED for state in states)
    if usable and held["identity"] == same and not whole:
        return Attempt(path, same, held["token"], held["jobs"], resumed=True)
    for job, state in zip(found, states, strict=True):
        if state not in _ENDED:
            region = options.view_as(GoogleCloudOptions).region
            raise BusyError(
                f"{folder}: job {job.id} ({job.name}) of another configuration or input still writes here; let it end, "
                f"or cancel it (gcloud dataflow jobs cancel {job.id} --region {region}), then run the same again"
            )
    return new


def _settled(name: str, options: PipelineOptions) -> Any | None:
    """The newest job of a name; of one that was cancelled, as a stopped command does it, once that has taken effect."""
    until = time.monotonic() + _CANCEL_SECONDS
    job = newest(name, options)
    while job is not None and job.current_state.name == _CANCELLING and time.monotonic() < until:
        time.sleep(_PAUSE)
        job = newest(name, options)
    return job


def newest(name: str, options: PipelineOptions) -> Any | None:
    """The job of that name that was sent last, as the service tells of it; None where there is none."""
    from google.cloud import dataflow

    cloud = options.view_as(GoogleCloudOptions)
    request = dataflow.ListJobsRequest(project_id=cloud.project, location=cloud.region, name=name)
    jobs = [job for job in _client(options)._jobs_client.list_jobs(request) if job.name == name]
    return _last(jobs)


def _last(jobs: Sequence[Any]) -> Any | None:
    return max(jobs, key=lambda job: str(job.create_time), default=None)


def left_running(name: str, options: PipelineOptions) -> Any | None:
    """What the runner would have given for a job that an earlier command sent, and that runs or is done; None else."""
    from apache_beam.runners.dataflow.dataflow_runner import DataflowPipelineResult, DataflowRunner

    job = newest(name, options)
    if job is None or not (job.current_state.name == _DONE or job.current_state.name not in _ENDED):
        return None
    runner = DataflowRunner()
    runner.dataflow_client = _client(options)
    return DataflowPipelineResult(job, runner, options)


def _client(options: PipelineOptions) -> Any:
    from apache_beam.runners.dataflow.internal.apiclient import DataflowApplicationClient

    return DataflowApplicationClient(options)
