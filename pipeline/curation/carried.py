"""Examples that are carried over for a quarantined domain, held against the new ones as those were against each other.

A carried example gives way: to a new one that reads alike and teaches the same or stands in the other split, and where
its conversation has an example in the other split. Of two carried ones that are alike, as the options may have changed
since, the worse goes.
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
from apache_beam.pvalue import TaggedOutput

from features.hashing import hash_texts, strings
from features.interpretation import list_offsets
from features.text import flat
from pipeline import storage
from pipeline.curation.conversations import ByConversation
from pipeline.curation.duplicates import ByBucket, NearDuplicates, keys
from pipeline.curation.near import NearOptions, near_rows
from pipeline.curation.resolve import resolve, verdicts
from pipeline.curation.shingles import I64
from pipeline.curation.shuffling import Shuffling
from pipeline.transforms.counts import counts, rows_by_domain
from pipeline.transforms.quarantine import dropped
from pipeline.transforms.shards import examples_by_kind
from pipeline.transforms.withheld import withheld_for
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import EXAMPLE, LeftOutReason

Mask = npt.NDArray[np.bool_]

# An example's conversations: `key` is where it lies.
_TALK: Final = pa.schema([("conversation", pa.int64()), ("test", pa.bool_()), ("key", pa.int64())])
OTHER_SIDE: Final = "conversation_on_other_side"
# Of several reasons the first of these is told.
_REASONS: Final = (str(LeftOutReason.DUPLICATE_ACROSS_SPLITS), str(LeftOutReason.NEAR_DUPLICATE), OTHER_SIDE)


@dataclass(frozen=True)
class Places:
    """Where new and carried examples lie: buckets from `first_carried` on are those of the carried ones.

    Attributes
    ----------
    new, carried : str
        Folders.
    first_carried : int
        As many as the new ones have buckets.
    """

    new: str
    carried: str
    first_carried: int

    def __call__(self, bucket: int) -> str:
        """Path of a bucket's file."""
        is_new = bucket < self.first_carried
        return bucket_path(self.new, bucket) if is_new else bucket_path(self.carried, bucket - self.first_carried)

    def with_carried(self, pairs: pa.Table) -> pa.Table:
        """PAIR rows with a carried example: the others are known to be unlike."""
        asked = np.any([self.is_carried(pairs[side].to_numpy()) for side in pairs.column_names], axis=0)
        return pairs.filter(pa.array(asked))

    def is_carried(self, key: I64) -> Mask:
        """Whether each key is of a carried example, shape (n,)."""
        return np.asarray(key >= keys(self.first_carried, np.zeros(1, np.int64))[0], dtype=bool)


@beam.typehints.with_output_types(pa.Table, near=pa.Table, verdicts=pa.Table)
class LookAgain(beam.DoFn):
    """Bucket numbers to the conversations of their examples; `near_rows`, and verdicts on nothing, go to tags."""

    def __init__(self, places: Places, near: NearOptions | None) -> None:
        self._places, self._near = places, near

    def process(self, bucket: int) -> Iterator[pa.Table | TaggedOutput]:
        """One bucket."""
        examples = storage.read_table(self._places(bucket), EXAMPLE.schema)
        key = keys(bucket, np.arange(examples.num_rows))
        yield _talks(examples, key)
        if self._near is not None:
            yield TaggedOutput("near", near_rows(examples, key, self._near))
        if bucket >= self._places.first_carried:
            yield TaggedOutput("verdicts", verdicts(keys(bucket, np.zeros(1, np.int64))))


def _talks(examples: pa.Table, key: I64) -> pa.Table:
    lists = flat(pc.struct_field(flat(examples["provenance"]), "conversations"))
    many = np.diff(list_offsets(lists))
    test = strings(examples["split"]) == "test"
    columns = [hash_texts(lists.flatten()).view(np.int64), np.repeat(test, many), np.repeat(key, many)]
    return pa.table([pa.array(c) for c in columns], schema=_TALK)


