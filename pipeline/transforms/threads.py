"""Work of a DoFn at once: in the command's processes where it has some (`pipeline.processes`), else in a few threads.

Arrow, NumPy's sorts, Parquet and zstd leave the interpreter to other threads meanwhile; the rest wants processes.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from pipeline import processes
from pipeline.memory import give_back
from pipeline.monitoring import Bucket

T = TypeVar("T")


class InThreads:
    """Calls in threads, their results in the order of the calls, and never more than `threads` under way.

    As a context it ends its threads.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._pending: deque[Future[Any]] = deque()

    def call(self, function: Callable[..., T], *arguments: Any) -> Iterator[T]:
        """Begin a call; gives the results of earlier ones for which it had to wait."""
        if self._pool is None:
            yield function(*arguments)
            return
        while len(self._pending) >= self._threads:
            yield self._pending.popleft().result()
        self._pending.append(self._pool.submit(function, *arguments))

    def rest(self) -> Iterator[Any]:
        """Results of all calls that are still under way; ends the threads."""
        try:
            while self._pending:
                yield self._pending.popleft().result()
        finally:
            self.close()

    def close(self) -> None:
        """End the threads. Calls that have begun end first, others are dropped, and the results of all are lost."""
        self._pending.clear()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> InThreads:
        """The calls."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the threads, after an error too."""
        self.close()


class Threaded(beam.DoFn):
    """A DoFn with calls in threads, `self._calls`, which end with their bundle, and with one that fails."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._calls: InThreads | None = None

    def start_bundle(self) -> None:
        """Begin with nothing under way: what a failed bundle left must not leak into its retry."""
        self.teardown()
        self._calls = InThreads(self._threads)

    def teardown(self) -> None:
        """End the threads that a failed bundle left."""
        if self._calls is not None:
            self._calls.close()


class SideBySide(Threaded):
    """A DoFn that works on several elements at once; a subclass says how on one, in `work`.

    What an element gives may leave with a later one or at the bundle's end: only for what knows no windows.
    """

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self._task: bytes | None = None
        self._loaded = False
        self._far: deque[Future[Any]] = deque()
        self._waited = False

    def load(self) -> None:
        """Load what the work needs and does not change; once in each process that works."""

    def work(self, element: Any) -> list[Any]:
        """All outputs of one element. Runs beside others."""
        raise NotImplementedError

    def setup(self) -> None:
        """Keep this object as it was made for the processes, where there are some."""
        self._task = pickle.dumps(self) if processes.number() else None

    def begin(self, method: Callable[..., list[Any]], *arguments: Any) -> Iterator[Any]:
        """Begin a call of one of this object's methods; gives the outputs of earlier ones that had to be waited for."""
        if self._task is None:
            # Not before there is work: many a step has none.
            if not self._loaded:
                self.load()
                self._loaded = True
            for outputs in self._calls.call(method, *arguments):
                yield from _told(outputs)
            return
        # One more than there are processes: none is to wait for this one.
        while len(self._far) > processes.number():
            yield from self._first()
        self._far.append(processes.submit(self._task, method.__name__, *arguments))

    def _first(self) -> Iterator[Any]:
        """Outputs of the call that was begun first, waited for."""
        if not self._waited:
            # What the steps before this one took in this process, the others may want meanwhile.
            give_back()
            self._waited = True
        yield from _told(processes.result(self._far.popleft()))

    def start_bundle(self) -> None:
        """Begin with nothing under way, and nothing waited for."""
        super().start_bundle()
        self._waited = False

    def teardown(self) -> None:
        """End what a failed bundle left, in threads and in processes."""
        super().teardown()
        for begun in self._far:
            begun.cancel()
        wait(self._far)
        self._far.clear()

    def process(self, element: Any) -> Iterator[Any]:
        """Begin an element."""
        yield from self.begin(self.work, element)

    def finish_bundle(self) -> Iterator[Any]:
        """What is still under way."""
        for outputs in self._calls.rest():
            yield from map(at_end, _told(outputs))
        while self._far:
            yield from map(at_end, self._first())


def _told(outputs: list[Any]) -> Iterator[Any]:
    """What is for the next step; what is for the runner's pages is told it."""
    for output in outputs:
        if isinstance(output, Bucket):
            output.tell()
        else:
            yield output


def at_end(output: Any) -> Any:
    """An output, tagged or not, as the end of a bundle has to give it."""
    if isinstance(output, TaggedOutput):
        return TaggedOutput(output.tag, at_end(output.value))
    return WindowedValue(output, GlobalWindow().max_timestamp(), [GlobalWindow()])
