"""Open an input on any Beam file system: decompressed for the reader, hashed as stored."""

from __future__ import annotations

import gzip
import hashlib
import io
from typing import IO

import zstandard
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

COMPRESSIONS = (".gz", ".zst", ".zstd")


class HashingStream(io.RawIOBase):
    """Passes bytes on and keeps their SHA-256 and number, so that a file is read once."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._hash = hashlib.sha256()
        self.bytes = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer from the stream beneath."""
        data = self._raw.read(len(buffer))
        buffer[: len(data)] = data
        self._hash.update(data)
        self.bytes += len(data)
        return len(data)

    def drain(self) -> str:
        """Read what is left and give the SHA-256 of the whole."""
        while self.read(1 << 20):
            pass
        return self._hash.hexdigest()

    def close(self) -> None:
        """Nothing: a decompressor above closes what it reads from, yet the rest is still to be hashed."""

    def release(self) -> None:
        """Close the stream beneath."""
        self._raw.close()


def open_stored(path: str) -> HashingStream:
    """Open a file as stored, on any Beam file system."""
    return HashingStream(FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED))


def decompress(stored: IO[bytes], path: str) -> IO[bytes]:
    """The bytes that the reader sees. A file of several gzip members or zstd frames is read to its end."""
    buffered = io.BufferedReader(stored, 1 << 20)  # type: ignore[type-var]
    if path.endswith(".gz"):
        return gzip.GzipFile(fileobj=buffered, mode="rb")  # type: ignore[return-value]
    if path.endswith((".zst", ".zstd")):
        raw = zstandard.ZstdDecompressor().stream_reader(buffered, read_across_frames=True)
        return io.BufferedReader(raw, 1 << 20)
    return buffered


def bare_suffix(path: str) -> str:
    """The ending under compression: `.jsonl` for `a.jsonl.gz`."""
    name = path.rsplit("/", 1)[-1].lower()
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending)
    dot = name.rfind(".")
    return name[dot:] if dot >= 0 else ""
