"""Memory that is free and still held by this process: allocators keep it for what comes next, which may be little."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

import pyarrow as pa


def give_back() -> None:
    """Give the system what Arrow's allocator and the C library hold and nothing uses. Takes milliseconds."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        # Other C libraries than GNU's have no such call.
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).malloc_trim(0)
