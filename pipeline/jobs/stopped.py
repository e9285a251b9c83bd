"""A job that works elsewhere, on Dataflow or behind a job server, ends with the command that sent it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pipeline.errors import Superseded


@contextmanager
def cancelled_when_stopped(sent: list[Any]) -> Iterator[None]:
    """Cancel jobs where the command is stopped meanwhile, from the keyboard, or by SIGTERM as schedulers do it.

    Not where another run may have taken up its work.

    Parameters
    ----------
    sent : list of apache_beam.runners.runner.PipelineResult
        Jobs; they are put in as they are sent.
    """
    try:
        with _terminated():
            yield
    except Superseded:
        raise
    except KeyboardInterrupt:
        # Whatever the service answers, what is told is that the command was stopped.
        for job in sent:
            with suppress(Exception):
                job.cancel()
        raise


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
