"""Turns as read to the Turn table: one row a turn_id, whole subjects together, in the total order.

The rows go straight to their subjects. Which of several records of a turn_id stays is found from the few columns that
decide it; only where they belong to different subjects, the losers' buckets are sent a notice of the winner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, join, strings
from pipeline.filters.excluded import with_excluded
from pipeline.filters.rules import Rule
from pipeline.tail.sessions import TAKEN
from pipeline.transforms.counts import counts
from pipeline.transforms.shuffle import Cut, Together, WholeBuckets
from pipeline.transforms.spread import DECIDING, ROWS, way
from pipeline.transforms.superseding import BATCH_ROW, DECIDES, marked, notices, repeated, settled, strangers, supersede
from pipeline.transforms.tail import TailTables, split_off
from pipeline.transforms.write import write_bucket
from schemas import DEAD_LETTER, GOLD, TURN

# What `IngestTurns` takes: turns as tables, in one PCollection or more, or by what they are.
TABLES: Final = "tables"
Read = beam.PCollection | tuple[beam.PCollection, ...] | dict[str, tuple[beam.PCollection, ...]]


@beam.typehints.with_output_types(pa.Table, **{DECIDING: pa.Table})
class _Fork(beam.DoFn):
    """Mark rows and pass them on; what decides about them goes to the tag `deciding`."""

    def process(self, turns: pa.Table) -> Iterator[pa.Table | beam.pvalue.TaggedOutput]:
        """One batch."""
        rows = marked(turns)
        yield beam.pvalue.TaggedOutput(DECIDING, rows.select(DECIDES))
        yield rows


@beam.typehints.with_output_types(pa.Table, counts=pa.Table)
class _Supersede(WholeBuckets):
    """Give notice of the records that stay; counts go to the tag `counts`."""

    def work(self, bucket: tuple[int, pa.Table]) -> list[pa.Table | beam.pvalue.TaggedOutput]:
        """One bucket of turn ids."""
        _, table = bucket
        rivals = table.filter(pa.array(repeated(table)))
        kept = supersede(rivals)
        gone = {"superseded": rivals.num_rows - kept.num_rows}
        told = {"superseded.other_conversation": strangers(rivals, kept)}
        counted = counts("ingest", {"in": table.num_rows} | gone, told)
        return [notices(rivals, kept), beam.pvalue.TaggedOutput("counts", counted)]


@beam.typehints.with_output_types(pa.Table)
class _WriteTurns(WholeBuckets):
    """Settle and write a bucket of subjects, marked by the rules that keep turns out of learning; gives its counts.

    Of an incremental run the sessions that it judges; the rest goes to the tables of the tail.
    """

    def __init__(self, folder: str, threads: int, rules: Sequence[Rule] = (), tail: TailTables | None = None) -> None:
        super().__init__(threads)
        self._folder, self._rules, self._tail = folder, tuple(rules), tail

    def work(self, bucket: tuple[int, pa.Table]) -> list[pa.Table]:
        """One bucket."""
        number, table = bucket
        turns, lost = settled(table)
        if self._tail is None:
            turns, others = turns.drop_columns([TAKEN]), []
        else:
            turns, others = split_off(number, turns, lost, self._tail)
        turns = with_excluded(turns, self._rules)
        if turns.num_rows:
            write_bucket(self._folder, number, turns, TURN)
        names = turns["excluded"].value_counts().to_pylist() if self._rules else []
        told = {f"excluded.{row['values']}": row["counts"] for row in names if row["values"] is not None}
        if orphans := pc.sum(turns["orphan"]).as_py():
            told["orphans"] = orphans
        return [counts("ingest", {"kept": turns.num_rows}, told), *others]


class IngestTurns(beam.PTransform):
    """Turn tables to files, one a bucket of subjects; gives COUNT tables.

    Takes turns as read, or with them a second PCollection of those that were taken over (`ReadTail`); or a dict of
    such tables, as `tables`, and of pieces of turns that `Spread` has cut, as `rows` and `deciding`.
    """

    def __init__(
        self,
        folder: str,
        buckets: int,
        mode: str,
        spill: str,
        threads: int = 1,
        rules: Sequence[Rule] = (),
        tail: TailTables | None = None,
    ) -> None:
        super().__init__()
        self._folder, self._buckets, self._mode, self._spill = folder, buckets, mode, spill
        self._threads, self._rules, self._tail = threads, rules, tail

    def expand(self, turns: Read) -> beam.PCollection:
        """Build the graph."""
        held = turns if isinstance(turns, dict) else {TABLES: turns if isinstance(turns, tuple) else (turns,)}
        deciding, rows = list(held.get(DECIDING, ())), list(held.get(ROWS, ()))
        for k, each in enumerate(held.get(TABLES, ())):
            fork = each | f"Fork{k or ''}" >> beam.ParDo(_Fork()).with_outputs(DECIDING, main=ROWS)
            deciding.append(fork[DECIDING] | f"CutDeciding{k or ''}" >> self._cut(DECIDING))
            rows.append(fork[ROWS] | f"CutRows{k or ''}" >> self._cut(ROWS))
        supersede = beam.ParDo(_Supersede(self._threads)).with_outputs("counts", main="notices")
        ruled = tuple(deciding) | "ByTurn" >> Together() | "Supersede" >> supersede
        rows.append(ruled.notices | "CutNotices" >> self._cut(ROWS))
        write = _WriteTurns(self._folder, self._threads, self._rules, self._tail)
        written = tuple(rows) | "BySubject" >> Together() | "WriteTurns" >> beam.ParDo(write)
        return (ruled.counts, written) | "Counts" >> beam.Flatten()

    def _cut(self, tag: str) -> Cut:
        partition, folder = way(tag, self._buckets, self._spill)
        return Cut(partition, self._mode, folder, self._threads)


class Place:
    """Partition of dead letters, by where they stood in the input."""

    def __init__(self, buckets: int) -> None:
        self._buckets = buckets

    def __call__(self, table: pa.Table) -> npt.NDArray[np.int64]:
        """Bucket of each row, shape (n,)."""
        source = table["source"].combine_chunks()
        where = join(strings(source.field("uri")), strings(source.field("position").cast(pa.string())))
        return np.asarray(hash64(where, "afterword/part/1") % np.uint64(self._buckets), dtype=np.int64)


def by_place(dead: pa.Table) -> pa.Table:
    """Dead letters in the order of the input: file, position, then the rest."""
    source = dead["source"].combine_chunks()
    keyed = dead.append_column("uri", source.field("uri")).append_column("at", source.field("position"))
    ordered = keyed.sort_by([(k, "ascending") for k in ("uri", "at", "reason", "detail", "record")])
    return ordered.select(dead.column_names)


@beam.typehints.with_output_types(pa.Table)
class WriteDead(beam.DoFn):
    """Sort and write a bucket of dead letters; gives its counts, broken down by reason."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One bucket."""
        number, table = bucket
        write_bucket(self._folder, number, by_place(table), DEAD_LETTER)
        reasons = {f"dead_letter.{r['values']}": r["counts"] for r in table["reason"].value_counts().to_pylist()}
        yield counts("ingest", {"in": table.num_rows, "dead_lettered": table.num_rows}, reasons)


