"""Rows done in this process, for the progress line only. What is counted for good is data, written with the rows."""

from __future__ import annotations

import threading

_lock = threading.Lock()
_rows = 0
_phase = ""


def add(rows: int) -> None:
    """Count rows."""
    global _rows
    with _lock:
        _rows += rows


def reset() -> None:
    """Begin a stage."""
    global _rows, _phase
    with _lock:
        _rows, _phase = 0, ""


def say(phase: str) -> None:
    """Name what goes on now, where rows a second would tell nothing."""
    global _phase
    _phase = phase


def phase() -> str:
    """What goes on now; empty where rows are counted."""
    return _phase


def rows() -> int:
    """Rows counted since the stage began."""
    return _rows
