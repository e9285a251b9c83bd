"""The command `afterword` as a process: its arguments from Airflow's variables, its output, what its exit codes mean.

Imports neither Airflow nor anything of ours, and keeps to what Python 3.10 has, which Airflow's workers may run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import IO

# Stands for the day, as 2026-03-01, in paths that a variable names.
DAY = "DAY"
NOT_READY = 8
# The same again gives the same: a wrong option, unusable input, a failed gate, a release or stages that do not hold, a
# run that would cost too much.
# A log that is not complete (8) and another run at work in the output folder (10) pass.
FINAL = frozenset({2, 3, 4, 5, 7, 9})
# Lines kept of what the command said last, for the error; the task's log has all of them.
_TAIL = 40
# Airflow kills a task that has not ended 5 seconds after it was told to.
_GRACE_SECONDS = 3.0
_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Settings:
    """What the variables say.

    Attributes
    ----------
    bin : list of str
        The command itself, in the environment that it is installed in.
    input, format, out : str
        As the command takes them; `input` may hold DAY.
    options : list of str
        Arguments of every stage: `--config` and `--set`.
    ingest : list of str
        Arguments of stage ingest alone: `--gold`, and what the run may cost.
    ready : list of str or None
        What the log has to hold to be whole, `--expect` and `--marker`, which may hold DAY; None = do not wait for it.
        `afterword ready` counts no records, so stage ingest is held to it too.
    beam : list of str
        The runner and its options.
    run_id : str
        What all commands of a DAG run are one run by; empty = each is one of its own.
    metrics : str
        File for the run's figures, which may hold DAY; empty = none.
    """

    bin: list[str]
    input: str
    format: str
    out: str
    options: list[str] = field(default_factory=list)
    ingest: list[str] = field(default_factory=list)
    ready: list[str] | None = field(default_factory=list)
    beam: list[str] = field(default_factory=list)
    run_id: str = ""
    metrics: str = ""

    @staticmethod
    def read(
        variable: Callable[[str], str], sets: Sequence[str] = (), incremental: bool = False, run_id: str = ""
    ) -> Settings:
        """Settings of a run.

        Parameters
        ----------
        variable : callable
            Value of the variable `afterword_<name>`, empty where there is none.
        sets : sequence of str
            `section.key=value` of this run alone; of a key that is set twice the last holds, and these come last.
        incremental : bool
            Whether each interval goes on where the one before ended (`ingest.incremental`), unless a variable or `sets`
            say otherwise.
        run_id : str
            As `run_name` gives it.

        Raises
        ------
        ValueError
            If a variable that is needed is missing.
        """
        for name in ("input", "out"):
            if not variable(name):
                raise ValueError(f"the Airflow variable afterword_{name} is not set; see the DAG's documentation")
        options = ["--config", variable("config")] if variable("config") else []
        models = [f"models.file={variable('models')}"] if variable("models") else []
        row = ["ingest.incremental=true"] if incremental else []
        for setting in [*row, *shlex.split(variable("set")), *models, *sets]:
            options += ["--set", setting]
        gold = [part for path in shlex.split(variable("gold")) for part in ("--gold", path)]
        ready = variable("ready")
        return Settings(
            bin=shlex.split(variable("bin") or "afterword"),
            input=variable("input"),
            format=variable("format") or "canonical",
            out=variable("out").rstrip("/") or "/",
            options=options,
            ingest=[*gold, *shlex.split(variable("budget"))],
            ready=None if ready == "off" else shlex.split(ready),
            beam=shlex.split(variable("beam")),
            run_id=run_id,
            metrics=variable("metrics"),
        )

    def wait(self, start: datetime) -> list[str]:
        """The command that looks whether the day's log is complete."""
        return [*self.bin, "ready", *self._reads(start)]

    def stage(self, stage: str, start: datetime, end: datetime) -> list[str]:
        """The command of a stage, for the log of an interval.

        Stage release is called through the main job, which also writes the run's record (`<out>/runs/`), sends its
        events, and prints the closing table.
        """
        words = ["run", "--from", "release"] if stage == "release" else [stage]
        own = [*self._reads(start), *self.ingest] if stage == "ingest" else []
        if stage == "release" and self.metrics:
            own = ["--metrics", self.metrics.replace(DAY, day(start))]
        named = ["--run-id", self.run_id] if self.run_id else []
        interval = [f"release.interval_start={start.isoformat()}", f"release.interval_end={end.isoformat()}"]
        sets = [part for setting in interval for part in ("--set", setting)]
        beam = ["--", *self.beam] if self.beam else []
        return [*self.bin, *words, *own, "--out", self.out, *named, *self.options, *sets, *beam]

    def _reads(self, start: datetime) -> list[str]:
        whole = [argument.replace(DAY, day(start)) for argument in self.ready or []]
        return ["--input", self.input.replace(DAY, day(start)), "--format", self.format, *whole]


