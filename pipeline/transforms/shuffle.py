"""Shuffle: bring the rows of one key together, as Arrow tables, one a bucket.

Two modes that give the same rows in the same buckets. `native` sends the tables through Beam's GroupByKey: for
runners that spill to disk by themselves (Spark, Dataflow). `spill` writes the tables to Arrow files and groups their
paths only: the in-process runner keeps every grouped value in memory, so this is what keeps a laptop's memory flat.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import hash64, strings
from pipeline import monitoring, storage
from pipeline.errors import StageError
from pipeline.transforms.threads import SideBySide, Threaded, at_end

Partition = Callable[[pa.Table], npt.NDArray[np.int64]]

# Rows waiting in a worker before they are cut into buckets and handed on. Larger means fewer, larger pieces.
SPILL_BYTES: Final = 32 << 20
NATIVE_BYTES: Final = 64 << 20


class KeyHash:
    """Partition by a stable hash of one text column, modulo the number of buckets."""

    def __init__(self, column: str, buckets: int) -> None:
        self.column, self.buckets = column, buckets

    def __call__(self, table: pa.Table) -> npt.NDArray[np.int64]:
        """Bucket of each row, shape (n,).

        Raises
        ------
        TypeError
            If the column is no text: numbers and times are written in more than one way, and a key has one.
        """
        kind = table.schema.field(self.column).type
        if not pa.types.is_string(getattr(kind, "value_type", kind)):
            raise TypeError(f"shuffle by {self.column}: a column of text is wanted, found {kind}")
        hashes = hash64(strings(table[self.column]), "afterword/part/1")
        return np.asarray(hashes % np.uint64(self.buckets), dtype=np.int64)


def split(table: pa.Table, bucket: npt.NDArray[np.int64]) -> Iterator[tuple[int, pa.Table]]:
    """Cut a table into one piece a bucket, rows in their order; buckets without rows give nothing.

    Keys are Python's own integers: of NumPy's, and of times, the coders of runners merge some that differ.

    Raises
    ------
    TypeError
        If the buckets are no integers.
    ValueError
        If they are not one a row.
    """
    if bucket.dtype.kind not in "iu":
        raise TypeError(f"shuffle: integers are wanted as keys, found {bucket.dtype}")
    if bucket.shape != (table.num_rows,):
        raise ValueError(f"shuffle: a key a row is wanted, found {bucket.shape} for {table.num_rows} rows")
    if not table.num_rows:
        return
    order = np.argsort(bucket, kind="stable")
    ordered = table.take(pa.array(order))
    present, starts = np.unique(bucket[order], return_index=True)
    ends = np.append(starts[1:], len(order))
    for k, start, end in zip(present.tolist(), starts.tolist(), ends.tolist(), strict=True):
        yield k, ordered.slice(start, end - start)


def spilled(table: pa.Table, partition: Partition, folder: str) -> list[tuple[int, str]]:
    """Cut a table and write the pieces as Arrow files; gives bucket and path of each."""
    return [(bucket, write_piece(folder, bucket, piece)) for bucket, piece in split(table, partition(table))]


def write_piece(folder: str, bucket: int, piece: pa.Table) -> str:
    """Write a piece of a bucket as an Arrow file; gives its path.

    A name is used once: a retried bundle never meets its own leftovers.
    """
    path = storage.join(folder, f"{bucket:05d}-{uuid.uuid4().hex}.arrow")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, piece.schema) as writer:
        writer.write_table(piece)
    storage.write_bytes(path, sink.getvalue())
    return path


def read_piece(path: str) -> pa.Table:
    """Read what `write_piece` wrote.

    Raises
    ------
    StageError
        If the file is gone or damaged.
    """
    try:
        return pa.ipc.open_file(pa.BufferReader(storage.read_bytes(path))).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise StageError(f"{path}: a file of the shuffle is gone or damaged ({error}); run it again") from None


class _Cut(Threaded):
    """Collect tables up to a size, then cut the whole into buckets."""

    def __init__(self, partition: Partition, limit: int, threads: int = 1) -> None:
        super().__init__(threads)
        self._partition, self._limit = partition, limit
        self._held: list[pa.Table] = []
        self._bytes = 0

    def start_bundle(self) -> None:
        """Begin empty: what a failed bundle held must not leak into its retry."""
        super().start_bundle()
        self._held, self._bytes = [], 0

    def process(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Hold a table; cut when enough is held."""
        if table.num_rows:
            self._held.append(table)
            self._bytes += table.nbytes
        if self._bytes >= self._limit:
            for pairs in self._cut():
                yield from pairs

    def finish_bundle(self) -> Iterator[Any]:
        """Cut what is left."""
        for pairs in chain(self._cut(), self._calls.rest()):
            yield from map(at_end, pairs)

    def _cut(self) -> Iterator[list[tuple[int, Any]]]:
        if self._held:
            held, self._held, self._bytes = self._held, [], 0
            yield from self._calls.call(self._pieces, held)

    def _pieces(self, held: list[pa.Table]) -> list[tuple[int, Any]]:
        table = pa.concat_tables(held).combine_chunks()
        return list(split(table, self._partition(table)))


