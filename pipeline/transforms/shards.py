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
from features.text import flat
from pipeline import storage, tally
from pipeline.transforms.ingest import by_place
from pipeline.transforms.write import bucket_path
from pipeline.writers.views import VIEWS, tool_calls_by_kind
from schemas import DEAD_LETTER, EXAMPLE, FILE, LEFT_OUT, SPLITS, Record


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
        # With 50 rows a shard the chance of an empty one is e^-50.
        shards[split] = max(1, min(wanted, n // 50)) if n else 0
    return ShardPlan(shards)


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
    """Rows a split and kind, those of tool calls too, and bytes a split, which the number of shards follows from."""
    found = examples.select(["split", "kind"]).to_pandas().value_counts().items()
    detail = {f"examples.{split}.{kind}": n for (split, kind), n in found}
    sizes = {f"bytes.{s}": text_bytes(examples.filter(pc.equal(examples["split"], s))) for s in SPLITS}
    return detail | tool_calls_by_kind(examples) | sizes


@beam.typehints.with_output_types(pa.Table)
class ReadBuckets(beam.DoFn):
    """Bucket numbers to a record's tables."""

    def __init__(self, folder: str, record: Record) -> None:
        self._folder, self._record = folder, record

    def process(self, bucket: int) -> Iterator[pa.Table]:
        """One bucket."""
        yield storage.read_table(bucket_path(self._folder, bucket), self._record.schema)


@beam.typehints.with_output_types(pa.Table)
class WriteShard(beam.DoFn):
    """A shard's examples to its file in every view that has any of them, and in the lineage; gives FILE rows."""

    def __init__(self, folder: str, plan: ShardPlan) -> None:
        self._folder, self._plan = folder, plan

    def process(self, shard: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One shard."""
        number, table = shard
        examples = table.sort_by("example_id")
        name = self._plan.name(number)
        for view, make in VIEWS.items():
            rows = make(examples)
            # Readers of a data set stumble over a file without rows.
            if rows.num_rows:
                yield write_file(self._folder, f"{view}/data/{name}", rows, make.record)
        yield write_file(self._folder, f"lineage/data/{name}", examples, EXAMPLE)
        tally.add(examples.num_rows)


@beam.typehints.with_output_types(pa.Table)
class WriteDeadLetters(beam.DoFn):
    """A shard of dead letters to its file; gives its FILE row."""

    def __init__(self, folder: str, shards: int) -> None:
        self._folder, self._shards = folder, shards

    def process(self, shard: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One shard."""
        number, table = shard
        name = f"dead_letters/data/all-{number:05d}-of-{self._shards:05d}.parquet"
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
