"""A job that works elsewhere is cancelled when its command is stopped, and left where it is another's by then."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import Future

import pytest

from pipeline.errors import Superseded
from pipeline.jobs import stopped
from pipeline.jobs.stopped import apart, cancelled_when_stopped, send


class Job:
    """A job, and how often it was cancelled."""

    def __init__(self, answers: bool = True) -> None:
        self.answers, self.cancelled = answers, 0

    def cancel(self) -> None:
        self.cancelled += 1
        if not self.answers:
            raise ConnectionError("gone")


@pytest.fixture
def sent() -> Future[Job]:
    return Future()


@pytest.fixture
def notes() -> list[str]:
    return []


def test_sigterm_cancels_what_was_sent_and_is_what_it_was_afterwards(sent: Future[Job], notes: list[str]):
    before, job = signal.getsignal(signal.SIGTERM), Job()
    with pytest.raises(KeyboardInterrupt), cancelled_when_stopped(sent, notes.append):
        assert send(sent, lambda: job) is job
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)
    assert job.cancelled == 1 and not notes
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_job_that_is_being_sent_is_cancelled_when_it_has_arrived(sent: Future[Job], notes: list[str]):
    job, taken = Job(), threading.Event()

    def submit() -> Job:
        taken.set()
        time.sleep(0.5)
        return job

    with pytest.raises(KeyboardInterrupt), cancelled_when_stopped(sent, notes.append):
        waited = apart(lambda: send(sent, submit))
        taken.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        waited.result()
    assert job.cancelled == 1 and not notes


def test_a_job_that_is_not_yet_sent_never_is(sent: Future[Job], notes: list[str]):
    jobs: list[Job] = []
    with pytest.raises(KeyboardInterrupt), cancelled_when_stopped(sent, notes.append):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        send(sent, lambda: jobs.append(Job()))
    assert not jobs and not notes


def test_it_is_told_where_a_job_did_not_take_its_end(sent: Future[Job], notes: list[str]):
    with pytest.raises(KeyboardInterrupt), cancelled_when_stopped(sent, notes.append):
        send(sent, lambda: Job(answers=False))
        raise KeyboardInterrupt
    assert notes == ["its job was not cancelled (ConnectionError) and may still run"]


def test_it_is_told_where_a_job_does_not_arrive(sent: Future[Job], notes: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stopped, "SENDING_SECONDS", 0.1)
    taken, over = threading.Event(), threading.Event()

    def submit() -> Job:
        taken.set()
        over.wait()
        return Job()

    with pytest.raises(KeyboardInterrupt), cancelled_when_stopped(sent, notes.append):
        apart(lambda: send(sent, submit))
        taken.wait()
        raise KeyboardInterrupt
    over.set()
    assert notes == ["its job was not cancelled (TimeoutError) and may still run"]


def test_of_a_job_that_failed_to_be_sent_nothing_is_said(sent: Future[Job], notes: list[str]):
    def refused() -> Job:
        raise ConnectionError("refused")

    with pytest.raises(KeyboardInterrupt), cancelled_when_stopped(sent, notes.append):
        with pytest.raises(ConnectionError):
            send(sent, refused)
        raise KeyboardInterrupt
    assert not notes


@pytest.mark.parametrize("error", [Superseded, ValueError])
def test_anothers_job_and_one_that_failed_are_left(error: type[BaseException], sent: Future[Job], notes: list[str]):
    job = Job()
    with pytest.raises(error), cancelled_when_stopped(sent, notes.append):
        send(sent, lambda: job)
        raise error
    assert job.cancelled == 0


def test_where_another_run_is_at_the_work_no_job_is_sent_any_more(sent: Future[Job], notes: list[str]):
    with pytest.raises(Superseded), cancelled_when_stopped(sent, notes.append):
        raise Superseded
    assert sent.cancelled()
