from __future__ import annotations

import errno

import apache_beam as beam
import pytest

from pipeline.config import load
from pipeline.errors import StageError, VerifyError
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
