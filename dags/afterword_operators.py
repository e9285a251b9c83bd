"""Operators that call the command: a stage, the wait for a day's log, the report on a release, and new models."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from afterword_alerts import on_failure, on_quarantine
from afterword_area import STAGES, StoreError, carry, current, manifest, missing, model_file, released
from afterword_command import FINAL, NOT_READY, Done, Process, Settings, day, of_days, run_name
from airflow.sdk import BaseOperator, BaseSensorOperator, Param, Variable
from airflow.sdk.exceptions import AirflowException, AirflowFailException

# Of every task, daily and weekly.
DEFAULT_ARGS = {
    "pool": os.environ.get("AFTERWORD_POOL", "afterword"),
    "retries": 2,
    "retry_delay": timedelta(minutes=10),
    # A run that was begun is finished before the next one takes the work area.
    "weight_rule": "upstream",
    "on_failure_callback": on_failure,
}
SET = Param([], type="array", items={"type": "string"}, description="section.key=value, one a line")
INCREMENTAL = Param(
    True, type="boolean", description="go on where the day before ended: its open sessions, late events"
)


class CommandError(AirflowException):
    """The command failed, and may do better when it is tried again."""

    def __init__(self, message: str, exit_code: int, out: str, stage: str = "") -> None:
        super().__init__(message)
        self.exit_code, self.out, self.stage = exit_code, out, stage


class FinalCommandError(AirflowFailException):
    """The command failed, and would again: the task is not retried."""

    def __init__(self, message: str, exit_code: int, out: str, stage: str = "") -> None:
        super().__init__(message)
        self.exit_code, self.out, self.stage = exit_code, out, stage


class _Calls:
    """What all of them share."""

    log: Any
    _process: Process | None = None

    def call(self, command: Sequence[str], out: str, allowed: frozenset[int] = frozenset({0}), stage: str = "") -> Done:
        """Run a command, of a stage where it is one, to its end.

        Raises
        ------
        FinalCommandError, CommandError
            If it ends with a code that is not allowed, with its own words.
        """
        self.log.info("$ %s", shlex.join(command))
        self._process = Process()
        try:
            done = self._process.run(command, self.log.info)
        except OSError as error:
            message = f"{command[0]}: {error.strerror}; see variable afterword_bin"
            raise FinalCommandError(message, 2, out, stage) from None
        if done.code in allowed:
            return done
        kind = FinalCommandError if done.code in FINAL else CommandError
        raise kind(f"exit code {done.code}: {done.said}", done.code, out, stage)

    def on_kill(self) -> None:
        """Stop the command with its task."""
        if self._process is not None:
            self._process.stop()


class StageOperator(_Calls, BaseOperator):
    """One stage of the interval's log.

    Where the work area holds another day's tables, the stages before are run again first. One slot of the pool, and the
    stage with what it needs is not interleaved with another day's.
    """

    def __init__(self, *, stage: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stage = stage

    def execute(self, context: Any) -> dict[str, Any] | None:
        """Run it; stage release gives the release, and tells it to the asset's followers."""
        settings, (start, end) = self.settings(context), interval(context)
        try:
            self.prepare(settings)
            before = missing(settings.out, self.stage, start, end)
        except StoreError as error:
            raise AirflowFailException(str(error)) from None
        if before:
            self.log.warning("%s: not of %s; %s first", settings.out, day(start), ", ".join(before))
        for stage in [*before, self.stage]:
            self.call(settings.stage(stage, start, end), settings.out, stage=stage)
        return self._released(context, settings.out, start, end) if self.stage == "release" else None

    def settings(self, context: Any) -> Settings:
        """What the variables and the run's params say."""
        return settings(context)

    def prepare(self, settings: Settings) -> None:
        """What is done before the first command."""

    def _released(self, context: Any, out: str, start: datetime, end: datetime) -> dict[str, Any]:
        facts = released(out)
        told = {
            "release_id": facts["release_id"],
            "folder": f"{out}/releases/{facts['release_id']}",
            "interval_start": start.isoformat(),
            "interval_end": end.isoformat(),
            "current": current(out) == facts["release_id"],
            "quarantined": sorted(facts["quarantined"]),
        }
        for asset in self.outlets:
            context["outlet_events"][asset].extra = told
        return told | {"out": out, "quarantine": facts["quarantined"]}


class ReadySensor(_Calls, BaseSensorOperator):
    """Waits until `afterword ready` ends with 0; not ready is exit code 8."""

    def poke(self, context: Any) -> bool:
        """Look once."""
        held, (start, _) = settings(context), interval(context)
        if held.ready is None:
            self.log.info("variable afterword_ready is off: not waiting")
            return True
        return self.call(held.wait(start), held.out, frozenset({0, NOT_READY})).code == 0


