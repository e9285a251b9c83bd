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
from pipeline.transforms.threads import Threaded, at_end

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
    """Pieces as Arrow files. A name carries the attempt: a retried bundle never meets its own leftovers."""

    def __init__(self, partition: Partition, limit: int, folder: str, threads: int = 1) -> None:
        super().__init__(partition, limit, threads)
        self._folder = folder

    def _pieces(self, held: list[pa.Table]) -> list[tuple[int, Any]]:
        written = []
        for bucket, piece in super()._pieces(held):
            path = storage.join(self._folder, f"{bucket:05d}-{uuid.uuid4().hex}.arrow")
            sink = pa.BufferOutputStream()
            with pa.ipc.new_file(sink, piece.schema) as writer:
                writer.write_table(piece)
            storage.write_bytes(path, sink.getvalue())
            written.append((bucket, path))
        return written


@beam.typehints.with_output_types(tuple[int, pa.Table])
class _Load(beam.DoFn):
    """Read a bucket's files back as one table."""

    def process(self, pair: tuple[int, Iterable[str]]) -> Iterator[tuple[int, pa.Table]]:
        """One table a bucket."""
        bucket, paths = pair
        begin, pieces = time.monotonic(), []
        for path in sorted(paths):
            try:
                pieces.append(pa.ipc.open_file(pa.BufferReader(storage.read_bytes(path))).read_all())
            except (pa.ArrowInvalid, OSError) as error:
                raise StageError(f"{path}: a file of the shuffle is gone or damaged ({error}); run it again") from None
        table = pa.concat_tables(pieces).combine_chunks()
        monitoring.bucket(table, begin)
        yield bucket, table


def _concatenate(pair: tuple[int, Iterable[pa.Table]]) -> tuple[int, pa.Table]:
    begin = time.monotonic()
    table = pa.concat_tables(list(pair[1])).combine_chunks()
    monitoring.bucket(table, begin)
    return pair[0], table


class Shuffle(beam.PTransform):
    """Tables of any rows to one table a bucket.

    The order of rows within a bucket is not defined: sort by a total order afterwards.

    Takes one PCollection of tables, or a tuple of several with one schema.

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

    def expand(self, tables: beam.PCollection | tuple[beam.PCollection, ...]) -> beam.PCollection:
        """Build the graph. Several inputs are cut each by itself: a runner may hold what it flattens."""
        inputs = tables if isinstance(tables, tuple) else (tables,)
        cut = [self._cut(each, str(k or "")) for k, each in enumerate(inputs)]
        grouped = (cut if len(cut) == 1 else [tuple(cut) | beam.Flatten()])[0] | beam.GroupByKey()
        if self._mode == "spill":
            return grouped | "Load" >> beam.ParDo(_Load())
        return grouped | "Concatenate" >> beam.Map(_concatenate).with_output_types(tuple[int, pa.Table])

    def _cut(self, tables: beam.PCollection, number: str) -> beam.PCollection:
        if self._mode == "spill":
            cut = _CutToFiles(self._partition, SPILL_BYTES, self._folder, self._threads)
            return tables | f"CutToFiles{number}" >> beam.ParDo(cut)
        return tables | f"Cut{number}" >> beam.ParDo(_CutTables(self._partition, NATIVE_BYTES))
