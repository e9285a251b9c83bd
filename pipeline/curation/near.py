"""Near-duplicates over all buckets: signatures, the pairs that share a band, their similarity, and who gives way.

An example is named by where it lies: bucket * 2 ** 32 + row of its file, so that a pair finds the texts of its examples
by reading two files. Only what proves to be alike comes to one place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.text import flat
from pipeline import storage
from pipeline.curation.candidates import BAND, PAIR, pairs
from pipeline.curation.minhash import Bands
from pipeline.curation.resolve import EDGE, ranks, resolve
from pipeline.curation.shingles import I64, Shingles, jaccard, shingles, windows
from pipeline.curation.shuffling import Shuffling
from pipeline.curation.texts import READS, labels, texts
from pipeline.transforms.threads import SideBySide
from pipeline.transforms.write import bucket_path
from schemas import EXAMPLE

_ROW_BITS: Final = 32
# At 0.8, the least likeness by default, a pair is missed once in 400 times (1 - 0.8 ** 6) ** 20; at 0.9 never; of pairs
# that are 0.4 alike one in 13 is looked at in vain.
BANDS: Final = Bands(20, 6)


@dataclass(frozen=True)
class NearOptions:
    """What near-duplicates are.

    Attributes
    ----------
    likeness : float
        Least Jaccard similarity of two texts' shingles.
    width : int
        Letters of a shingle.
    bands : Bands
    """

    likeness: float
    width: int
    bands: Bands = BANDS

    @property
    def detail(self) -> str:
        """The option that decides, as LEFT_OUT tells it."""
        return (
            f"at least {self.likeness:g} of their {self.width}-letter sequences are shared (curate.duplicate_likeness)"
        )


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


def band_rows(examples: pa.Table, key: I64, options: NearOptions) -> pa.Table:
    """BAND rows of examples; those without a signature have none."""
    held = windows(texts(examples), options.width)
    some = np.flatnonzero(held.sizes)
    label, test = labels(examples), strings(examples["split"]) == "test"
    signed, many = options.bands.sign(held), options.bands.bands
    columns = [
        signed.bands[:, some].T.ravel(),
        *(np.repeat(v[some], many) for v in (key, label, test, *signed.sketches)),
    ]
    return pa.table([pa.array(c) for c in columns], schema=BAND)


@beam.typehints.with_output_types(pa.Table)
class PairUp(beam.DoFn):
    """Buckets of whole bands to PAIR tables."""

    def __init__(self, options: NearOptions) -> None:
        self._options = options

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One bucket."""
        yield from pairs(bucket[1], self._options.likeness)


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


@dataclass(frozen=True)
class _Side:
    """What a bucket's file tells of the examples at some of its rows."""

    rank: I64
    id: pa.Array
    test: npt.NDArray[np.bool_]
    shingles: Shingles


def _side(folder: str, bucket: int, rows: I64, width: int) -> _Side:
    """One side of pairs; each example's text is cut once."""
    wanted, at = np.unique(rows, return_inverse=True)
    examples = storage.read_table(bucket_path(folder, bucket), EXAMPLE.schema, list(READS)).take(pa.array(wanted))
    rank = ranks(strings(examples["kind"]), examples["support"].to_numpy())
    test = strings(examples["split"]) == "test"
    held = shingles(texts(examples), width)
    return _Side(rank[at], flat(examples["example_id"]).take(pa.array(at)), test[at], held.take(at))


@beam.typehints.with_output_types(pa.Table)
class AttachFirst(SideBySide):
    """Buckets of pairs to pairs, each once, with what is known of the first example."""

    def __init__(self, folder: str, options: NearOptions, threads: int = 1) -> None:
        super().__init__(threads)
        self._folder, self._options = folder, options

    def work(self, element: tuple[int, pa.Table]) -> list[pa.Table]:
        """One bucket."""
        bucket, table = element
        once = table.group_by(PAIR.names, use_threads=False).aggregate([])
        first = once["first"].to_numpy()
        side = _side(self._folder, bucket, first & ((1 << _ROW_BITS) - 1), self._options.width)
        held = pa.ListArray.from_arrays(pa.array(side.shingles.offsets, pa.int32()), pa.array(side.shingles.hashes))
        columns = [flat(once["first"]), flat(once["second"]), pa.array(side.rank), side.id, pa.array(side.test), held]
        return [pa.table(columns, schema=_HALF)]


@beam.typehints.with_output_types(pa.Table)
class Compare(SideBySide):
    """Buckets of half-told pairs to EDGE tables: the pairs that are alike."""

    def __init__(self, folder: str, options: NearOptions, threads: int = 1) -> None:
        super().__init__(threads)
        self._folder, self._options = folder, options

    def work(self, element: tuple[int, pa.Table]) -> list[pa.Table]:
        """One bucket."""
        bucket, table = element
        lists = flat(table["shingles"])
        first = Shingles(lists.offsets.to_numpy().astype(np.int64), lists.values.to_numpy())
        side = _side(self._folder, bucket, table["second"].to_numpy() & ((1 << _ROW_BITS) - 1), self._options.width)
        similarity = jaccard(first, side.shingles)
        told = {name: flat(table[name]) for name in ("first", "second", "first_rank", "first_id")}
        told |= {"second_rank": pa.array(side.rank), "second_id": side.id, "similarity": pa.array(similarity)}
        test = table["first_test"].to_numpy()
        told["across"] = pa.array(test != side.test)
        edges = pa.table([told[name] for name in EDGE.names], schema=EDGE)
        return [_test_first(edges, side.test).filter(pa.array(similarity >= self._options.likeness))]


def _test_first(edges: pa.Table, second_is_test: npt.NDArray[np.bool_]) -> pa.Table:
    """Edges across the split with the example of test first."""
    turn = pa.array(edges["across"].to_numpy() & second_is_test)
    other = {"first": "second", "second": "first"}
    columns = []
    for name in EDGE.names:
        side, _, rest = name.partition("_")
        twin = f"{other[side]}_{rest}".rstrip("_") if side in other else name
        columns.append(pc.if_else(turn, edges[twin], edges[name]))
    return pa.table(columns, schema=EDGE)


@beam.typehints.with_output_types(pa.Table)
class Resolve(beam.DoFn):
    """All edges to VERDICT rows."""

    def __init__(self, options: NearOptions) -> None:
        self._options = options

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """The one bucket."""
        yield resolve(bucket[1], self._options.detail)


class NearDuplicates(beam.PTransform):
    """BAND tables of all examples to VERDICT tables.

    Parameters
    ----------
    folder : str
        Example files, whose places the keys of the rows name.
    options : NearOptions
    shuffling : Shuffling
    """

    def __init__(self, folder: str, options: NearOptions, shuffling: Shuffling) -> None:
        super().__init__()
        self._folder, self._options, self._by = folder, options, shuffling

    def expand(self, bands: beam.PCollection) -> beam.PCollection:
        """Build the graph."""
        settings = (self._folder, self._options, self._by.threads)
        return (
            bands
            | "ByBand" >> self._by.shuffle(ByBand(self._by.buckets))
            | "PairUp" >> beam.ParDo(PairUp(self._options))
            | "ByFirst" >> self._by.shuffle(ByBucket("first"))
            | "AttachFirst" >> beam.ParDo(AttachFirst(*settings))
            | "BySecond" >> self._by.shuffle(ByBucket("second"))
            | "Compare" >> beam.ParDo(Compare(*settings))
            | "Together" >> self._by.shuffle(_together)
            | "Resolve" >> beam.ParDo(Resolve(self._options))
        )
