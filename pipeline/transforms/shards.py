"""Example rows to shards of a release: named by a stable hash, sorted, the same bytes on every runner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, strings
from features.text import flat, is_true
from features.timeline import sort
from pipeline import storage, tally
from pipeline.tail.files import path_of
from pipeline.transforms.ingest import by_place
from pipeline.transforms.shuffle import WholeBuckets
from pipeline.transforms.write import bucket_path
from pipeline.writers.licences import count_licences
from pipeline.writers.texts import with_texts
from pipeline.writers.views import VIEWS, count_rows, filtered
from schemas import DEAD_LETTER, EXAMPLE, FILE, LEFT_OUT, SPLITS, TAIL, Record

LINEAGE: Final = "lineage"
# With so many rows a shard the chance that one stays empty is e^-50.
_ROWS_A_SHARD: Final = 50


@dataclass(frozen=True)
class ShardPlan:
    """How many shards each split has."""

    shards: dict[str, int]

    def __call__(self, table: pa.Table) -> npt.NDArray[np.int64]:
        """Shard number over all splits of each row, shape (n,)."""
        hashes = hash64(strings(table["example_id"]), "afterword/shard1")
        split = strings(table["split"])
        out = np.zeros(len(split), np.int64)
        for name, first in self.first().items():
            rows = split == name
            out[rows] = first + (hashes[rows] % np.uint64(max(self.shards[name], 1))).astype(np.int64)
        return out

    def first(self) -> dict[str, int]:
        """Number of each split's first shard."""
        starts, at = {}, 0
        for name in SPLITS:
            starts[name] = at
            at += self.shards.get(name, 0)
        return {k: v for k, v in starts.items() if self.shards.get(k)}

    def name(self, number: int) -> str:
        """File name of a shard, `train-00000-of-00004.parquet`."""
        split, first = max(((s, f) for s, f in self.first().items() if f <= number), key=lambda pair: pair[1])
        return f"{split}-{number - first:05d}-of-{self.shards[split]:05d}.parquet"


