"""The reader of the canonical form: Parquet by its first bytes, else lines of JSON."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import IO, ClassVar

from pipeline.readers.base import Batch
from pipeline.readers.canonical.lines import lines
from pipeline.readers.canonical.parquet import parquet
from pipeline.readers.stream import Prefixed


class CanonicalReader:
    """Reader `canonical`."""

    name: ClassVar[str] = "canonical"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".parquet")
    zone: ClassVar[str | None] = None

    def read(self, stream: IO[bytes], uri: str) -> Iterator[Batch]:
        """Read Parquet (by its first bytes) or lines of JSON."""
        head = stream.read(4)
        head = head.removeprefix(codecs.BOM_UTF8)
        rest = Prefixed(head, stream)
        yield from parquet(rest, uri) if head == b"PAR1" else lines(rest, uri)
