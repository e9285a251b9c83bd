"""Edges of the reformulation chain: counted a bucket, summed by start, cut to what enough users did."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import mix, strings
from features.interpretation import list_offsets
from features.language import languages
from features.text import flat
from models.edges import add_edges, edges_of, known_edges
from models.leading import leading
from models.reformulation import READS
from pipeline import storage, tally
from pipeline.transforms.sample import learnable_rows
from pipeline.transforms.shuffle import Group, WholeBuckets
from pipeline.transforms.threads import SideBySide
from pipeline.transforms.write import bucket_path
from schemas import TURN

# Buckets whose edges make one part of a large log's: about as many bytes as one of them. A part has its own cost.
_BUCKETS_A_PART: Final = 4
_PARTS: Final = 64
# Of the candidates only what a turn was taken for is wanted; the rest is most of the file.
_CANDIDATES: Final = tuple(f"candidates.list.element.{name}" for name in ("candidate_id", "offset"))

I64 = npt.NDArray[np.int64]


def parts_of(buckets: int) -> int:
    """Parts that the edges of so many buckets are summed in: what one worker holds."""
    return max(1, min(buckets, max(_PARTS, buckets // _BUCKETS_A_PART)))


@beam.typehints.with_output_types(pa.Table)
class CountEdges(SideBySide):
    """Bucket numbers to EDGE rows of the bucket's users.

    Turns that may not be learned from neither start nor end a move.

    Parameters
    ----------
    turns, signals : str
        Folders of the tables.
    language, by_locale : str, bool
        Which lexicon names the acts of a dialog; see `features.signals.SignalOptions`.
    gap : float
        See `models.reformulation.moves`.
    folds : int
    before : datetime, optional
        Sessions that start from then on are kept for the proof of the thresholds, and not counted.
    threads : int
    """

    def __init__(
        self,
        turns: str,
        signals: str,
        language: str,
        by_locale: bool,
        gap: float,
        folds: int,
        before: datetime | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__(threads)
        self._turns, self._signals = turns, signals
        self._language, self._by_locale = language, by_locale
        self._gap, self._folds, self._before = gap, folds, before

    def work(self, bucket: int) -> list[pa.Table]:
        """One bucket."""
        table, reading = _read(bucket_path(self._signals, bucket))
        turns = storage.read_table(bucket_path(self._turns, bucket), TURN.schema, ["interpretations", "locale"])
        counted = learnable_rows(self._turns, bucket) & self._early(table)
        spoken = languages(turns["locale"], self._language, self._by_locale)
        edges = edges_of(table, reading, turns["interpretations"], counted, spoken, self._folds, self._gap)
        tally.add(table.num_rows)
        return [edges]

    def _early(self, table: pa.Table) -> npt.NDArray[np.bool_]:
        if self._before is None:
            return np.ones(table.num_rows, bool)
        start = table["event_time"].to_pandas().groupby(strings(table["session_id"])).transform("min")
        return (start < self._before).to_numpy()


def _read(path: str) -> tuple[pa.Table, I64]:
    """The columns of Signals rows that moves are read off, and what each turn was taken for."""
    with storage.open_parquet(path, whole=True) as file:
        table = file.read(columns=["subject_id", "event_time", *READS, *_CANDIDATES])
    lists = flat(table["candidates"])
    entries = lists.flatten()
    ids, offset = (entries.field(name).to_numpy().astype(np.int64) for name in ("candidate_id", "offset"))
    return table, leading(ids, offset, list_offsets(lists))


class ByStart:
    """Partition EDGE rows: all of a start (words and reading) are in one part."""

    def __init__(self, parts: int) -> None:
        self._in = parts

    def __call__(self, edges: pa.Table) -> I64:
        """Part of each row, shape (n,)."""
        start = mix(edges["words"].fill_null(0).to_numpy(), edges["reading"].to_numpy())
        return (start.view(np.uint64) % np.uint64(self._in)).astype(np.int64)


@beam.typehints.with_output_types(pa.Table)
class SumEdges(WholeBuckets):
    """(part, EDGE rows) to what enough users of each start did."""

    def __init__(self, min_users: int, threads: int = 1) -> None:
        super().__init__(threads)
        self._min_users = min_users

    def work(self, element: tuple[int, pa.Table]) -> list[pa.Table]:
        """One part."""
        return [known_edges(add_edges([element[1]]), self._min_users)]


class KnownEdges(beam.PTransform):
    """EDGE rows of all buckets to one EDGE table of what enough users did.

    Parameters
    ----------
    min_users : int
    by_start : Group
        By `ByStart`. What a runner combines it may hold at once; the edges of a large log are most of its turns.
    threads : int
    """

    def __init__(self, min_users: int, by_start: Group, threads: int = 1) -> None:
        super().__init__()
        self._min_users, self._by_start, self._threads = min_users, by_start, threads

    def expand(self, edges: beam.PCollection) -> beam.PCollection:
        """Bring the edges of a start together, sum them, and put what is left together."""

        def add(tables: Iterable[pa.Table]) -> pa.Table:
            return add_edges(list(tables))

        return (
            edges
            | "ByStart" >> self._by_start
            | "Sum" >> beam.ParDo(SumEdges(self._min_users, self._threads))
            | "Gather" >> beam.CombineGlobally(add).with_output_types(pa.Table)
        )