def plan(rows: dict[str, int], sizes: dict[str, int], shard_bytes: int) -> ShardPlan:
    """Shards by size: as many as the examples' bytes need, and few enough that none stays empty.

    Parameters
    ----------
    rows : dict
        Split to examples.
    sizes : dict
        Split to bytes of its examples before compression (`text_bytes`); a view's file is smaller.
    shard_bytes : int
        Largest wished size.
    """
    shards = {}
    for split, n in rows.items():
        wanted = -(-sizes.get(split, 0) // shard_bytes)
        shards[split] = max(1, min(wanted, n // _ROWS_A_SHARD)) if n else 0
    return ShardPlan(shards)


def by_plan(base: ShardPlan, rows: dict[tuple[str, str], int]) -> dict[tuple[str, ...], ShardPlan]:
    """Which views are written by which plan: a view with few rows has fewer shards, so that none stays empty.

    Parameters
    ----------
    base : ShardPlan
        That of the examples, and of the lineage.
    rows : dict
        (split, view) to rows.
    """
    views: dict[tuple[int, ...], tuple[str, ...]] = {tuple(base.shards.get(s, 0) for s in SPLITS): (LINEAGE,)}
    whole = next(iter(views))
    for view in VIEWS:
        most = {s: max(1, rows[s, view] // _ROWS_A_SHARD) if rows[s, view] else 0 for s in SPLITS}
        own = tuple(min(most[s], base.shards.get(s, 0)) for s in SPLITS)
        # A split of which a view has nothing asks for no plan.
        sparse = any(rows[s, view] and n < base.shards[s] for s, n in zip(SPLITS, own, strict=True))
        key = own if sparse else whole
        views[key] = (*views.get(key, ()), view)
    return {held: ShardPlan(dict(zip(SPLITS, key, strict=True))) for key, held in views.items()}


# Numbers, ids, tags and offsets of a row, by rule of thumb.
_ROW_BYTES: Final = 256


def text_bytes(examples: pa.Table) -> int:
    """Bytes that examples take in a view, from their contents alone: the files that hold them are cut and compressed
    by the number of buckets, and the number of shards must not depend on it.
    """
    provenance, before = flat(examples["provenance"]), flat(examples["context"]).flatten()
    texts = (
        flat(examples["utterance"]),
        flat(examples["response"]),
        *(before.field(f) for f in ("turn_id", "utterance", "response")),
        before.field("arguments").flatten().field("value"),
        provenance.field("turn_ids").flatten(),
        provenance.field("supporting_turns").flatten(),
    )
    # An utterance stands in a view as text and as tokens, a turn id in JSON with its quotes.
    lengths = sum(2 * (pc.sum(pc.binary_length(t)).as_py() or 0) for t in texts)
    return int(lengths + _ROW_BYTES * examples.num_rows)


def examples_by_kind(examples: pa.Table) -> dict[str, int]:
    """Rows a split and kind, a split and view, and a licence, and bytes a split, for the number of shards."""
    found = examples.select(["split", "kind"]).to_pandas().value_counts().items()
    detail = {f"examples.{split}.{kind}": n for (split, kind), n in found}
    sizes = {f"bytes.{s}": text_bytes(examples.filter(pc.equal(examples["split"], s))) for s in SPLITS}
    return detail | count_rows(examples) | count_licences(examples) | sizes


@beam.typehints.with_output_types(pa.Table)
class ReadBuckets(beam.DoFn):
    """Bucket numbers to a record's tables."""

    def __init__(self, folder: str, record: Record) -> None:
        self._folder, self._record = folder, record

    def process(self, bucket: int) -> Iterator[pa.Table]:
        """One bucket."""
        yield storage.read_table(bucket_path(self._folder, bucket), self._record.schema)


@beam.typehints.with_output_types(pa.Table)
class HeldBy(beam.DoFn):
    """Examples to those that some views have rows for, in splits that a plan has shards for."""

    def __init__(self, plan: ShardPlan, views: tuple[str, ...]) -> None:
        self._splits, self._views = pa.array(plan.first()), views

    def process(self, examples: pa.Table) -> Iterator[pa.Table]:
        """One table."""
        held = np.any([VIEWS[view].holds(examples) for view in self._views], axis=0)
        yield filtered(examples, held & is_true(pc.is_in(examples["split"], value_set=self._splits)))


@beam.typehints.with_output_types(pa.Table)
class WriteShard(WholeBuckets):
    """A shard's examples to its file in every view that has any of them, and in the lineage; gives FILE rows.

    Parameters
    ----------
    folder : str
    plan : ShardPlan
    views : tuple of str
        The views to write; `lineage` is one of them.
    left_out : set of (split, view)
        What is not written; see `pipeline.writers.views.unwritten`.
    threads : int
    """

    def __init__(
        self,
        folder: str,
        plan: ShardPlan,
        views: tuple[str, ...] = (*VIEWS, LINEAGE),
        left_out: frozenset[tuple[str, str]] = frozenset(),
        threads: int = 1,
    ) -> None:
        super().__init__(threads)
        self._folder, self._plan, self._views, self._left_out = folder, plan, views, left_out

    def work(self, shard: tuple[int, pa.Table]) -> list[pa.Table]:
        """One shard."""
        number, table = shard
        del shard
        written = []
        examples = table.sort_by("example_id")
        del table
        told = with_texts(examples)
        name = self._plan.name(number)
        for view, make in VIEWS.items():
            if view not in self._views or (name.split("-")[0], view) in self._left_out:
                continue
            rows = make(told)
            # Readers of a data set stumble over a file without rows.
            if rows.num_rows:
                written.append(write_file(self._folder, f"{view}/data/{name}", rows, make.record))
        if LINEAGE in self._views:
            written.append(write_file(self._folder, f"{LINEAGE}/data/{name}", examples, EXAMPLE))
            tally.add(examples.num_rows)
        return written


@beam.typehints.with_output_types(pa.Table)
class WriteDeadLetters(beam.DoFn):
    """A shard of dead letters to its file; gives its FILE row."""

    def __init__(self, folder: str, shards: int) -> None:
        self._folder, self._shards = folder, shards

    def process(self, shard: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One shard."""
        number, table = shard
        # They have no split; `all` would be one of datasets' own words.
        name = f"dead_letters/data/log-{number:05d}-of-{self._shards:05d}.parquet"
        yield write_file(self._folder, name, by_place(table), DEAD_LETTER)


@beam.typehints.with_output_types(pa.Table)
class WriteLeftOut(beam.DoFn):
    """A shard of what was left out to its file; gives its FILE row."""

    def __init__(self, folder: str, plan: ShardPlan) -> None:
        self._folder, self._plan = folder, plan

    def process(self, shard: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One shard."""
        number, table = shard
        rows = table.sort_by("example_id")
        yield write_file(self._folder, f"left_out/data/{self._plan.name(number)}", rows, LEFT_OUT)


@beam.typehints.with_output_types(pa.Table)
class WriteTail(beam.DoFn):
    """A shard of a kind of the tail to its file in the release; gives its FILE row."""

    def __init__(self, folder: str, kind: str, shards: int) -> None:
        self._folder, self._kind, self._shards = folder, kind, shards

    def process(self, shard: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One shard."""
        number, table = shard
        yield write_file(self._folder, path_of(self._kind, number, self._shards), sort(table), TAIL)


def write_file(folder: str, path: str, table: pa.Table, record: Record) -> pa.Table:
    """Write one file of a release; gives its FILE row."""
    data = storage.encode(record.conform(table))
    storage.write_bytes(storage.join(folder, path), data)
    row = {
        "path": path,
        "rows": table.num_rows,
        "bytes": len(data),
        "sha256": storage.sha256(data),
        "schema": record.digest,
    }
    return pa.Table.from_pylist([row], schema=FILE.schema)
