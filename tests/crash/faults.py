"""Faults at the points where a write becomes lasting: the bytes, the flush to the disk, the rename.

Only `pipeline.storage` is disturbed, through what it calls: `os.fsync`, `os.replace`, and the file it opens to write.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

WRITE, FSYNC, RENAME = "write", "fsync", "rename"
# What a file is called until it is whole.
_TEMPORARY = re.compile(r"\.tmp-[0-9a-f]{32}-")


class Killed(BaseException):
    """The process ends here, as far as the code can tell: nothing catches it."""


def kill(undone: Callable[[], None]) -> None:
    """End at this point, with half of what was to be written."""
    undone()
    raise Killed


def disk_full(undone: Callable[[], None]) -> None:
    """The disk takes half of it, then no more."""
    undone()
    raise OSError(28, "No space left on device")


def refused(undone: Callable[[], None]) -> None:
    """The system refuses the step."""
    raise OSError(5, "Input/output error")


class Points:
    """Commit points as they are passed: (kind, path of the file that is written)."""

    def __init__(self, at: Callable[[int, str, str], bool], fault: Callable[[Callable[[], None]], None]) -> None:
        self._at, self._fault = at, fault
        self.passed: list[tuple[str, str]] = []

    def reach(self, kind: str, path: object, undone: Callable[[], None]) -> None:
        """Pass a point, or fail there."""
        number = len(self.passed)
        named = _TEMPORARY.sub("", str(path))
        self.passed.append((kind, named))
        if self._at(number, kind, named):
            self._fault(undone)


@contextmanager
def disturbed(
    at: Callable[[int, str, str], bool] = lambda number, kind, path: False,
    fault: Callable[[Callable[[], None]], None] = kill,
) -> Iterator[Points]:
    """Run what is inside with a fault at the points where `at(number, kind, path)` says so; gives the points passed."""
    points = Points(at, fault)
    replace, fsync, opened = os.replace, os.fsync, Path.open

    def replacing(source: Any, target: Any) -> None:
        points.reach(RENAME, target, lambda: None)
        replace(source, target)

    def syncing(handle: int) -> None:
        points.reach(FSYNC, Path(f"/proc/self/fd/{handle}").readlink(), lambda: None)
        fsync(handle)

    def opening(path: Path, mode: str = "r", *more: Any, **rest: Any) -> Any:
        handle = opened(path, mode, *more, **rest)
        if mode == "wb":
            write = handle.write
            handle = mock.MagicMock(wraps=handle)
            handle.__enter__.return_value = handle
            handle.__exit__.side_effect = lambda *_: handle.close()
            handle.write.side_effect = lambda data: (
                points.reach(WRITE, path, lambda: write(data[: len(data) // 2])),
                write(data),
            )
        return handle

    with (
        mock.patch.object(os, "replace", replacing),
        mock.patch.object(os, "fsync", syncing),
        mock.patch.object(Path, "open", opening),
    ):
        yield points
