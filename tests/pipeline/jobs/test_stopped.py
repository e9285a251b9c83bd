"""A job that works elsewhere is cancelled when its command is stopped, and left where it is another's by then."""

from __future__ import annotations

import os
import signal
import time

import pytest

from pipeline.errors import Superseded
from pipeline.jobs.stopped import cancelled_when_stopped


class Job:
    """A job, and how often it was cancelled."""

    def __init__(self, answers: bool = True) -> None:
        self.answers, self.cancelled = answers, 0

    def cancel(self) -> None:
        self.cancelled += 1
        if not self.answers:
            raise ConnectionError("gone")


def test_sigterm_cancels_what_was_sent_meanwhile_and_is_what_it_was_afterwards():
    sent: list[Job] = []
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), cancelled_when_stopped(sent):
        sent.append(Job())
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)
    assert [job.cancelled for job in sent] == [1] and signal.getsignal(signal.SIGTERM) == before


def test_an_interrupt_cancels_every_job_even_if_one_does_not_answer():
    sent = [Job(answers=False), Job()]
    with pytest.raises(KeyboardInterrupt), cancelled_when_stopped(sent):
        raise KeyboardInterrupt
    assert [job.cancelled for job in sent] == [1, 1]


@pytest.mark.parametrize("error", [Superseded, ValueError])
def test_anothers_job_and_one_that_failed_are_left(error: type[BaseException]):
    sent = [Job()]
    with pytest.raises(error), cancelled_when_stopped(sent):
        raise error
    assert sent[0].cancelled == 0
