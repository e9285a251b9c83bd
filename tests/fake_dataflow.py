"""A Dataflow on this machine: the REST calls that Beam's runner makes, on 127.0.0.1.

A job that is sent is kept as it came. Its pipeline is fetched from where the runner staged it and run by the local
runner, unless the test wants another end.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from unittest import mock
from urllib.parse import parse_qs

from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability import common_urns, python_urns
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.dataflow import dataflow_runner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

Pipeline = beam_runner_api_pb2.Pipeline


@dataclass
class Service:
    """What was sent, and how the next jobs are to end: `ends` by stage, else they are run.

    While `held` is given and not set jobs go on running.
    """

    endpoint: str = ""
    jobs: list[dict[str, Any]] = field(default_factory=list)
    pipelines: list[Pipeline] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    asked_for: list[tuple[str, int]] = field(default_factory=list)
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    held: threading.Event | None = None

    def create(self, job: dict[str, Any]) -> dict[str, Any]:
        name = f"2026-03-01-{len(self.jobs)}"
        pipeline = Pipeline.FromString(FileSystems.open(staged(job)).read())
        self.jobs.append(job)
        self.pipelines.append(pipeline)
        stage = job["labels"]["afterword_stage"]
        if self.held is None:
            self.states[name], self.messages[name] = self.ends.get(stage) or _run(pipeline)
        else:
            self.states[name], self.messages[name] = "JOB_STATE_RUNNING", ""
            threading.Thread(target=self._later, args=(name, stage, pipeline, self.held), daemon=True).start()
        return job | {"id": name, "currentState": "JOB_STATE_PENDING"}

    def _later(self, name: str, stage: str, pipeline: Pipeline, held: threading.Event) -> None:
        held.wait()
        self.states[name], self.messages[name] = self.ends.get(stage) or _run(pipeline)

    def listed(self, name: str) -> dict[str, Any]:
        """Jobs of a name, whatever their state."""
        rows = zip(self.jobs, self.states, strict=True)
        return {"jobs": [{**self.described(i), "name": job["name"]} for job, i in rows if job["name"] == name]}

    def described(self, name: str) -> dict[str, Any]:
        return {"id": name, "currentState": self.states[name]}

    def said(self, name: str) -> dict[str, Any]:
        text = self.messages[name]
        row = {"id": "m", "time": "2026-03-01T00:00:00Z", "messageText": text, "messageImportance": "JOB_MESSAGE_ERROR"}
        return {"jobMessages": [row] if text else []}

    def of(self, stage: str) -> list[Pipeline]:
        """Pipelines of a stage's jobs, in the order in which they came."""
        told = zip(self.jobs, self.pipelines, strict=True)
        return [p for job, p in told if job["labels"]["afterword_stage"] == stage]


def staged(job: dict[str, Any]) -> str:
    """Where the runner put the pipeline of a job."""
    return str(job["environment"]["sdkPipelineOptions"]["options"]["pipelineUrl"])


def _run(pipeline: Pipeline) -> tuple[str, str]:
    """Run what a worker would run: the staged graph, with this process in the place of the image."""
    here = Pipeline.FromString(pipeline.SerializeToString())
    for environment in here.components.environments.values():
        environment.urn, environment.payload = "beam:env:embedded_python:v1", b""
        del environment.dependencies[:]
    try:
        FnApiRunner().run_via_runner_api(here, PipelineOptions([])).wait_until_finish()
    except Exception as error:
        return "JOB_STATE_FAILED", f"Traceback (most recent call last):\n{error}"
    return "JOB_STATE_DONE", ""


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._answer(service.create(self._body()))

        def do_PUT(self) -> None:
            name = self._job()
            wanted = self._body()["requestedState"]
            service.asked_for.append((name, wanted))
            service.states[name] = wanted
            self._answer(service.described(name))

        def do_GET(self) -> None:
            if named := re.search(r"/locations/us-central1/jobs\?(.*)", self.path):
                self._answer(service.listed(parse_qs(named[1])["name"][0]))
                return
            messages = "/messages" in self.path
            self._answer(service.said(self._job()) if messages else service.described(self._job()))

        def _job(self) -> str:
            found = re.search(r"/locations/us-central1/jobs/([^/?]+)", self.path)
            assert found, self.path
            return found[1]

        def _body(self) -> dict[str, Any]:
            body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            return body

        def _answer(self, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def dataflow() -> Iterator[Service]:
    """The service, until the block ends. Beam's runner waits 5 s between two looks at a job; here it does not."""
    service = Service()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(service))
    service.endpoint = f"http://localhost:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hurried = SimpleNamespace(time=time.time, sleep=lambda _: time.sleep(0.01))
    try:
        with mock.patch.object(dataflow_runner, "time", hurried):
            yield service
    finally:
        server.shutdown()
        server.server_close()


def stages(pipeline: Pipeline) -> set[str]:
    """Top-level names of a graph's transforms."""
    return {t.unique_name.split("/")[0] for t in pipeline.components.transforms.values()}


def functions(pipeline: Pipeline) -> list[bytes]:
    """Pickled functions of a graph's ParDos; some of Beam's own travel by name alone."""
    found = []
    for transform in pipeline.components.transforms.values():
        if transform.spec.urn == common_urns.primitives.PAR_DO.urn:
            function = beam_runner_api_pb2.ParDoPayload.FromString(transform.spec.payload).do_fn
            if function.urn == python_urns.PICKLED_DOFN_INFO:
                found.append(function.payload)
    return found
