"""Rows for the gates to look at: those of lowest key hash, and how many rows each table holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, strings
from features.text import flat
from pipeline import storage
from pipeline.transforms.counts import counts
from pipeline.transforms.threads import SideBySide
from pipeline.transforms.write import bucket_path
from schemas import (
    EXAMPLE,
    EXAMPLE_SAMPLE,
    JUDGEMENT,
    JUDGEMENT_SAMPLE,
    SIGNAL_SAMPLE,
    SIGNALS,
    TURN,
    TURN_SAMPLE,
    Record,
)

COUNTS: Final = "counts"
_HASH: Final = "key_hash"
_HASH_KEY: Final = "afterword/gates1"
# Standard deviations of the number of rows under a cut that the cut lies above the number wished.
_SLACK: Final = 10


def _length(text: pa.ChunkedArray) -> pa.Array:
    return pc.utf8_length(pc.utf8_trim_whitespace(flat(text)))


def _turns(rows: pa.Table) -> dict[str, pa.Array]:
    return {"utterance_length": _length(rows["utterance"])}


def _signals(rows: pa.Table) -> dict[str, pa.Array]:
    return {
        "begins": pc.equal(rows["turns_before"], 0),
        "named_first": pc.equal(rows["session_id"], rows["turn_id"]),
        "without_gap": pc.is_null(rows["gap_before"]),
    }


def _judgements(rows: pa.Table) -> dict[str, pa.Array]:
    return {
        "at_threshold": pc.greater_equal(rows["p_defect"], rows["threshold"]),
        "blamed": pc.not_equal(rows["blame"], "none"),
        "certified_defect": pc.and_(rows["certified"], rows["is_defect"]),
    }


def _examples(rows: pa.Table) -> dict[str, pa.Array]:
    return {
        "utterance_length": _length(rows["utterance"]),
        "label_length": pc.if_else(
            # What was meant instead is not known.
            pc.equal(rows["kind"], "rejection"),
            pa.scalar(None, pa.int32()),
            pc.coalesce(_length(rows["intent"]), _length(rows["response"])),
        ),
        "turns": pc.list_value_length(pc.struct_field(flat(rows["provenance"]), "turn_ids")),
    }


@dataclass(frozen=True)
class Sampling:
    """How a table is sampled: its record, the sample's, further columns to read, and what is derived of them."""

    source: Record
    sample: Record
    texts: tuple[str, ...]
    derive: Callable[[pa.Table], Mapping[str, pa.Array]]

    @property
    def schema(self) -> pa.Schema:
        """What is read: only the columns needed, null allowed, so that a gate sees it."""
        names = [n for n in self.source.names if n in (*self.sample.names, *self.texts)]
        return pa.schema([pa.field(n, self.source.schema.field(n).type) for n in names])


SAMPLINGS: Final = {
    "turns": Sampling(TURN, TURN_SAMPLE, ("utterance",), _turns),
    "signals": Sampling(SIGNALS, SIGNAL_SAMPLE, (), _signals),
    "judgements": Sampling(JUDGEMENT, JUDGEMENT_SAMPLE, (), _judgements),
    "examples": Sampling(EXAMPLE, EXAMPLE_SAMPLE, ("utterance", "intent", "response", "provenance"), _examples),
}


def highest_hash(rows: int, wished: int) -> int:
    """Largest key hash that can be among the `wished` lowest of `rows` keys; only saves work, by a wide margin."""
    share = (wished + _SLACK * math.sqrt(wished) + _SLACK**2) / max(rows, 1)
    return min(int(share * 2**64), 2**64 - 1) if share < 1 else 2**64 - 1


@beam.typehints.with_output_types(pa.Table, **{COUNTS: pa.Table})
class SampleRows(SideBySide):
    """Bucket numbers to sample rows up to a key hash; how many rows the bucket has goes to the tag `counts`.

    Equal keys have one hash, so what occurs twice stands in the sample twice.
    """

    def __init__(self, name: str, folder: str, highest: int, threads: int = 1) -> None:
        super().__init__(threads)
        self._name, self._folder, self._highest = name, folder, highest

    def work(self, bucket: int) -> list[pa.Table | beam.pvalue.TaggedOutput]:
        """One bucket."""
        sampling = SAMPLINGS[self._name]
        table = storage.read_table(bucket_path(self._folder, bucket), sampling.schema, sampling.schema.names)
        hashes = hash64(strings(table[sampling.sample.key[0]]), _HASH_KEY)
        keep = hashes <= np.uint64(self._highest)
        rows = table.filter(pa.array(keep))
        derived = {n: rows[n] for n in sampling.sample.names if n in rows.column_names} | dict(sampling.derive(rows))
        sample = sampling.sample.conform(pa.table(derived))
        counted = counts("gates", {}, {self._name: table.num_rows})
        return [sample.append_column(_HASH, pa.array(hashes[keep])), beam.pvalue.TaggedOutput(COUNTS, counted)]


@beam.typehints.with_output_types(pa.Table)
class CountRows(beam.DoFn):
    """Bucket numbers to how many rows a bucket has."""

    def __init__(self, name: str, folder: str) -> None:
        self._name, self._folder = name, folder

    def process(self, bucket: int) -> Iterator[pa.Table]:
        """One bucket."""
        yield counts("gates", {}, {self._name: storage.rows(bucket_path(self._folder, bucket))})


class WriteLowest(beam.PTransform):
    """Put sample tables together to one file: the rows of lowest key hash, in that order."""

    def __init__(self, path: str, record: Record, wished: int) -> None:
        super().__init__()
        self._path, self._record, self._wished = path, record, wished

    def expand(self, tables: beam.PCollection) -> beam.PCollection:
        """Build the graph."""
        whole = tables | beam.CombineGlobally(self._lowest).with_output_types(pa.Table)
        return whole | beam.Map(self._write).with_output_types(type(None))

    def _lowest(self, parts: Iterable[pa.Table]) -> pa.Table:
        """Of parts of what is already lowest the lowest are the lowest of all, so no more is ever held."""
        empty = self._record.empty().append_column(_HASH, pa.array([], pa.uint64()))
        table = pa.concat_tables([empty, *parts])
        order = [(_HASH, "ascending"), (self._record.key[0], "ascending")]
        return table.sort_by(order).slice(0, self._wished).combine_chunks()

    def _write(self, table: pa.Table) -> None:
        storage.write_record(self._path, table.select(self._record.names), self._record)
