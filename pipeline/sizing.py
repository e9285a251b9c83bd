"""How many turns an input holds, told from sizes, Parquet footers and the first bytes of a few files."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pipeline import readers
from pipeline.buckets import bucket_count, counted_bytes, footer_rows
from pipeline.inputs import Found
from pipeline.readers.stream import decompress, open_stored

# Files whose first bytes are read, evenly over the list, and how many bytes as stored: a second or two in all.
SAMPLED_FILES: Final = 6
SAMPLED_BYTES: Final = 1 << 20
# A larger Parquet file is not read for the size of a turn: its reader wants it whole.
_SHOWN_BYTES: Final = 64 << 20


@dataclass(frozen=True)
class Size:
    """What an input comes to.

    Attributes
    ----------
    files, bytes : int
        As stored.
    turns : int
        Estimated; records that ingest may refuse or supersede are in it.
    turn_bytes : float or None
        Bytes of a sampled turn as an Arrow table, as the reader gives it; None where no file was sampled.
    buckets : int
        As stage ingest cuts it.
    basis : str
        What `turns` rests on.
    """

    files: int
    bytes: int
    turns: int
    turn_bytes: float | None
    buckets: int
    basis: str


@dataclass(frozen=True)
class _Sample:
    """Turns in the first bytes of a file, and what they come to in memory."""

    stored: int
    turns: int
    nbytes: int


def measure(found: Found, format: str, bucket_bytes: int) -> Size:
    """Size of an input.

    Footers of all Parquet files are read, as stage ingest does. Of the other files, and for the size of a turn, the
    first MiB of at most six is read by the format's reader, and the turns in it are taken for those of the whole.

    Parameters
    ----------
    found : Found
        The files.
    format : str
        Name of the reader.
    bucket_bytes : int
        `shuffle.bucket_bytes`.

    Raises
    ------
    ConfigError
        If there is no such reader.
    """
    reader = readers.reader(format)
    rows = {path: footer_rows(path) for path, _, _ in found.files}
    counted = [(uri, counted_bytes(size, rows[path])) for path, uri, size in found.files]
    by_footer = sum(n for n in rows.values() if n is not None)
    plain = [file for file in found.files if rows[file[0]] is None]
    samples = [_sample(reader, path, uri) for path, uri, size in _spread([f for f in plain if f[2]])]
    read, turns = sum(s.stored for s in samples), sum(s.turns for s in samples)
    estimated = round(sum(size for _, _, size in plain) * turns / read) if read else 0
    small = [file for file in found.files if rows[file[0]] and file[2] <= _SHOWN_BYTES]
    shown = samples or [_shown(reader, *file) for file in sorted(small, key=lambda f: f[2])[:1]]
    seen = sum(s.turns for s in shown)
    told = [f"{len(found.files) - len(plain):,} Parquet footer(s)"] * (len(plain) < len(found.files))
    told += [f"the first {read / 2**20:.1f} MiB of {len(samples):,} of {len(plain):,} file(s)"] * bool(plain)
    return Size(
        files=len(found.files),
        bytes=sum(size for _, _, size in found.files),
        turns=by_footer + estimated,
        turn_bytes=sum(s.nbytes for s in shown) / seen if seen else None,
        buckets=bucket_count(counted, bucket_bytes),
        basis=" and ".join(told),
    )


def of_rows(rows: int, nbytes: int | None, file_rows: int, bucket_bytes: int) -> Size:
    """Size of a table that is to be pulled into files of `file_rows` rows; its logical bytes stand for Arrow's."""
    files = math.ceil(rows / file_rows)
    return Size(
        files=files,
        bytes=nbytes or 0,
        turns=rows,
        turn_bytes=nbytes / rows if nbytes and rows else None,
        buckets=bucket_count([("pulled.parquet", counted_bytes(0, rows))], bucket_bytes),
        basis="the rows that BigQuery counts",
    )


def _spread(files: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """At most `SAMPLED_FILES` of a list, from its first to its last."""
    if len(files) <= SAMPLED_FILES:
        return files
    return [files[k * (len(files) - 1) // (SAMPLED_FILES - 1)] for k in range(SAMPLED_FILES)]


def _sample(reader: readers.Reader, path: str, uri: str) -> _Sample:
    """The first bytes of a file, read as its reader reads a file that breaks off there."""
    stored = open_stored(path)
    try:
        head = io.BufferedReader(stored, SAMPLED_BYTES).read(SAMPLED_BYTES)
    finally:
        stored.release()
    return _counted(reader, io.BufferedReader(decompress(io.BytesIO(head), path), 1 << 20), uri, len(head))


def _shown(reader: readers.Reader, path: str, uri: str, size: int) -> _Sample:
    """The first batch of a Parquet file."""
    stored = open_stored(path)
    try:
        return _counted(reader, io.BufferedReader(stored, 1 << 20), uri, size, batches=1)
    finally:
        stored.release()


def _counted(reader: readers.Reader, stream: io.BufferedReader, uri: str, stored: int, batches: int = 0) -> _Sample:
    turns = nbytes = 0
    try:
        for number, batch in enumerate(reader.read(stream, uri), start=1):
            turns, nbytes = turns + batch.turns.num_rows, nbytes + batch.turns.nbytes
            if number == batches:
                break
    except (OSError, EOFError, ValueError, pa.ArrowException):
        # A file that cannot be read is told by stage ingest, which counts it; here what was read before it counts.
        pass
    return _Sample(stored, turns, nbytes)
