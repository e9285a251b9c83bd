"""Work of a DoFn in a few threads: Arrow, NumPy's sorts, Parquet and zstd leave the interpreter to others meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

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

    def work(self, element: Any) -> list[Any]:
        """All outputs of one element. Runs in a thread, beside others."""
        raise NotImplementedError

    def process(self, element: Any) -> Iterator[Any]:
        """Begin an element."""
        for outputs in self._calls.call(self.work, element):
            yield from outputs

    def finish_bundle(self) -> Iterator[Any]:
        """What is still under way."""
        for outputs in self._calls.rest():
            yield from map(at_end, outputs)


def at_end(output: Any) -> Any:
    """An output, tagged or not, as the end of a bundle has to give it."""
    if isinstance(output, TaggedOutput):
        return TaggedOutput(output.tag, at_end(output.value))
    return WindowedValue(output, GlobalWindow().max_timestamp(), [GlobalWindow()])
