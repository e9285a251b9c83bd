"""Errors of workers, as this process would have raised them.

A runner passes on what went wrong in a worker as the text of a traceback. What is ours in it, and what the store said
(no space left, no such file), is told as itself; a job server's stack is told in a line; anything else stays what the
runner raised.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pipeline import errors

# Beam names the transform at the end of the message.
_STEP: Final = re.compile(r" \[while running [^\n]*\]$")
_OURS: Final = re.compile(r"^pipeline\.errors\.(\w+Error): (.*?)(?: \[while running [^\n]*\])?$", re.MULTILINE)
_OF_SYSTEM: Final = re.compile(
    r"^(?:\w+\.)*\w+Error: \[Errno (\d+)\] ([^\n:]*)(?:: '([^\n']*)')?(?: \[while running [^\n]*\])?$", re.MULTILINE
)

# A job server's word that a job failed; the server's own stack follows.
_OF_SERVER: Final = re.compile(r"^Pipeline \S+ failed in state (\w+)")
_RAISED: Final = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception))\b", re.MULTILINE)

# Where Beam's client repeats what a job server says, and what it threw: the class by its whole name, mostly a stack.
_SERVER_LOG: Final = logging.getLogger()
_THROWN: Final = re.compile(r"(?:[a-z]\w*\.)+[A-Z][\w$]*(?:Exception|Error)(?:[:\s]|$)|.*\n\tat ", re.DOTALL)

# Beam's loggers that give a worker's traceback.
_TELL: Final = ("apache_beam.runners.common", "apache_beam.runners.worker.sdk_worker")


@contextmanager
def failures() -> Iterator[None]:
    """Raise what a runner wraps as what it was in the worker.

    Raises
    ------
    AfterwordError
        Of the class that was raised in a worker.
    OSError
        With the number and the file that the system named there.
    """
    loggers = [logging.getLogger(name) for name in _TELL]
    for logger in loggers:
        logger.addFilter(_unforeseen)
    _SERVER_LOG.addFilter(_not_thrown)
    try:
        yield
    except errors.AfterwordError as error:
        raise type(error)(_STEP.sub("", str(error))) from error
    except Exception as error:
        told = cause(str(error)) or _of_server(str(error))
        if told is None:
            raise
        raise told from error
    finally:
        for logger in loggers:
            logger.removeFilter(_unforeseen)
        _SERVER_LOG.removeFilter(_not_thrown)


def _of_server(text: str) -> errors.AfterwordError | None:
    """What a job server says of a job that failed, in a line: the kind of the error, as its words may quote a log."""
    found = _OF_SERVER.match(text)
    if found is None:
        return None
    kinds = _RAISED.findall(text[found.end() :])
    raised = f" ({kinds[-1]})" if kinds else ""
    return errors.AfterwordError(
        f"the job server ended the job in state {found[1]}{raised}: a worker was lost, or raised what was not "
        "foreseen; the server's log has it whole. The last release stays current; run the same again"
    )


def _not_thrown(record: logging.LogRecord) -> bool:
    """Whether it is no exception of a job server: up to a hundred lines, which may quote a log and stand in its own."""
    return _THROWN.match(record.getMessage()) is None


def _unforeseen(record: logging.LogRecord) -> bool:
    """Whether an error is worth its traceback: ours say themselves what was wrong."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, errors.AfterwordError) and "pipeline.errors." not in record.getMessage()


def cause(text: str) -> errors.AfterwordError | OSError | None:
    """The last error of ours, or else of the system, in the text of a traceback."""
    for name, message in reversed(_OURS.findall(text)):
        kind = getattr(errors, name, None)
        if kind is not None:
            return kind(message)  # type: ignore[no-any-return]
    for number, message, path in reversed(_OF_SYSTEM.findall(text)):
        return OSError(int(number), message.strip(), path or None)
    return None
