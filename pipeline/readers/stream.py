"""Open an input on any Beam file system: decompressed for the reader, hashed as stored."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Iterator
from typing import IO, Final

import zstandard
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

COMPRESSIONS: Final = (".gz", ".zst", ".zstd")
_CHUNK: Final = 1 << 20


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


class Salvage(io.RawIOBase):
    """Decompressed bytes up to the first error, then an end of file; the error is kept in `error`.

    A buffered read that meets an error drops what it had read before. So the reader sees a shorter file, and whoever
    opened it looks at `error` when the reader has done.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._held = memoryview(b"")
        self.error: Exception | None = None

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as one chunk goes; 0 at the end."""
        while not len(self._held) and self.error is None:
            try:
                self._held = memoryview(next(self._chunks))
            except StopIteration:
                break
            except Exception as error:
                self.error = error
        size = min(len(buffer), len(self._held))
        buffer[:size] = self._held[:size]
        self._held = self._held[size:]
        return size


class Prefixed:
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        self._head, self._stream = head, stream

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes."""
        head, self._head = self._head, b""
        if size < 0:
            return head + self._stream.read()
        return head + self._stream.read(size - len(head)) if len(head) < size else self._keep(head, size)

    def _keep(self, head: bytes, size: int) -> bytes:
        self._head = head[size:]
        return head[:size]


def decompress(stored: IO[bytes], path: str) -> Salvage:
    """The bytes that the reader sees. A file of several gzip members or zstd frames is read to its end."""
    name = path.lower()
    if name.endswith(".gz"):
        return Salvage(_gzip(stored))
    return Salvage(_zstd(stored) if name.endswith((".zst", ".zstd")) else _plain(stored))


def _plain(stored: IO[bytes]) -> Iterator[bytes]:
    while data := stored.read(_CHUNK):
        yield data


def _gzip(stored: IO[bytes]) -> Iterator[bytes]:
    members = gzip.GzipFile(fileobj=io.BufferedReader(stored, _CHUNK), mode="rb")  # type: ignore[type-var]
    while data := members.read1(_CHUNK):
        yield data


def _zstd(stored: IO[bytes]) -> Iterator[bytes]:
    """Frame by frame: the library's own reader takes a frame that breaks off for a whole one."""
    frame = None
    while data := stored.read(_CHUNK >> 4):
        while data:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            if out := frame.decompress(data):
                yield out
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("Compressed file ended before the end of a frame was reached")


def bare_suffix(path: str) -> str:
    """The ending under compression: `.jsonl` for `a.jsonl.gz`."""
    name = path.rsplit("/", 1)[-1].lower()
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending)
    dot = name.rfind(".")
    return name[dot:] if dot >= 0 else ""
