"""Rows done in this process, for the progress line only. What is counted for good is data, written with the rows."""

from __future__ import annotations

import threading

_lock = threading.Lock()
_rows = 0


def add(rows: int) -> None:
    """Count rows."""
    global _rows
    with _lock:
        _rows += rows


def reset() -> None:
    """Begin a stage."""
    global _rows
    with _lock:
        _rows = 0


def rows() -> int:
    """Rows counted since the stage began."""
    return _rows
