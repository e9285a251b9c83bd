"""How many buckets an input is cut into, told from the sizes of its files."""

from __future__ import annotations

import math
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from pipeline.readers.stream import COMPRESSIONS

# Bytes of our tables that a stored byte becomes, by rule of thumb; only the number of buckets follows from it.
_EXPANSION: Final = {"packed": 8, "plain": 1}
# What a turn with a short n-best comes to.
_ROW_BYTES: Final = 1_024


def stored_bytes(path: str, size: int) -> int:
    """Bytes that a file counts for: its size, or for Parquet what its rows come to, if that is more.

    Parquet that repeats itself is stored in a hundredth of what it unfolds to, but its footer says how many rows it
    has. A file whose footer cannot be read counts for its size here, and is refused where it is read.
    """
    return counted_bytes(size, footer_rows(path))


def counted_bytes(size: int, rows: int | None) -> int:
    """The same of a file whose footer was read; `rows` is None where it has none."""
    return size if rows is None else max(size, rows * _ROW_BYTES // _EXPANSION["packed"])


def footer_rows(path: str) -> int | None:
    """Rows by the footer of a Parquet file; None of another file, and where the footer cannot be read."""
    if not path.lower().endswith(".parquet"):
        return None
    try:
        with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
            return int(pq.read_metadata(pa.PythonFile(stream, mode="r")).num_rows)
    except (OSError, pa.ArrowException):
        return None


def bucket_count(files: list[tuple[str, int]], bucket_bytes: int) -> int:
    """Buckets for an input, from its size alone, so that every runner cuts it alike."""
    packed = sum(s for u, s in files if u.lower().endswith((*COMPRESSIONS, ".parquet")))
    plain = sum(s for _, s in files) - packed
    size = packed * _EXPANSION["packed"] + plain * _EXPANSION["plain"]
    return max(1, math.ceil(size / bucket_bytes))
