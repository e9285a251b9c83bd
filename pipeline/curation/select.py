"""Stage curate's second half: which of the pooled examples go on, and why the others do not.

Two rounds, the second only where something is capped. A round looks at the examples of its folder, gathers a verdict on
each that is to be left out, and writes the others to the next folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Final

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from features.text import flat
from pipeline import storage, tally
from pipeline.curation import passes as local
from pipeline.curation.caps import READS, Caps, capped, rivals, sampled
from pipeline.curation.duplicates import ByBucket, NearDuplicates, keys
from pipeline.curation.near import NearOptions, near_rows
from pipeline.curation.resolve import VERDICT, verdicts
from pipeline.curation.rows import left_out
from pipeline.curation.shingles import I64
from pipeline.curation.shuffling import Shuffling
from pipeline.curation.texts import READS as TEXT_READS
from pipeline.transforms.counts import counts, domain_names, rows_by_domain
from pipeline.transforms.shards import examples_by_kind
from pipeline.transforms.shuffle import WholeBuckets
from pipeline.transforms.threads import SideBySide
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import EXAMPLE, LEFT_OUT

# Files that a bucket may have in the table of what is left out: one a round.
ROUNDS: Final = 2
_VERDICTS: Final = "verdicts"


def _nothing(bucket: int) -> pa.Table:
    """A verdict on no example, so that every bucket is written, whether or not any of it is left out."""
    return verdicts(keys(bucket, np.zeros(1, np.int64)))


@beam.typehints.with_output_types(pa.Table, **{_VERDICTS: pa.Table})
class Look(SideBySide):
    """Bucket numbers to tables of `near_rows`; what the passes over one bucket say goes to the tag `verdicts`."""

    def __init__(self, folder: str, passes: tuple[local.Pass, ...], near: NearOptions | None, threads: int = 1) -> None:
        super().__init__(threads)
        self._folder, self._passes, self._near = folder, passes, near

    def work(self, bucket: int) -> list[pa.Table | TaggedOutput]:
        """One bucket."""
        columns = list(EXAMPLE.names if self._passes else TEXT_READS)
        examples = storage.read_table(bucket_path(self._folder, bucket), EXAMPLE.schema, columns)
        tally.add(examples.num_rows)
        told = local.apply(examples, self._passes)
        rows = pc.index_in(told["example_id"], value_set=flat(examples["example_id"])).to_numpy().astype(np.int64)
        of_passes = verdicts(keys(bucket, rows), **{name: told[name] for name in VERDICT.names if name != "key"})
        out = [TaggedOutput(_VERDICTS, pa.concat_tables([_nothing(bucket), of_passes]))]
        if self._near is None:
            return out
        left = np.delete(np.arange(examples.num_rows), rows)
        return [*out, near_rows(examples.take(pa.array(left)), keys(bucket, left), self._near)]


@beam.typehints.with_output_types(pa.Table, **{_VERDICTS: pa.Table})
class ReadRivals(SideBySide):
    """Bucket numbers to RIVAL tables; a verdict on no example goes to the tag `verdicts`."""

    def __init__(self, folder: str, threads: int = 1) -> None:
        super().__init__(threads)
        self._folder = folder

    def work(self, bucket: int) -> list[pa.Table | TaggedOutput]:
        """One bucket."""
        examples = storage.read_table(bucket_path(self._folder, bucket), EXAMPLE.schema, list(READS))
        rows = rivals(examples, keys(bucket, np.arange(examples.num_rows)))
        return [TaggedOutput(_VERDICTS, _nothing(bucket)), rows]


@beam.typehints.with_output_types(pa.Table, **{_VERDICTS: pa.Table})
class Cap(beam.DoFn):
    """Buckets of whole users, intents or domains to the RIVAL rows that stay; verdicts go to the tag `verdicts`."""

    def __init__(self, column: str, caps: Caps) -> None:
        self._column, self._caps = column, caps

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table | TaggedOutput]:
        """One bucket."""
        rows = bucket[1]
        if self._column == "intent":
            rows, gone = sampled(rows, self._caps.power, self._caps.floor)
            yield TaggedOutput(_VERDICTS, gone)
        most = getattr(self._caps, self._column)
        rows, gone = capped(rows, self._column, most, f"max_per_{self._column}")
        yield TaggedOutput(_VERDICTS, gone)
        yield rows


class ByGroup:
    """Partition RIVAL rows by a user, an intent or a domain, all hashes."""

    def __init__(self, column: str, buckets: int) -> None:
        self._column, self._buckets = column, buckets

    def __call__(self, table: pa.Table) -> I64:
        """Bucket of each row, shape (n,). What is under no cap is spread."""
        group, key = (table[name].to_numpy() for name in (self._column, "key"))
        spread = np.where(group == 0, key, group).astype(np.int64).view(np.uint64)
        return (spread % np.uint64(self._buckets)).astype(np.int64)


@beam.typehints.with_output_types(pa.Table)
class Apply(WholeBuckets):
    """Buckets of verdicts to a file of the examples that stay and one of LEFT_OUT rows; gives their counts."""

    def __init__(self, source: str, target: str, left: str, number: int, is_last: bool, threads: int = 1) -> None:
        super().__init__(threads)
        self._source, self._target, self._left = source, target, left
        self._number, self._is_last = number, is_last

    def work(self, element: tuple[int, pa.Table]) -> list[pa.Table]:
        """One bucket."""
        bucket, found = element
        examples = storage.read_table(bucket_path(self._source, bucket), EXAMPLE.schema)
        found = found.filter(pc.is_valid(found["reason"]))
        rows = found["key"].to_numpy() - keys(bucket, np.zeros(1, np.int64))[0]
        told = (found[name].to_pylist() for name in ("reason", "detail", "of", "similarity"))
        gone = left_out(examples, rows, *told)
        stays = examples.take(pa.array(np.delete(np.arange(examples.num_rows), rows)))
        write_bucket(self._target, bucket, stays, EXAMPLE)
        if gone.num_rows:
            write_bucket(self._left, bucket * ROUNDS + self._number, gone, LEFT_OUT)
        return [_counted(gone), *([kept(stays)] if self._is_last else [])]


def _counted(gone: pa.Table) -> pa.Table:
    """COUNT rows of what is left out."""
    splits = Counter(f"left_out.{split}" for split in gone["split"].to_pylist())
    return counts("curate", dict(Counter(gone["reason"].to_pylist())), dict(splits))


def kept(examples: pa.Table) -> pa.Table:
    """COUNT rows of the examples that stage curate hands on."""
    by_label = rows_by_domain("examples", domain_names(examples["domain"]))
    return counts("curate", {"kept": examples.num_rows}, examples_by_kind(examples), by_label)


class Sift(beam.PTransform):
    """Bucket numbers to the files of the first round: contamination, what is known, duplicates; gives COUNT tables."""

    def __init__(
        self, passes: tuple[local.Pass, ...], near: NearOptions | None, apply: Apply, folder: str, shuffling: Shuffling
    ) -> None:
        super().__init__()
        self._passes, self._near, self._apply = passes, near, apply
        self._folder, self._by = folder, shuffling

    def expand(self, numbers: beam.PCollection) -> beam.PCollection:
        """Build the graph."""
        look = Look(self._folder, self._passes, self._near, self._by.threads)
        looked = numbers | "Look" >> beam.ParDo(look).with_outputs(_VERDICTS, main="near")
        found = [looked[_VERDICTS]]
        if self._near is not None:
            found.append(looked.near | NearDuplicates(partial(bucket_path, self._folder), self._near, self._by))
        gathered = tuple(found) | "ToBuckets" >> self._by.group(ByBucket("key"))
        return gathered | "Apply" >> beam.ParDo(self._apply)


class CapAndSample(beam.PTransform):
    """Bucket numbers to the files of the second round; gives COUNT tables."""

    def __init__(self, caps: Caps, apply: Apply, folder: str, shuffling: Shuffling) -> None:
        super().__init__()
        self._caps, self._apply, self._folder, self._by = caps, apply, folder, shuffling

    def expand(self, numbers: beam.PCollection) -> beam.PCollection:
        """Build the graph: users, then intents, then domains, each among what the one before left."""
        read = ReadRivals(self._folder, self._by.threads)
        held = numbers | "ReadRivals" >> beam.ParDo(read).with_outputs(_VERDICTS, main="rows")
        rows, found = held.rows, [held[_VERDICTS]]
        for column in ("user", "intent", "domain"):
            together = rows | f"By {column}" >> self._by.shuffle(ByGroup(column, self._by.buckets))
            cut = together | f"Cap {column}" >> beam.ParDo(Cap(column, self._caps)).with_outputs(_VERDICTS, main="rows")
            rows, found = cut.rows, [*found, cut[_VERDICTS]]
        gathered = tuple(found) | "ToBuckets" >> self._by.group(ByBucket("key"))
        return gathered | "Apply" >> beam.ParDo(self._apply)
