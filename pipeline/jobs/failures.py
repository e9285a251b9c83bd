"""Errors of workers, as this process would have raised them.

A runner passes on what went wrong in a worker as the text of a traceback. What is ours in it, and what the store said
(no space left, no such file), is told as itself; anything else stays what the runner raised.
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
    try:
        yield
    except errors.AfterwordError as error:
        raise type(error)(_STEP.sub("", str(error))) from error
    except Exception as error:
        told = cause(str(error))
        if told is None:
            raise
        raise told from error
    finally:
        for logger in loggers:
            logger.removeFilter(_unforeseen)


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
