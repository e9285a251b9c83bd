"""What commands share before their work: the output folder, its lock, Beam's options, what the input has to hold."""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from apache_beam.io.filesystems import FileSystems

from pipeline import log, processes, storage
from pipeline.completeness.expected import read_expectations
from pipeline.completeness.ready import Wanted
from pipeline.config import load
from pipeline.errors import BusyError, ConfigError
from pipeline.jobs.context import Context, at_once, in_here, pipeline_options
from pipeline.jobs.remote import reachable, rooted
from pipeline.lease import lease
from pipeline.progress import Progress
from pipeline.publish import publisher
from pipeline.publish_stores import STORES
from pipeline.workspace import Workspace

_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def folder(path: str) -> str:
    """A folder's path without the slash at its end."""
    return path.rstrip("/") or "/"


def context(arguments: argparse.Namespace, beam_args: list[str]) -> Context:
    """The output folder with its configuration, and the runner's options."""
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    if any(c in arguments.out for c in "*?["):
        raise ConfigError(f"--out {arguments.out}: a name without * ? [ is wanted; Beam takes them for patterns")
    overrides = list(arguments.overrides)
    if arguments.timezone:
        overrides.append(f'ingest.timezone="{arguments.timezone}"')
    if getattr(arguments, "metrics", None):
        overrides.append(f"events.metrics={json.dumps(arguments.metrics)}")
    config = load(arguments.config, overrides)
    options = pipeline_options(beam_args)
    FileSystems.set_options(options)
    if getattr(arguments, "own_process", False) and in_here(options):
        # Before anything begins a thread: the files of a store are read in some.
        processes.begin(at_once(config, options))
    reachable(options, out=arguments.out, input=getattr(arguments, "input", None))
    if getattr(arguments, "input", None):
        arguments.input = rooted(options, arguments.input)
    progress = Progress(log=log.current())
    opened = Context(Workspace(rooted(options, folder(arguments.out))), config, beam_args, progress)
    opened.run_id = _named(getattr(arguments, "run_id", None)) or opened.run_id
    progress.log.run_id = opened.run_id
    return opened


def _named(run_id: str | None) -> str | None:
    """A run's id, as it may stand in a path and in a label of a job."""
    if run_id is not None and not _RUN_ID.fullmatch(run_id):
        raise ConfigError(
            f"--run-id {run_id}: up to 63 letters, digits, - _ and . are wanted, a letter or a digit first"
        )
    return run_id


def stores(beam_args: list[str]) -> None:
    """Let Beam's file systems know the options, of a command that runs no job."""
    FileSystems.set_options(pipeline_options(beam_args))


@contextmanager
def alone(out: str, command: str) -> Iterator[None]:
    """Hold an output folder's work area; two runs at once on one folder would mix their stages.

    The processes that work beside this one end before others are let in.
    """
    with _held(out, command):
        try:
            yield
        finally:
            processes.end()


@contextmanager
def _held(out: str, command: str) -> Iterator[None]:
    if not storage.is_local(out):
        with _leased(out, command):
            yield
        return
    storage.make_folder(out)
    with (Path(out) / ".work.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"{out}: another run is at work here; wait for it, or give another --out") from None
        yield


@contextmanager
def _leased(out: str, command: str) -> Iterator[None]:
    """The same on an object store; where no conditional request is known for it nothing keeps others out."""
    if out.split("://", 1)[0] not in STORES:
        yield
        return
    with lease(publisher(out), command, _note):
        yield


def _note(text: str) -> None:
    print(log.current().said("note", text), file=sys.stderr)


def wanted(arguments: argparse.Namespace) -> Wanted:
    """What the input has to hold to be whole."""
    expectations = read_expectations(arguments.expect, arguments.project) if arguments.expect else None
    return Wanted(expectations, arguments.marker)
