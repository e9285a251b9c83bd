"""Buckets of turns to the conversations that users of both sides of the split speak in: before any vote is cast."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import apache_beam as beam
import numpy as np
import pyarrow as pa

from pipeline import storage, tally
from pipeline.curation.shuffling import Shuffling
from pipeline.transforms.conversations import I64, SIDE_READS, on_both, sides
from pipeline.transforms.threads import SideBySide
from pipeline.transforms.write import bucket_path
from schemas import SHARED_CONVERSATION

# Rows are 9 bytes, one a conversation and side: of so many buckets of turns they make one.
_BUCKETS_A_PART = 16


@beam.typehints.with_output_types(pa.Table)
class ReadSides(SideBySide):
    """Bucket numbers to SIDE tables."""

    def __init__(self, turns: str, test_share: float, test_from: datetime | None, threads: int = 1) -> None:
        super().__init__(threads)
        self._turns, self._test_share, self._test_from = turns, test_share, test_from

    def work(self, bucket: int) -> list[pa.Table]:
        """One bucket."""
        texts = SIDE_READS[:2]
        columns = texts if self._test_from is None else SIDE_READS
        with storage.open_parquet(bucket_path(self._turns, bucket), texts, whole=True) as file:
            turns = file.read(columns=list(columns))
        tally.add(turns.num_rows)
        return [sides(turns, self._test_share, self._test_from)]


@beam.typehints.with_output_types(pa.Table)
class FindShared(beam.DoFn):
    """Buckets of whole conversations to SHARED_CONVERSATION rows."""

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One bucket."""
        yield pa.table([pa.array(on_both(bucket[1]))], schema=SHARED_CONVERSATION.schema)


class ByConversation:
    """Partition rows by their conversation, which is a hash."""

    def __init__(self, buckets: int) -> None:
        self._buckets = -(-buckets // _BUCKETS_A_PART)

    def __call__(self, table: pa.Table) -> I64:
        """Bucket of each row, shape (n,)."""
        hashes = table["conversation"].to_numpy().view(np.uint64)
        return (hashes % np.uint64(self._buckets)).astype(np.int64)


class SharedConversations(beam.PTransform):
    """Bucket numbers to SHARED_CONVERSATION tables."""

    def __init__(self, read: ReadSides, shuffling: Shuffling) -> None:
        super().__init__()
        self._read, self._by = read, shuffling

    def expand(self, buckets: beam.PCollection) -> beam.PCollection:
        """Build the graph."""
        together = self._by.shuffle(ByConversation(self._by.buckets))
        return buckets | "ReadSides" >> beam.ParDo(self._read) | together | "FindShared" >> beam.ParDo(FindShared())


@dataclass(frozen=True)
class Shared:
    """The conversations that were found. Is sent to workers, with the file's path.

    Attributes
    ----------
    path, sha256 : str
        SHARED_CONVERSATION rows as Parquet, and the hash of the file.
    """

    path: str
    sha256: str

    @property
    def hashes(self) -> I64:
        """Hashes of the conversations, ascending; read once a worker."""
        return _held(self.path, self.sha256)


@lru_cache(maxsize=1)
def _held(path: str, sha256: str) -> I64:
    return read_shared(path)


def read_shared(path: str) -> I64:
    """Hashes of the conversations in a file of SHARED_CONVERSATION rows, ascending."""
    table = storage.read_table(path, SHARED_CONVERSATION.schema)
    return np.asarray(table["conversation"].to_numpy(), dtype=np.int64)