def last_read(gold: pa.Table) -> pa.Table:
    """One label a key, the one read last as `supersede` has it: a corrected record brings its labels along.

    Parameters
    ----------
    gold : pyarrow.Table
        Labels as `numbered` or `marked_labels` gives them.
    """
    place = gold["read_from"].combine_chunks()
    keyed = gold.append_column("uri", place.field("uri")).append_column("at", place.field("position"))
    order = [*GOLD.key, "uri", "at", BATCH_ROW]
    if TAKEN in gold.column_names:
        keyed = keyed.append_column("run", gold[TAKEN].is_null().cast(pa.int8()))
        order.insert(len(GOLD.key), "run")
    keyed = keyed.sort_by([(k, "ascending") for k in order])
    key = join(*(strings(keyed[k]) for k in GOLD.key))
    last = np.append(key[1:] != key[:-1], True) if len(key) else np.zeros(0, bool)
    return keyed.filter(pa.array(last)).select(GOLD.names)


@beam.typehints.with_output_types(pa.Table)
class WriteGold(beam.DoFn):
    """Sort and write a bucket of labels; of a label that is read twice the one read last is kept."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One bucket."""
        number, table = bucket
        labels = last_read(table)
        write_bucket(self._folder, number, labels, GOLD)
        yield counts("ingest", {}, {"gold_labels": labels.num_rows})
