"""The job server of `--runner=SparkRunner`: Beam starts it as a child of this process, from a jar."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from apache_beam.options.pipeline_options import (
    JobServerOptions,
    PipelineOptions,
    PortableOptions,
    SparkRunnerOptions,
    StandardOptions,
)

from pipeline import storage
from pipeline.errors import AfterwordError, ConfigError

_RUNNER: Final = "SparkRunner"
_MODULE: Final = "apache_beam.runners.portability.spark_runner"
_WAYS: Final = (
    "`make spark`, then --spark_job_server_jar=.spark/job-server.jar; or start spark/job-server and give "
    "--runner=PortableRunner --job_endpoint=127.0.0.1:8099 (docs/spark.md)"
)


def starts_server(options: PipelineOptions) -> bool:
    """Whether the runner starts a job server by itself."""
    named = str(options.view_as(StandardOptions).runner).rsplit(".", 1)[-1] == _RUNNER
    return named and not options.view_as(PortableOptions).job_endpoint


def check(options: PipelineOptions) -> None:
    """Refuse options by which Beam would download a job server, or could not start one.

    Raises
    ------
    ConfigError
        With the ways that work.
    """
    if not starts_server(options):
        return
    spark = options.view_as(SparkRunnerOptions)
    jar = spark.spark_job_server_jar
    if spark.spark_submit_uber_jar:
        raise ConfigError(f"--spark_submit_uber_jar wants a jar of all classes, which is not made here: {_WAYS}")
    if not jar:
        raise ConfigError(f"--runner={_RUNNER} alone tries to download a job server: {_WAYS}")
    if not storage.is_local(jar):
        raise ConfigError(f"--spark_job_server_jar={jar} would be downloaded: name a file of this machine; {_WAYS}")
    if not Path(jar).is_file():
        raise ConfigError(f"--spark_job_server_jar={jar}: no such file: {_WAYS}")
    launcher = options.view_as(JobServerOptions).job_server_java_launcher
    if shutil.which(launcher) is None:
        raise ConfigError(f"--runner={_RUNNER}: {launcher} is not there; a Java 17 is wanted (docs/spark.md)")


def start_server(runner: Any, options: PipelineOptions) -> str:
    """Start the runner's job server, or find the one that an earlier pipeline of this process started.

    Returns
    -------
    str
        Its `host:port`. Beam keeps it to itself, but a server that dies is to be noticed (`endpoint.guarded`).

    Raises
    ------
    AfterwordError
        If it does not start.
    """
    server = runner.default_job_server(options)
    try:
        server.start()
    except RuntimeError as error:
        jar = options.view_as(SparkRunnerOptions).spark_job_server_jar
        raise AfterwordError(
            f"--spark_job_server_jar={jar} did not start ({error}): `java -jar {jar}` says why; the last release stays "
            "current"
        ) from error
    return f"localhost:{server._job_server._server._port}"


def stop_servers() -> None:
    """Stop what `start_server` started. Beam does so when the interpreter ends, which the command cuts short."""
    if _MODULE not in sys.modules:
        return
    for server in sys.modules[_MODULE].JOB_SERVER_CACHE.values():
        with suppress(Exception):
            server.stop()
