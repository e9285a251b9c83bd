"""Readers, found by the name given to `--format`."""

from __future__ import annotations

from pipeline.errors import ConfigError
from pipeline.readers.base import Batch, Reader
from pipeline.readers.canonical import CanonicalReader
from pipeline.readers.dstc import DstcReader

_READERS: dict[str, type[Reader]] = {r.name: r for r in (CanonicalReader, DstcReader)}


def names() -> list[str]:
    """Formats that can be read."""
    return sorted(_READERS)


def reader(name: str) -> Reader:
    """The reader of a format.

    Raises
    ------
    ConfigError
        If there is none of that name.
    """
    if name not in _READERS:
        raise ConfigError(f"--format {name}: no such reader; there are: {', '.join(names())}")
    return _READERS[name]()


__all__ = ["Batch", "Reader", "names", "reader"]
