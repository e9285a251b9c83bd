from __future__ import annotations

import errno
import logging

import apache_beam as beam
import pytest

from pipeline.config import load
from pipeline.errors import AfterwordError, StageError, VerifyError
from pipeline.jobs.context import Context
from pipeline.jobs.failures import cause, failures
from pipeline.workspace import Workspace


def run(error: Exception) -> None:
    """A pipeline whose worker raises."""

    def work(_: int) -> int:
        raise error

    Context(Workspace("out"), load(None, [])).run(lambda p: p | beam.Create([1]) | "Work" >> beam.Map(work))


def test_an_error_of_ours_comes_back_as_itself_without_the_runners_words():
    with pytest.raises(StageError, match=r"^a/b: damaged; run it again$"):
        run(StageError("a/b: damaged; run it again"))


def test_what_the_system_said_comes_back_with_its_number_and_file():
    with pytest.raises(OSError) as caught:
        run(OSError(errno.ENOSPC, "No space left on device", "/disk/x"))
    assert (caught.value.errno, caught.value.strerror) == (errno.ENOSPC, "No space left on device")
    assert caught.value.filename == "/disk/x"


def test_any_other_error_stays_what_the_runner_raised():
    with pytest.raises(Exception, match="no such thing") as caught:
        run(ValueError("no such thing"))
    assert not isinstance(caught.value, OSError)


def test_of_several_errors_in_a_traceback_the_last_of_ours_is_the_cause():
    ours = "pipeline.errors.VerifyError: x: gone [while running 'A']"
    text = f"OSError: [Errno 5] Input/output error\n\nThe above\n\n{ours}\n"
    found = cause(text)
    assert isinstance(found, VerifyError) and str(found) == "x: gone"
    assert cause("ValueError: pipeline") is None


def test_without_an_error_nothing_happens():
    with failures():
        pass


def test_a_job_servers_stack_is_told_in_a_line_by_its_kind_alone():
    stack = "java.lang.RuntimeException: Traceback\n  File x\nValueError: words of a user\n\tat org.apache"
    with pytest.raises(AfterwordError, match=r"in state FAILED \(ValueError\)") as caught, failures():
        raise RuntimeError(f"Pipeline job-1_2 failed in state FAILED: {stack}")
    assert "words of a user" not in str(caught.value) and "\n" not in str(caught.value)


def test_an_error_of_ours_in_a_job_servers_stack_is_still_ours():
    with pytest.raises(VerifyError, match=r"^x: gone$"), failures():
        raise RuntimeError("Pipeline j failed in state FAILED: java.X\npipeline.errors.VerifyError: x: gone\n\tat a")


@pytest.mark.parametrize(
    "thrown",
    [
        "java.X: words of a user\n\tat org.apache",
        "org.apache.spark.SparkException: Job aborted: words of a user\nMost recent failure:\nnull",
        "java.lang.OutOfMemoryError",
        "org.a.Outer$InnerException\nwords of a user",
    ],
)
def test_what_a_job_server_throws_is_not_repeated(thrown: str, caplog: pytest.LogCaptureFixture):
    with failures():
        logging.error("%s", thrown)
    assert caplog.records == []
    logging.error("%s", thrown)
    assert [record.getMessage() for record in caplog.records] == [thrown]


@pytest.mark.parametrize("said", ["no executor yet", "job.jar: java.io.IOException is retried", "Error: no space"])
def test_other_words_of_a_job_server_are_repeated(said: str, caplog: pytest.LogCaptureFixture):
    with failures():
        logging.error("%s", said)
    assert [record.getMessage() for record in caplog.records] == [said]
