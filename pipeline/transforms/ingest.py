"""Turns as read to the Turn table: one row a turn_id, whole subjects together, in the total order."""

from __future__ import annotations

from collections.abc import Iterator

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, join, strings
from features.timeline import sort
from pipeline.transforms.counts import counts
from pipeline.transforms.shuffle import KeyHash, Shuffle
from pipeline.transforms.write import write_bucket
from schemas import DEAD_LETTER, GOLD, TURN


def supersede(turns: pa.Table) -> pa.Table:
    """Keep one row a turn_id: the one received last; of those, the one read last (file, then position).

    A row without received_time counts as received before any that has one. The result is sorted by turn_id.
    """
    source = turns["source"].combine_chunks()
    keyed = turns.append_column("uri", source.field("uri")).append_column("position", source.field("position"))
    received = pc.fill_null(keyed["received_time"].cast(pa.int64()), np.iinfo(np.int64).min)
    keyed = keyed.append_column("received", received)
    keyed = keyed.sort_by([(k, "ascending") for k in ("turn_id", "received", "uri", "position", "utterance")])
    ids = strings(keyed["turn_id"])
    last = np.append(ids[1:] != ids[:-1], True) if len(ids) else np.zeros(0, bool)
    return keyed.filter(pa.array(last)).select(turns.column_names)


def strangers(turns: pa.Table, kept: pa.Table) -> int:
    """Rows that a row of another conversation supersedes: a sign that turn_id is not unique, as it must be.

    Parameters
    ----------
    turns : pyarrow.Table
        All rows of some turn ids.
    kept : pyarrow.Table
        What `supersede` keeps of them.
    """
    at = pc.index_in(turns["turn_id"], value_set=kept["turn_id"].combine_chunks())
    other = pc.not_equal(turns["conversation_id"], kept["conversation_id"].take(at))
    return int(pc.sum(other).as_py() or 0)


@beam.typehints.with_output_types(pa.Table)
class _Supersede(beam.DoFn):
    """Drop superseded rows; counts go to the tag `counts`."""

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table | beam.pvalue.TaggedOutput]:
        """One bucket of turn ids."""
        _, table = bucket
        kept = supersede(table)
        yield kept
        gone = {"superseded": table.num_rows - kept.num_rows}
        told = {"superseded.other_conversation": strangers(table, kept)}
        yield beam.pvalue.TaggedOutput("counts", counts("ingest", {"in": table.num_rows} | gone, told))


@beam.typehints.with_output_types(pa.Table)
class _WriteTurns(beam.DoFn):
    """Sort and write a bucket of subjects; gives its counts."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table]:
        """One bucket."""
        number, table = bucket
        write_bucket(self._folder, number, sort(table), TURN)
        yield counts("ingest", {"kept": table.num_rows})


class IngestTurns(beam.PTransform):
    """Turn tables to files, one a bucket of subjects; gives COUNT tables."""

    def __init__(self, folder: str, buckets: int, mode: str, spill: str) -> None:
        super().__init__()
        self._folder, self._buckets, self._mode, self._spill = folder, buckets, mode, spill

    def expand(self, turns: beam.PCollection) -> beam.PCollection:
        """Build the graph."""
        by_turn = Shuffle(KeyHash("turn_id", self._buckets), self._mode, f"{self._spill}/turn")
        by_subject = Shuffle(KeyHash("subject_id", self._buckets), self._mode, f"{self._spill}/subject")
        kept = turns | "ByTurn" >> by_turn | "Supersede" >> beam.ParDo(_Supersede()).with_outputs("counts", main="kept")
        written = kept.kept | "BySubject" >> by_subject | "WriteTurns" >> beam.ParDo(_WriteTurns(self._folder))
        return (kept.counts, written) | beam.Flatten()


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
    """One label a key, the one read last (file, then position): a corrected record brings its labels along."""
    place = gold["read_from"].combine_chunks()
    keyed = gold.append_column("uri", place.field("uri")).append_column("at", place.field("position"))
    keyed = keyed.sort_by([(k, "ascending") for k in (*GOLD.key, "uri", "at", "value")])
    key = join(*(strings(keyed[k]) for k in GOLD.key))
    last = np.append(key[1:] != key[:-1], True) if len(key) else np.zeros(0, bool)
    return keyed.filter(pa.array(last)).select(gold.column_names)


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
