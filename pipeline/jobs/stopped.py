"""A job that works elsewhere, on Dataflow or behind a job server, ends with the command that sent it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from pipeline.errors import Superseded

# Seconds in which a job that is on its way to its service arrives there: it has no name before that to cancel it by.
SENDING_SECONDS: Final = 60.0
T = TypeVar("T")


def apart(work: Callable[[], T]) -> Future[T]:
    """Begin work in a thread of its own: what stops the command stops the wait for it, and not the work halfway."""
    done: Future[T] = Future()
    threading.Thread(target=_fill, args=(done, work), name="job", daemon=True).start()
    return done


def send(sent: Future[T], submit: Callable[[], T]) -> T:
    """Send a job, unless the command was stopped before; gives, and keeps in `sent`, what the runner has of it.

    Raises
    ------
    KeyboardInterrupt
        If the command was stopped.
    """
    if not sent.set_running_or_notify_cancel():
        raise KeyboardInterrupt
    _fill(sent, submit)
    return sent.result()


@contextmanager
def cancelled_when_stopped(sent: Future[Any], note: Callable[[str], None]) -> Iterator[None]:
    """Cancel a job where the command is stopped meanwhile, from the keyboard, or by SIGTERM as schedulers do it.

    One that is being sent is cancelled when it has arrived, one that is not yet sent never is. Not where another run
    may have taken up its work.

    Parameters
    ----------
    sent : concurrent.futures.Future of apache_beam.runners.runner.PipelineResult
        The job, as `send` keeps it.
    note : callable
        Told of a job that could not be cancelled.
    """
    try:
        with _terminated():
            yield
    except Superseded:
        sent.cancel()
        raise
    except KeyboardInterrupt:
        if not sent.cancel():
            _cancel(sent, note)
        raise


def _cancel(sent: Future[Any], note: Callable[[str], None]) -> None:
    """Cancel a job that was sent or is on its way; whatever its service answers, the command was stopped."""
    try:
        # What failed to be sent is no job.
        if sent.exception(SENDING_SECONDS) is None:
            sent.result().cancel()
    except Exception as error:
        note(f"its job was not cancelled ({type(error).__name__}) and may still run")


def _fill(done: Future[T], work: Callable[[], T]) -> None:
    """Do the work; what it raises is raised where the result is asked for."""
    try:
        done.set_result(work())
    except BaseException as error:
        done.set_exception(error)


@contextmanager
def _terminated() -> Iterator[None]:
    """SIGTERM as an interrupt from the keyboard, as far as this thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
