"""Read input files: turns, labels and dead letters as Arrow tables, and one Input row a file."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator

import apache_beam as beam
import pyarrow as pa
import zstandard
from apache_beam.pvalue import TaggedOutput

from pipeline import readers, tally
from pipeline.readers.base import dead_letter
from pipeline.readers.stream import HashingStream, Salvage, decompress, open_stored
from pipeline.transforms.check import check
from pipeline.transforms.threads import InThreads
from schemas import DEAD_LETTER, INPUT, Reason

# A file that breaks off, is no such archive, or is gone.
_BROKEN = (OSError, EOFError, zlib.error, zstandard.ZstdError, pa.ArrowException)
TURNS, GOLD, DEAD, INPUTS = "turns", "gold", "dead_letters", "inputs"


@beam.typehints.with_output_types(pa.Table)
class ReadFiles(beam.DoFn):
    """(path, uri) pairs to tables, tagged `turns`, `gold`, `dead_letters` and `inputs`.

    A file that cannot be read becomes one dead letter at the position reached; what was read before it stays. The
    bytes are hashed as they pass.
    """

    def __init__(self, format: str, zone: str | None, threads: int = 1) -> None:
        self._format, self._zone, self._threads = format, zone, threads

    def setup(self) -> None:
        """Find the reader."""
        self._reader = readers.reader(self._format)

    def process(self, file: tuple[str, str]) -> Iterator[TaggedOutput]:
        """Read one file."""
        path, uri = file
        records = replaced = 0
        stored: HashingStream | None = None
        salvage: Salvage | None = None
        # Batches are checked while the next ones are read.
        calls = InThreads(self._threads)
        try:
            stored = open_stored(path)
            salvage = decompress(stored, path)
            for batch in self._reader.read(io.BufferedReader(salvage, 1 << 20), uri):
                records += batch.records
                replaced += batch.replaced
                for checked in calls.call(self._checked, batch):
                    yield from checked
            if salvage.error is not None:
                raise salvage.error
        except _BROKEN as error:
            # What a codec or a store raises: the file is at fault and the others go on. An error of ours is none of it.
            cause = _cause(salvage.error if salvage and salvage.error else error)
            detail = f"{uri}: stopped after {records} records ({cause})"
            letter = dead_letter(Reason.UNREADABLE_FILE, uri, records, detail, None)
            records += 1
            yield TaggedOutput(DEAD, pa.Table.from_pylist([letter], schema=DEAD_LETTER.schema))
        for checked in calls.rest():
            yield from checked
        stored_bytes, sha256 = _stored(stored)
        row = {"uri": uri, "bytes": stored_bytes, "sha256": sha256, "records": records, "replaced": replaced}
        yield TaggedOutput(INPUTS, pa.Table.from_pylist([row], schema=INPUT.schema))

    def _checked(self, batch: readers.Batch) -> list[TaggedOutput]:
        turns, refused = check(batch.turns, self._zone or self._reader.zone)
        tally.add(batch.records)
        found = ((TURNS, turns), (GOLD, batch.gold), (DEAD, batch.dead), (DEAD, refused))
        return [TaggedOutput(tag, table) for tag, table in found if table.num_rows]


def _stored(stream: HashingStream | None) -> tuple[int, str | None]:
    """Size and hash of the file as stored, of a broken one too: a release is named by the bytes it was given."""
    if stream is None:
        return 0, None
    try:
        sha256 = stream.drain()
        stream.release()
    except OSError:
        return stream.bytes, None
    return stream.bytes, sha256


def _cause(error: Exception) -> str:
    """What went wrong, without the user's text, which a parser's message may quote, or this machine's paths."""
    name = type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        return f"{name}: {error.strerror}"
    return f"{name}: {error}" if isinstance(error, EOFError | zlib.error | zstandard.ZstdError) else name
