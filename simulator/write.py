"""Files of a simulated log: JSON lines packed with gzip, or Parquet. A file is complete or not there."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

SUFFIXES: Final = {"jsonl": ".jsonl.gz", "parquet": ".parquet"}
# A quick level: a log is several times smaller even so.
_GZIP_LEVEL: Final = 3


def write_parquet(table: pa.Table, path: Path) -> None:
    """A Parquet file."""
    temporary = _beside(path)
    pq.write_table(table, temporary, compression="zstd")
    temporary.replace(path)


def write_packed(data: bytes, path: Path) -> None:
    """A gzip file. The same data give the same bytes: the archive carries neither name nor time."""
    temporary = _beside(path)
    with temporary.open("wb") as raw, gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as packed:
        packed.write(data)
    temporary.replace(path)


def _beside(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}.tmp")