def day(moment: datetime) -> str:
    """The day of a moment, as DAY stands for it."""
    return moment.strftime("%Y-%m-%d")


def run_name(dag_id: str, run_id: str, start: datetime) -> str:
    """A run's id for the command: the same for all tasks of a DAG run and all their tries, and of no other DAG run."""
    told = hashlib.sha256(f"{dag_id} {run_id}".encode()).hexdigest()[:8]
    return f"{re.sub('[^A-Za-z0-9_-]', '-', dag_id).lstrip('-_')[:40]}-{day(start)}-{told}".lstrip("-")


def of_days(pattern: str, end: datetime, days: int) -> str:
    """A pattern that holds DAY, for the days before a moment: `--input` takes each name that stands in braces."""
    if DAY not in pattern or days < 1:
        return pattern
    begin, over = pattern.index(DAY), pattern.rindex(DAY) + len(DAY)
    named = [pattern[begin:over].replace(DAY, day(end - timedelta(days=n))) for n in range(days, 0, -1)]
    return pattern[:begin] + (f"{{{','.join(named)}}}" if len(named) > 1 else named[0]) + pattern[over:]


def _message(line: str) -> str:
    """What a line says to people, be it JSON, as AFTERWORD_LOG_FORMAT may have it."""
    try:
        told = json.loads(line)
    except ValueError:
        return line
    return str(told.get("message", line)) if isinstance(told, dict) else line


@dataclass(frozen=True)
class Done:
    """How the command ended, and the last lines of its output."""

    code: int
    output: list[str]
    errors: list[str]

    @property
    def said(self) -> str:
        """The command's own error. Other output is not passed on: a traceback may quote a log, and with it a user."""
        lines = [_message(line) for line in self.errors]
        at = [i for i, line in enumerate(lines) if line.startswith("afterword: ")]
        return "\n".join(lines[at[-1] :]) if at else "no words of its own; the task's log has its output"


class Process:
    """One call of the command, which can be stopped from another thread or a signal handler."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[str] | None = None

    def run(self, command: Sequence[str], tell: Callable[[str], None]) -> Done:
        """Run to the end; every line goes to `tell` as it comes.

        Raises
        ------
        FileNotFoundError
            If there is no such command.
        """
        output: deque[str] = deque(maxlen=_TAIL)
        errors: deque[str] = deque(maxlen=_TAIL)
        # A group of its own, so that the workers of a runner are stopped with it.
        with subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=_environment(),
            start_new_session=True,
        ) as running:
            self._running = running
            readers = [
                threading.Thread(target=_pass_on, args=(running.stdout, output, tell), daemon=True),
                threading.Thread(target=_pass_on, args=(running.stderr, errors, tell), daemon=True),
            ]
            for reader in readers:
                reader.start()
            try:
                code = _wait(running)
            except BaseException:
                self.stop()
                raise
            finally:
                for reader in readers:
                    reader.join(_GRACE_SECONDS)
                self._running = None
        return Done(code, list(output), list(errors))

    def stop(self) -> None:
        """End it and what it started: asked first, then killed."""
        running = self._running
        if running is None or running.poll() is not None:
            return
        _signal(running.pid, signal.SIGTERM)
        try:
            running.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            _signal(running.pid, signal.SIGKILL)


def _wait(running: subprocess.Popen[str]) -> int:
    """Wait with looks in between: a signal handler that stops the process has to be able to wait as well."""
    while True:
        with suppress(subprocess.TimeoutExpired):
            return running.wait(_LOOK_SECONDS)


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def _pass_on(stream: IO[str] | None, lines: deque[str], tell: Callable[[str], None]) -> None:
    for line in stream or ():
        text = line.rstrip("\n")
        lines.append(text)
        if text.strip():
            tell(text)


def _environment() -> dict[str, str]:
    """The worker's, without what belongs to its own Python, and without Airflow's settings and secrets."""
    own = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    return {k: v for k, v in os.environ.items() if k not in own and not k.startswith(("AIRFLOW", "_AIRFLOW"))}
