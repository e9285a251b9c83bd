"""Near-duplicates over all buckets: the bands that meet, the pairs that share one, their similarity, and who gives way.

An example is named by where it lies: bucket * 2 ** 32 + row of its file, so that a pair finds the texts of its examples
by reading two files. Only what proves to be alike comes to one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import apache_beam as beam
import numpy as np
import pyarrow as pa

from features.text import flat
from pipeline import storage
from pipeline.curation.candidates import PAIR
from pipeline.curation.near import NearOptions, Side, edges, near_pairs, once, side
from pipeline.curation.resolve import resolve
from pipeline.curation.shingles import I64, Shingles
from pipeline.curation.shuffling import Shuffling
from pipeline.curation.texts import READS
from pipeline.transforms.shuffle import WholeBuckets
from schemas import EXAMPLE

_ROW_BITS: Final = 32


def keys(bucket: int, rows: I64) -> I64:
    """Where examples lie as one number, shape (n,)."""
    return (np.int64(bucket) << _ROW_BITS) + rows


class ByBucket:
    """Partition rows by the bucket that an example of theirs lies in."""

    def __init__(self, column: str) -> None:
        self._column = column

    def __call__(self, table: pa.Table) -> I64:
        """Bucket of each row, shape (n,)."""
        return table[self._column].to_numpy() >> _ROW_BITS


class ByBand:
    """Partition signature rows by their band's key, which is a hash."""

    def __init__(self, buckets: int) -> None:
        self._buckets = buckets

    def __call__(self, table: pa.Table) -> I64:
        """Bucket of each row, shape (n,)."""
        return (table["band"].to_numpy().view(np.uint64) % np.uint64(self._buckets)).astype(np.int64)


def _together(table: pa.Table) -> I64:
    """All in one bucket."""
    return np.zeros(table.num_rows, np.int64)


@beam.typehints.with_output_types(pa.Table)
class PairUp(beam.DoFn):
    """Buckets of rows that may be alike to PAIR tables, one after the other: all at once may be very many."""

    def __init__(self, options: NearOptions) -> None:
        self._options = options

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One bucket: whole bands, or all examples."""
        yield from near_pairs(bucket[1], self._options)


# Path of a bucket's file of examples. Is sent to workers.
Paths = Callable[[int], str]

# A pair with what is known of its first example.
_HALF: Final = pa.schema(
    [
        *PAIR,
        ("first_rank", pa.int64()),
        ("first_id", pa.string()),
        ("first_test", pa.bool_()),
        ("shingles", pa.list_(pa.uint32())),
    ]
)


def _read_side(path: str, key: I64, width: int) -> Side:
    """One side of pairs whose examples lie in a file."""
    examples = storage.read_table(path, EXAMPLE.schema, list(READS))
    return side(examples, key & ((1 << _ROW_BITS) - 1), width)


@beam.typehints.with_output_types(pa.Table)
class AttachFirst(WholeBuckets):
    """Buckets of pairs to pairs, each once, with what is known of the first example."""

    def __init__(self, paths: Paths, options: NearOptions, threads: int = 1) -> None:
        super().__init__(threads)
        self._paths, self._options = paths, options

    def work(self, element: tuple[int, pa.Table]) -> list[pa.Table]:
        """One bucket."""
        bucket, table = element
        each = once(table)
        held = _read_side(self._paths(bucket), each["first"].to_numpy(), self._options.width)
        lists = pa.ListArray.from_arrays(pa.array(held.shingles.offsets, pa.int32()), pa.array(held.shingles.hashes))
        columns = [flat(each["first"]), flat(each["second"]), pa.array(held.rank), held.id, pa.array(held.test), lists]
        return [pa.table(columns, schema=_HALF)]


@beam.typehints.with_output_types(pa.Table)
class Compare(WholeBuckets):
    """Buckets of half-told pairs to EDGE tables: the pairs that are alike."""

    def __init__(self, paths: Paths, options: NearOptions, threads: int = 1) -> None:
        super().__init__(threads)
        self._paths, self._options = paths, options

    def work(self, element: tuple[int, pa.Table]) -> list[pa.Table]:
        """One bucket."""
        bucket, table = element
        lists = flat(table["shingles"])
        held = Shingles(lists.offsets.to_numpy().astype(np.int64), lists.values.to_numpy())
        test = table["first_test"].to_numpy()
        first = Side(table["first_rank"].to_numpy(), flat(table["first_id"]), test, held)
        second = _read_side(self._paths(bucket), table["second"].to_numpy(), self._options.width)
        return [edges(table, first, second, self._options.likeness)]


@beam.typehints.with_output_types(pa.Table)
class Resolve(beam.DoFn):
    """All edges to VERDICT rows."""

    def __init__(self, options: NearOptions) -> None:
        self._options = options

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """The one bucket."""
        yield resolve(bucket[1], self._options.detail)


class NearDuplicates(beam.PTransform):
    """Tables of `near_rows` of all examples to VERDICT tables.

    Parameters
    ----------
    paths : callable
        Bucket to its file of examples, whose places the keys of the rows name.
    options : NearOptions
    shuffling : Shuffling
    which : callable, optional
        PAIR table to those of its pairs that are compared; all of them if not given. Is sent to workers.
    resolve : beam.DoFn, optional
        In place of that of this module.
    """

    def __init__(
        self,
        paths: Paths,
        options: NearOptions,
        shuffling: Shuffling,
        which: Callable[[pa.Table], pa.Table] | None = None,
        resolve: beam.DoFn | None = None,
    ) -> None:
        super().__init__()
        self._paths, self._options, self._by = paths, options, shuffling
        self._which, self._resolve = which, resolve or Resolve(options)

    def expand(self, rows: beam.PCollection) -> beam.PCollection:
        """Build the graph."""
        settings = (self._paths, self._options, self._by.threads)
        meet = _together if self._options.exact else ByBand(self._by.buckets)
        found = rows | "Meet" >> self._by.shuffle(meet) | "PairUp" >> beam.ParDo(PairUp(self._options))
        if self._which is not None:
            found |= "Which" >> beam.Map(self._which).with_output_types(pa.Table)
        return (
            found
            | "ByFirst" >> self._by.group(ByBucket("first"))
            | "AttachFirst" >> beam.ParDo(AttachFirst(*settings))
            | "BySecond" >> self._by.group(ByBucket("second"))
            | "Compare" >> beam.ParDo(Compare(*settings))
            | "Together" >> self._by.shuffle(_together)
            | "Resolve" >> beam.ParDo(self._resolve)
        )