class ReportOperator(_Calls, BaseOperator):
    """Proves a release from its files once more, says what changed since its parent, and alerts of quarantine."""

    def __init__(self, *, of: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.of = of

    def execute(self, context: Any) -> None:
        """Write the report to the log; the closing table stands in the log of stage release."""
        told, binary = context["ti"].xcom_pull(task_ids=self.of), settings(context).bin
        self.call([*binary, "verify", told["folder"]], told["out"])
        parent = manifest(told["out"], told["release_id"])["identity"]["parent"]
        if parent:
            self.call([*binary, "diff", parent, told["release_id"], "--out", told["out"]], told["out"])
        else:
            self.log.info("no release ends where this one begins: nothing to compare it with")
        if told["quarantine"]:
            on_quarantine(context, told["release_id"], told["quarantine"])


class TrainStageOperator(StageOperator):
    """A stage of weekly training, in an output folder of the week's own, on the input of the variable for training."""

    def settings(self, context: Any) -> Settings:
        """As `training_settings`."""
        return training_settings(context)

    def prepare(self, settings: Settings) -> None:
        """Bring what the output folder of the daily runs knows: who is forgotten, and the labels of audits."""
        if self.stage == STAGES[0] and variable("out"):
            files = carry(variable("out"), settings.out, ("tombstones", "gold"))
            self.log.info("%d files of tombstones and labels of audits taken over from %s", files, variable("out"))


class PromoteOperator(_Calls, BaseOperator):
    """Has the daily runs use a week's models from now on, unless they use a later week's already."""

    def execute(self, context: Any) -> dict[str, Any]:
        """Name the models in the variable afterword_models; gives what the asset's followers are told."""
        out = training_settings(context).out
        path, sha256 = model_file(out)
        promoted = variable("promote") != "off" and not self._later(out)
        if promoted:
            Variable.set("afterword_models", path, description="models that the daily runs judge with")
        told = {"models": path, "sha256": sha256, "promoted": promoted}
        self.log.info("%s (SHA-256 %s): %s", path, sha256, "in use from now on" if promoted else "not put in use")
        for asset in self.outlets:
            context["outlet_events"][asset].extra = told
        return told

    def _later(self, out: str) -> bool:
        """The models in use are of a later week than those in `out`."""
        root, _, week = out.rpartition("/")
        used = variable("models")
        return used.startswith(f"{root}/") and used[len(root) + 1 :].partition("/")[0] > week


def interval(context: Any) -> tuple[datetime, datetime]:
    """The run's data interval.

    Raises
    ------
    AirflowFailException
        If the run has none, as one that was triggered without a logical date.
    """
    start, end = context.get("data_interval_start"), context.get("data_interval_end")
    if start is None or end is None or start == end:
        raise AirflowFailException("this run has no data interval; trigger it with a logical date, or backfill the day")
    return start, end


def variable(name: str) -> str:
    """Value of the variable `afterword_<name>`; empty where there is none."""
    return str(Variable.get(f"afterword_{name}", default="")).strip()


def settings(context: Any) -> Settings:
    """Settings of a run.

    Raises
    ------
    AirflowFailException
        If a variable is missing.
    """
    return _read(context, variable)


def training_settings(context: Any) -> Settings:
    """Settings of a week's training: the folder has the name of the day it ends on, and no earlier models are used.

    Raises
    ------
    AirflowFailException
        If a variable is missing, or the number of days is none.
    """
    _, end = interval(context)
    days = variable("train_days") or "28"
    if not days.isdecimal() or int(days) < 1:
        raise AirflowFailException(f"the Airflow variable afterword_train_days is {days}; a number of days is wanted")
    below = f"{variable('out')}/training" if variable("out") else ""
    folder = (variable("train_out") or below).rstrip("/")
    own = {
        "input": of_days(variable("train_input") or variable("input"), end, int(days)),
        "out": folder and f"{folder}/{day(end)}",
        "models": "",
        # It says what one day has to hold.
        "ready": "",
        "set": variable("train_set") or variable("set"),
    }
    return _read(context, lambda name: own[name] if name in own else variable(name))


def _read(context: Any, value: Any) -> Settings:
    try:
        params, ti = context["params"], context["task_instance"]
        name = run_name(ti.dag_id, ti.run_id, interval(context)[0])
        return Settings.read(value, tuple(params.get("set") or ()), bool(params.get("incremental")), name)
    except ValueError as error:
        raise AirflowFailException(str(error)) from None