def _verdicts(key: I64, reason: str) -> pa.Table:
    return verdicts(key, reason=pa.repeat(reason, len(key)))


@beam.typehints.with_output_types(pa.Table)
class GiveWay(beam.DoFn):
    """All edges to VERDICT rows of carried examples."""

    def __init__(self, options: NearOptions, places: Places) -> None:
        self._options, self._places = options, places

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """The one bucket."""
        edges = bucket[1]
        first, second = (edges[side].to_numpy() for side in ("first", "second"))
        old = [self._places.is_carried(side) for side in (first, second)]
        beside_new = old[0] != old[1]
        across = edges["across"].to_numpy()
        gone = np.where(old[0], first, second)
        for reason, rows in zip(_REASONS[:2], (across, ~across), strict=True):
            yield _verdicts(np.unique(gone[beside_new & rows]), reason)
        held = ~beside_new & ~np.isin(first, gone[beside_new]) & ~np.isin(second, gone[beside_new])
        yield resolve(edges.filter(pa.array(held)), self._options.detail)


@beam.typehints.with_output_types(pa.Table)
class OnOtherSide(beam.DoFn):
    """Buckets of whole conversations to VERDICT rows of carried examples that have new ones of the other side there."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One bucket."""
        talk, test, key = (bucket[1][name].to_numpy() for name in _TALK.names)
        old = self._places.is_carried(key)
        against = [old & (test == side) & np.isin(talk, talk[~old & (test != side)]) for side in (False, True)]
        yield _verdicts(np.unique(key[against[0] | against[1]]), OTHER_SIDE)


@beam.typehints.with_output_types(pa.Table)
class KeepCarried(beam.DoFn):
    """Buckets of verdicts to a file of the carried examples that stay; gives their counts."""

    def __init__(self, places: Places, domains: tuple[str, ...]) -> None:
        self._places, self._domains = places, domains

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One bucket."""
        number, told = bucket
        examples = storage.read_table(self._places(number), EXAMPLE.schema)
        reason = np.full(examples.num_rows, "", dtype=object)
        row = told["key"].to_numpy() - keys(number, np.zeros(1, np.int64))[0]
        for name in reversed(_REASONS):
            reason[row[strings(told["reason"]) == name]] = name
        yield dropped(examples, reason, self._domains)
        stays = examples.filter(pa.array(reason == ""))
        write_bucket(self._places.new, number, stays, EXAMPLE)
        detail = {"carried": stays.num_rows, **examples_by_kind(stays)}
        yield counts("release", {}, detail, rows_by_domain("carried", withheld_for(stays, self._domains)))


class HoldCarried(beam.PTransform):
    """Numbers of the buckets of new and carried examples to files of the carried ones that stay, beside those of the
    new ones; gives COUNT tables.

    Parameters
    ----------
    places : Places
    near : NearOptions or None
        None = near-duplicates are not looked for.
    domains : tuple of str
        Quarantined domains.
    shuffling : Shuffling
    """

    def __init__(
        self, places: Places, near: NearOptions | None, domains: tuple[str, ...], shuffling: Shuffling
    ) -> None:
        super().__init__()
        self._places, self._near, self._domains, self._by = places, near, domains, shuffling

    def expand(self, numbers: beam.PCollection) -> beam.PCollection:
        """Build the graph."""
        places, near = self._places, self._near
        looked = numbers | beam.ParDo(LookAgain(places, near)).with_outputs("near", "verdicts", main="talks")
        talks = looked.talks | "ByConversation" >> self._by.shuffle(ByConversation(self._by.buckets))
        found = [looked.verdicts, talks | beam.ParDo(OnOtherSide(places))]
        if near is not None:
            alike = NearDuplicates(places, near, self._by, places.with_carried, GiveWay(near, places))
            found.append(looked.near | alike)
        gathered = tuple(found) | "ToCarried" >> self._by.shuffle(ByBucket("key"))
        return gathered | beam.ParDo(KeepCarried(places, self._domains))
