"""A job server behind `--job_endpoint`: that it is there before a job is sent, and while it works.

Beam waits without an end for a server that has gone. Here it waits in a thread of its own, and this one looks after the
server meanwhile.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

import grpc
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions, StandardOptions
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.runners.runner import create_runner

from pipeline.errors import AfterwordError, ConfigError
from pipeline.jobs import spark
from pipeline.jobs.stopped import apart

# Seconds without an answer before a server counts as absent: a restart or a short break of the network ends sooner.
START_SECONDS: Final = 5.0
GONE_SECONDS: Final = 10.0
_TRY_SECONDS: Final = 2.0
_PAUSE: Final = 0.5
T = TypeVar("T")
_LOST: Final = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.NOT_FOUND})


def job_endpoint(options: PipelineOptions) -> str | None:
    """The `host:port` that jobs are sent to; None where the runner has none. A server of the runner's own is started.

    Raises
    ------
    ConfigError
        For an endpoint that is not `host:port`.
    AfterwordError
        If the runner's own server does not start.
    """
    endpoint = options.view_as(PortableOptions).job_endpoint
    runner = options.view_as(StandardOptions).runner
    if spark.starts_server(options):
        return spark.start_server(create_runner(runner), options)
    if not endpoint or endpoint == "embed" or not isinstance(create_runner(runner), PortableRunner):
        return None
    if not endpoint.rpartition(":")[2].isdecimal() or not endpoint.rpartition(":")[0]:
        raise ConfigError(f"--job_endpoint={endpoint}: host:port is wanted, as of a job server")
    return str(endpoint)


def guarded(endpoint: str, work: Callable[[], T], gone_seconds: float = GONE_SECONDS) -> T:
    """What `work` gives, or raises.

    Parameters
    ----------
    endpoint : str
        `host:port` of the server that the work waits for.
    work : callable
        Sends the job and waits for its end. Left behind in its thread when the server is gone.
    gone_seconds : float
        Seconds in which the server takes no connection before it counts as gone.

    Raises
    ------
    AfterwordError
        When nothing listens at the endpoint, or the server goes away, or forgets the job (it was started anew).
    """
    if not _answers_within(endpoint, START_SECONDS):
        raise AfterwordError(
            f"--job_endpoint={endpoint}: no job server listens there (tried for {START_SECONDS:g} s); start it, or name"
            " the endpoint of one that runs; the last release stays current"
        )
    done = apart(work)
    _watch(endpoint, done, gone_seconds)
    try:
        return done.result()
    except grpc.RpcError as error:
        code = getattr(error, "code", None)
        if code is None or code() not in _LOST:
            raise
        raise _gone(endpoint) from error


def _watch(endpoint: str, done: Future[T], gone_seconds: float) -> None:
    """Return when the work is done; raise when the server took no connection for so long."""
    seen = time.monotonic()
    while not _finished(done):
        if _answers(endpoint):
            seen = time.monotonic()
        elif time.monotonic() - seen >= gone_seconds and not done.done():
            raise _gone(endpoint)


def _finished(done: Future[T]) -> bool:
    """Whether the work ended within a pause."""
    try:
        done.exception(_PAUSE)
    except TimeoutError:
        return False
    return True


def _gone(endpoint: str) -> AfterwordError:
    return AfterwordError(
        f"--job_endpoint={endpoint}: the job server went away while the job ran; its log says why. Start it again, then"
        " the same command; the last release stays current"
    )


def _answers_within(endpoint: str, seconds: float) -> bool:
    """Whether the server takes a connection before that time is over."""
    until = time.monotonic() + seconds
    while not _answers(endpoint):
        if time.monotonic() >= until:
            return False
        time.sleep(_PAUSE)
    return True


def _answers(endpoint: str) -> bool:
    """Whether something takes a connection."""
    host, _, port = endpoint.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _TRY_SECONDS).close()
    except OSError:
        return False
    return True
