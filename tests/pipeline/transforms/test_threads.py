from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.pvalue import TaggedOutput
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.testing.util import assert_that, equal_to

from pipeline import processes
from pipeline.transforms import threads as at_once
from pipeline.transforms.threads import InThreads, SideBySide


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_come_in_the_order_of_the_calls_and_all_of_them(threads: int):
    calls = InThreads(threads)
    got = [r for k in range(9) for r in calls.call(lambda k: k * k, k)]
    assert got + list(calls.rest()) == [k * k for k in range(9)]


def test_so_many_are_under_way_at_once_and_no_more():
    both, calls = threading.Barrier(2, timeout=10), InThreads(2)
    got = [r for k in range(4) for r in calls.call(lambda k: (both.wait(), k)[1], k)]
    assert got == [0, 1] and list(calls.rest()) == [2, 3]


def test_an_error_of_a_call_reaches_the_caller():
    calls = InThreads(2)
    list(calls.call(lambda: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        list(calls.rest())


def running(before: set[threading.Thread]) -> set[threading.Thread]:
    return set(threading.enumerate()) - before


def test_an_error_ends_the_threads():
    before, calls = set(threading.enumerate()), InThreads(2)
    list(calls.call(lambda: 1 / 0))
    assert running(before)
    with pytest.raises(ZeroDivisionError):
        list(calls.rest())
    assert not running(before)


def test_results_that_nobody_takes_end_the_threads_too():
    before = set(threading.enumerate())
    with InThreads(2) as calls:
        list(calls.call(int))
        list(calls.call(int))
        assert running(before)
    assert not running(before)


class Fails(SideBySide):
    def work(self, element: int) -> list[Any]:
        return [1 // element]


@pytest.mark.parametrize("last", ["start_bundle", "teardown"])
def test_a_bundle_that_fails_leaves_no_threads_behind(last: str):
    before, work = set(threading.enumerate()), Fails(2)
    work.start_bundle()
    assert list(work.process(0)) == list(work.process(1)) == []
    with pytest.raises(ZeroDivisionError):
        list(work.process(1))
    assert running(before)
    getattr(work, last)()
    assert not running(before)


class Square(SideBySide):
    def work(self, element: int) -> list[Any]:
        return [element * element, TaggedOutput("odd", element)] if element % 2 else [element * element]


@pytest.mark.parametrize("threads", [1, 2])
def test_every_output_of_a_bundle_leaves_it_tagged_ones_too(threads: int):
    with TestPipeline(runner="FnApiRunner") as pipeline:
        out = pipeline | beam.Create(range(7)) | beam.ParDo(Square(threads)).with_outputs("odd", main="squares")
        assert_that(out.squares, equal_to([k * k for k in range(7)]))
        assert_that(out.odd, equal_to([1, 3, 5]), label="odd")


def test_before_a_bundle_first_waits_for_a_process_it_gives_back_what_is_free(monkeypatch: pytest.MonkeyPatch):
    done: list[str] = []

    def submit(*_: Any) -> Future[Any]:
        done.append("begun")
        return Future()

    def result(_: Future[Any]) -> list[Any]:
        done.append("waited")
        return [1]

    monkeypatch.setattr(processes, "number", lambda: 1)
    monkeypatch.setattr(processes, "submit", submit)
    monkeypatch.setattr(processes, "result", result)
    monkeypatch.setattr(at_once, "give_back", lambda: done.append("gave back"))
    work = Square()
    work.setup()
    for _ in range(2):
        work.start_bundle()
        given = [*work.process(1), *work.process(2), *work.process(3), *work.finish_bundle()]
        assert len(given) == 3
        assert done == ["begun", "begun", "gave back", "waited", "begun", "waited", "waited"]
        done.clear()
