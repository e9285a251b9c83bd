"""The one exception family. Each class carries the exit code that the command ends with."""

from __future__ import annotations

from typing import ClassVar


class AfterwordError(Exception):
    """An error that says what was read, where, what was wanted, and what to do."""

    exit_code: ClassVar[int] = 1


class ConfigError(AfterwordError):
    """An option or the configuration file is wrong."""

    exit_code = 2


class InputError(AfterwordError):
    """The input holds nothing that can be used."""

    exit_code = 3


class GateError(AfterwordError):
    """Counts do not close, or a gate on the whole failed; the release was not published."""

    exit_code = 4


class VerifyError(AfterwordError):
    """A release does not hold what its manifest says."""

    exit_code = 5


class PublishError(AfterwordError):
    """The release is complete but CURRENT could not be switched to it."""

    exit_code = 6


class StageError(AfterwordError):
    """A stage's inputs are missing or do not belong together; an earlier stage has to run first."""

    exit_code = 7


class NotReadyError(AfterwordError):
    """The input is not all there yet; wait and run again."""

    exit_code = 8


class BudgetError(AfterwordError):
    """The run would cost more than it may; nothing was begun."""

    exit_code = 9


class BusyError(AfterwordError):
    """Another run is at work in the output folder; wait and run again."""

    exit_code = 10


class OnlyBuilt(AfterwordError):
    """A job was built and, as was asked for, not run: the stage goes no further, and is not done."""

    exit_code = 0


def told(error: BaseException) -> str:
    """An error as it may be kept: with its words where they are ours or the system's, as others may quote a log."""
    kind = type(error).__name__
    return f"{kind}: {error}" if isinstance(error, AfterwordError | OSError) else kind


class Superseded(KeyboardInterrupt):
    """Stopped, as another run may be at its work: what it sent to a service is left to that one."""