@beam.typehints.with_output_types(tuple[int, pa.Table])
class _CutTables(_Cut):
    """Pieces as tables."""


@beam.typehints.with_output_types(tuple[int, str])
class _CutToFiles(_Cut):
    """Pieces as Arrow files."""

    def __init__(self, partition: Partition, limit: int, folder: str, threads: int = 1) -> None:
        super().__init__(partition, limit, threads)
        self._folder = folder

    def _pieces(self, held: list[pa.Table]) -> list[tuple[int, Any]]:
        return spilled(pa.concat_tables(held).combine_chunks(), self._partition, self._folder)


def whole(pieces: Iterable[str | pa.Table]) -> tuple[pa.Table, monitoring.Bucket]:
    """A bucket of its pieces, and what there is to tell of it.

    Raises
    ------
    StageError
        If a file of it is gone or damaged.
    """
    begin, held = time.monotonic(), list(pieces)
    tables = [read_piece(path) for path in sorted(held)] if isinstance(held[0], str) else held
    table = pa.concat_tables(tables).combine_chunks()
    return table, monitoring.Bucket.of(table, begin)


class WholeBuckets(SideBySide):
    """Takes the (bucket, pieces) of `Group`; `work` is given (bucket, table), put together where the work is done."""

    def process(self, element: tuple[int, Iterable[Any]]) -> Iterator[Any]:
        """Begin a bucket."""
        bucket, pieces = element
        yield from self.begin(self.gathered, bucket, list(pieces))

    def gathered(self, bucket: int, pieces: list[Any]) -> list[Any]:
        """All outputs of one bucket."""
        held = [*whole(pieces)]
        told = held.pop()
        # What works on it may let go of it: nothing here holds it meanwhile.
        return [told, *self.work((bucket, held.pop()))]


@beam.typehints.with_output_types(tuple[int, pa.Table])
class _Load(beam.DoFn):
    """Put buckets together."""

    def process(self, pair: tuple[int, Iterable[Any]]) -> Iterator[tuple[int, pa.Table]]:
        """One table a bucket."""
        table, told = whole(pair[1])
        told.tell()
        yield pair[0], table


class Cut(beam.PTransform):
    """Tables of any rows to (bucket, piece): tables, or in the mode `spill` paths of files.

    Parameters
    ----------
    partition : callable
        Table to bucket of each row.
    mode : str
        `spill` or `native`.
    folder : str
        Where `spill` keeps its files; the caller removes it.
    threads : int
        How many tables `spill` cuts and writes at once.
    """

    def __init__(self, partition: Partition, mode: str, folder: str, threads: int = 1) -> None:
        super().__init__()
        if mode not in ("spill", "native"):
            raise ValueError(f"shuffle mode {mode!r}: spill or native is wanted")
        self._partition, self._mode, self._folder, self._threads = partition, mode, folder, threads

    def expand(self, tables: beam.PCollection) -> beam.PCollection:
        """Build the graph."""
        if self._mode == "spill":
            cut = _CutToFiles(self._partition, SPILL_BYTES, self._folder, self._threads)
            return tables | "ToFiles" >> beam.ParDo(cut)
        return tables | "ToTables" >> beam.ParDo(_CutTables(self._partition, NATIVE_BYTES))


class Together(beam.PTransform):
    """Several PCollections of (bucket, piece) to (bucket, pieces), for a DoFn that is a `WholeBuckets`."""

    def expand(self, pieces: tuple[beam.PCollection, ...]) -> beam.PCollection:
        """Build the graph."""
        return (pieces[0] if len(pieces) == 1 else pieces | beam.Flatten()) | beam.GroupByKey()


class Group(beam.PTransform):
    """Tables of any rows to (bucket, pieces), for a DoFn that is a `WholeBuckets`.

    The order of rows within a bucket is not defined: sort by a total order afterwards.

    Takes one PCollection of tables, or a tuple of several with one schema, and the parameters of `Cut`.
    """

    def __init__(self, partition: Partition, mode: str, folder: str, threads: int = 1) -> None:
        super().__init__()
        self._cut = Cut(partition, mode, folder, threads)

    def expand(self, tables: beam.PCollection | tuple[beam.PCollection, ...]) -> beam.PCollection:
        """Build the graph. Several inputs are cut each by itself: a runner may hold what it flattens."""
        inputs = tables if isinstance(tables, tuple) else (tables,)
        return tuple(each | f"Cut{k or ''}" >> self._cut for k, each in enumerate(inputs)) | Together()


class Shuffle(Group):
    """Tables of any rows to one (bucket, table) a bucket; see `Group`."""

    def expand(self, tables: beam.PCollection | tuple[beam.PCollection, ...]) -> beam.PCollection:
        """Build the graph."""
        return super().expand(tables) | "Load" >> beam.ParDo(_Load())
