"""Processes beside a command's own, which work for the local runner: what Python holds its lock for is done at once.

They are forked before the command has begun any thread, so they share what was imported, and a fork copies no lock that
a thread holds. Where that cannot be (another runner, a caller of the functions, a system whose libraries do not bear
it) there are none, and the same work is done in threads.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final

import pyarrow as pa

from pipeline import tally
from pipeline.errors import AfterwordError
from pipeline.memory import give_back

# Works that a process keeps what it has loaded for; a bundle has few.
_KEPT: Final = 4
# Seconds between two looks whether the command is still there, where the system does not tell.
_LOOK_S: Final = 0.5
_PR_SET_PDEATHSIG: Final = 1

_pool: ProcessPoolExecutor | None = None
_number = 0
# In a forked process: calls so far.
_begun = _ended = 0


def begin(number: int) -> None:
    """Fork so many, in a process that is a command's own; none where a thread was begun, or forks are not safe."""
    global _pool, _number
    if _pool is not None or number < 2 or threading.active_count() > 1 or sys.platform in ("darwin", "win32"):
        return
    sys.stdout.flush()
    sys.stderr.flush()
    # What is there now is there for good: a collection in a process would copy all its pages.
    gc.collect()
    gc.freeze()
    context = multiprocessing.get_context("fork")
    _pool, _number = ProcessPoolExecutor(number, context, initializer=_started, initargs=(os.getpid(),)), number
    # All are forked with the first call.
    _pool.submit(os.getpid).result()


def end() -> None:
    """End them, whatever they are at."""
    global _pool, _number
    held, _pool, _number = _pool, None, 0
    if held is None:
        return
    for process in list((held._processes or {}).values()):
        process.kill()
    held.shutdown(cancel_futures=True)


def number() -> int:
    """How many there are; 0 = what is to be done at once is done in threads."""
    return _number


def submit(task: bytes, method: str, *arguments: Any) -> Future[Any]:
    """Begin a method of an object that was pickled before it loaded anything; see `result`."""
    if _pool is None:
        raise RuntimeError("no processes: begin was not called, or had none")
    try:
        return _pool.submit(_worked, task, method, *arguments)
    except BrokenProcessPool:
        raise _lost() from None


def result(begun: Future[Any]) -> Any:
    """What the method gave.

    Raises
    ------
    AfterwordError
        If a process was lost.
    Exception
        What the method raised.
    """
    try:
        given, rows = begun.result()
    except BrokenProcessPool:
        raise _lost() from None
    tally.add(rows)
    return given


def _lost() -> AfterwordError:
    return AfterwordError(
        "a process of the local runner was lost (killed, mostly for want of memory: take none beside the command with "
        "--set workers.threads=1, or a smaller shuffle.bucket_bytes). The last release stays current; run the same "
        "again"
    )


def _started(parent: int) -> None:
    """In a forked process: it ends with the command, and leaves the keyboard's interrupt to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """Beside the work: end where the command has; where there is nothing to do, hold nothing for it."""
    done = 0
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
        if _begun == _ended != done:
            done = _ended
            give_back()
    os._exit(1)


@lru_cache(maxsize=_KEPT)
def _loaded(task: bytes) -> Any:
    held = pickle.loads(task)
    held.load()
    return held


def _worked(task: bytes, method: str, *arguments: Any) -> tuple[Any, int]:
    """In a forked process: what a method gives, and the rows it counted for the progress line."""
    global _begun, _ended
    before, _begun = tally.rows(), _begun + 1
    try:
        given = getattr(_loaded(task), method)(*arguments)
    finally:
        _ended += 1
    return given, tally.rows() - before


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _table(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


# Arrow's own way to pickle a slice of a table sends all that the slice was cut from.
ForkingPickler.register(pa.Table, lambda table: (_table, (_stream(table),)))
