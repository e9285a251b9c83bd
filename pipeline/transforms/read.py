"""Read input files: turns, labels and dead letters as Arrow tables, redacted, and one Input row a file."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import pyarrow as pa
import zstandard
from apache_beam.pvalue import TaggedOutput

from pipeline import readers, tally
from pipeline.filters.tombstones import TombstoneFiles, drop_forgotten
from pipeline.privacy import PrivacyOptions, Redactor
from pipeline.readers.base import dead_letter
from pipeline.readers.stream import HashingStream, Salvage, decompress, open_stored
from pipeline.transforms.admit import Admission
from pipeline.transforms.check import check
from pipeline.transforms.counts import counts
from pipeline.transforms.shuffle import SPILL_BYTES
from pipeline.transforms.spread import DECIDING, ROWS, Spread
from pipeline.transforms.threads import SideBySide, at_end
from schemas import DEAD_LETTER, INPUT, TURN, Reason
from schemas import GOLD as LABELS

# A file that breaks off, is no such archive, or is gone.
_BROKEN = (OSError, EOFError, zlib.error, zstandard.ZstdError, pa.ArrowException)
TURNS, GOLD, DEAD, INPUTS = "turns", "gold", "dead_letters", "inputs"
COUNTS, REDACTIONS, RENAMED = "counts", "redactions", "renamed"
# Every output is told its type: Beam pickles what it knows nothing of.
TAGS = (TURNS, GOLD, DEAD, INPUTS, COUNTS, REDACTIONS, RENAMED)
PIECES = (ROWS, DECIDING)


@beam.typehints.with_output_types(pa.Table, **dict.fromkeys(TAGS, pa.Table), **dict.fromkeys(PIECES, tuple[int, str]))
class ReadFiles(SideBySide):
    """(path, uri) pairs to tables, tagged `turns`, `gold`, `dead_letters`, `inputs`, `counts`, `redactions`, `renamed`.

    Where there is a `spread`, in place of `turns` the pieces it cuts them to, tagged `rows` and `deciding`.

    A file that cannot be read becomes one dead letter at the position reached; what was read before it stays. The
    bytes are hashed as they pass. Turns of forgotten users go no further than this; the other turns and dead letters
    are redacted here, before anything of them is written, a shuffle's files among it; counts tell of that alone.
    """

    def __init__(
        self,
        format: str,
        zone: str | None,
        threads: int = 1,
        privacy: PrivacyOptions | None = None,
        admission: Admission | None = None,
        tombstones: TombstoneFiles | None = None,
        spread: Spread | None = None,
    ) -> None:
        super().__init__(threads)
        self._spread = spread
        self._held: list[readers.Batch] = []
        self._bytes = 0
        self._format, self._zone = format, zone
        self._privacy = privacy or PrivacyOptions()
        self._admission, self._files = admission or Admission(), tombstones

    def setup(self) -> None:
        """Find the reader."""
        super().setup()
        self._reader = readers.reader(self._format)

    def load(self) -> None:
        """Find the reader, for the time zone it reads in, and who is forgotten."""
        self._reader = readers.reader(self._format)
        self._tombstones = self._files.load() if self._files else None
        self._redactor = Redactor(self._privacy)

    def start_bundle(self) -> None:
        """Begin empty: what a failed bundle held must not leak into its retry."""
        super().start_bundle()
        self._held, self._bytes = [], 0

    def process(self, file: tuple[str, str]) -> Iterator[TaggedOutput]:
        """Read one file."""
        path, uri = file
        records = replaced = 0
        batches = _Batches(self._reader, path, uri)
        # Batches are checked while the next ones are read, of the next file too.
        for batch in batches:
            records += batch.records
            replaced += batch.replaced
            self._held.append(batch)
            self._bytes += batch.turns.nbytes + batch.dead.nbytes
            if self._bytes >= SPILL_BYTES:
                yield from self._check()
        if batches.error is not None:
            detail = f"{uri}: stopped after {records} records ({_cause(batches.error)})"
            letter = dead_letter(Reason.UNREADABLE_FILE, uri, records, detail, None)
            records += 1
            yield from self._check()
            yield from self.begin(
                self._redacted, TURN.empty(), LABELS.empty(), pa.Table.from_pylist([letter], schema=DEAD_LETTER.schema)
            )
        stored_bytes, sha256 = _stored(batches.stored)
        row = {"uri": uri, "bytes": stored_bytes, "sha256": sha256, "records": records, "replaced": replaced}
        yield TaggedOutput(INPUTS, pa.Table.from_pylist([row], schema=INPUT.schema))

    def finish_bundle(self) -> Iterator[Any]:
        """What is held, and what is still being checked."""
        yield from map(at_end, self._check())
        yield from super().finish_bundle()

    def _check(self) -> Iterator[Any]:
        """Begin to check what is held: so much that each of its pieces is worth a file."""
        held, self._held, self._bytes = self._held, [], 0
        if held:
            yield from self.begin(self._checked, held)

    def _checked(self, batches: list[readers.Batch]) -> list[TaggedOutput]:
        found = [output for batch in batches for output in self._of_batch(batch)]
        if self._spread is None:
            return found
        turns = [output.value for output in found if output.tag == TURNS]
        return [*(output for output in found if output.tag != TURNS), *self._spread(turns)]

    def _of_batch(self, batch: readers.Batch) -> list[TaggedOutput]:
        turns, refused = check(batch.turns, self._zone or self._reader.zone)
        tally.add(batch.records)
        turns, gold, forgotten = drop_forgotten(turns, batch.gold, self._tombstones)
        turns, gold, opted_out = self._admission.let_out(turns, gold)
        dropped = {k: n for k, n in (("opted_out", opted_out), ("forgotten", forgotten)) if n}
        gone = {"in": sum(dropped.values()), **dropped} if dropped else {}
        return [*tagged([(COUNTS, counts("ingest", gone))]), *self._redacted(turns, gold, batch.dead, refused)]

    def _redacted(self, turns: pa.Table, gold: pa.Table, *dead: pa.Table) -> list[TaggedOutput]:
        held = self._redactor.redact(turns, gold, dead)
        # After that: what is renamed is told by ids, which are to be those of the redacted text.
        let = self._admission.admit(held.turns, held.gold)
        found = [(TURNS, let.turns), (GOLD, let.gold), (DEAD, let.dead), *((DEAD, table) for table in held.dead)]
        told = counts("ingest", {}, held.counts | let.counts)
        return tagged([*found, (COUNTS, told), (REDACTIONS, held.sample), (RENAMED, let.renamed)])


def tagged(found: list[tuple[str, pa.Table]]) -> list[TaggedOutput]:
    """Tables under their tags; those without rows are left out."""
    return [TaggedOutput(tag, table) for tag, table in found if table.num_rows]


class _Batches:
    """Batches of a file up to its end, or up to what breaks it, which is then in `error`.

    Only what a codec, a store or the reader raises is the file's fault, and the other files go on. An error of whoever
    takes the batches is none of it.
    """

    def __init__(self, reader: readers.Reader, path: str, uri: str) -> None:
        self._reader, self._path, self._uri = reader, path, uri
        self.stored: HashingStream | None = None
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[readers.Batch]:
        """Read once."""
        salvage: Salvage | None = None
        try:
            self.stored = open_stored(self._path)
            salvage = decompress(self.stored, self._path)
            yield from self._reader.read(io.BufferedReader(salvage, 1 << 20), self._uri)
        except _BROKEN as error:
            self.error = error
        if salvage is not None and salvage.error is not None:
            if not isinstance(salvage.error, _BROKEN):
                raise salvage.error
            # What the reader made of a stream that broke off says less.
            self.error = salvage.error


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
