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
from features.parents import linked
from features.text import flat
from features.timeline import sort
from pipeline.filters.excluded import with_excluded
from pipeline.filters.rules import Rule
from pipeline.tail.same import same_turns
from pipeline.tail.sessions import TAKEN
from pipeline.transforms.counts import counts
from pipeline.transforms.shuffle import KeyHash, Shuffle
from pipeline.transforms.tail import TailTables, split_off
from pipeline.transforms.threads import SideBySide
from pipeline.transforms.write import write_bucket
from schemas import DEAD_LETTER, GOLD, TURN

# Row of a turn in its batch. A record may hold several turns, a call for example, which then share their place in the
# input; they are of one batch, so that this says which was read last.
_BATCH_ROW: Final = "batch_row"
# What decides which record of a turn_id stays, and what is told of it.
_DECIDES: Final = ("turn_id", "received_time", "source", _BATCH_ROW, "subject_id", "conversation_id", TAKEN)
# True where a row is no turn, but a notice of one: the record of its turn_id that stays is another subject's.
_ELSEWHERE: Final = "elsewhere"


def supersede(turns: pa.Table) -> pa.Table:
    """Keep one row a turn_id: the one received last; of those, the one read last (file, position, row of its batch).

    A row without received_time counts as received before any that has one. What was taken over from an earlier run was
    read before all that is read now. The result is sorted by turn_id.

    Parameters
    ----------
    turns : pyarrow.Table
        Rows as `marked` gives them, in the columns that decide at least.
    """
    source = turns["source"].combine_chunks()
    keyed = turns.append_column("uri", source.field("uri")).append_column("position", source.field("position"))
    received = pc.fill_null(keyed["received_time"].cast(pa.int64()), np.iinfo(np.int64).min)
    keyed = keyed.append_column("received", received)
    keyed = keyed.append_column("run", turns[TAKEN].is_null().cast(pa.int8()))
    keyed = keyed.sort_by([(k, "ascending") for k in ("turn_id", "received", "run", "uri", "position", _BATCH_ROW)])
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


def repeated(turns: pa.Table) -> npt.NDArray[np.bool_]:
    """Rows whose turn_id others have too, shape (n,); by hash, so that a row of another id may be among them."""
    hashes = hash64(strings(turns["turn_id"]))
    order = np.argsort(hashes)
    same = np.diff(hashes[order]) == 0
    out = np.zeros(len(hashes), bool)
    out[order] = np.append(same, False) | np.insert(same, 0, False) if len(same) else False
    return out


def notices(rivals: pa.Table, kept: pa.Table) -> pa.Table:
    """For every other subject that has records of a turn_id, the record that stays as a row of that subject.

    Parameters
    ----------
    rivals : pyarrow.Table
        All rows of some turn ids, in the columns that decide.
    kept : pyarrow.Table
        What `supersede` keeps of them.

    Returns
    -------
    pyarrow.Table
        Rows as `marked` gives them, that hold nothing else.
    """
    winner = kept.take(pc.index_in(rivals["turn_id"], value_set=kept["turn_id"].combine_chunks()))
    other = pc.not_equal(rivals["subject_id"], winner["subject_id"])
    told = winner.set_column(winner.column_names.index("subject_id"), "subject_id", rivals["subject_id"]).filter(other)
    columns = [told[f.name] if f.name in _DECIDES else pa.nulls(told.num_rows, f.type) for f in TURN.schema]
    rows = pa.Table.from_arrays(columns, schema=TURN.schema)
    for name in (_BATCH_ROW, TAKEN):
        rows = rows.append_column(name, told[name])
    return _with_elsewhere(rows, True)


def marked(batch: pa.Table) -> pa.Table:
    """The turns of a batch with their row in it, and with the columns that tell what was taken over, and notices."""
    return _with_elsewhere(marked_labels(batch), False)


def marked_labels(batch: pa.Table) -> pa.Table:
    """The labels of a batch with their row in it, and with the column that tells what was taken over."""
    taken = batch[TAKEN] if TAKEN in batch.column_names else pa.nulls(batch.num_rows, pa.string())
    held = batch.drop_columns([TAKEN]) if TAKEN in batch.column_names else batch
    return numbered(held).append_column(TAKEN, taken)


def numbered(batch: pa.Table) -> pa.Table:
    """The turns or labels of a batch with their row in it."""
    return batch.append_column(_BATCH_ROW, pa.array(np.arange(batch.num_rows, dtype=np.int32)))


def _with_elsewhere(turns: pa.Table, elsewhere: bool) -> pa.Table:
    return turns.append_column(_ELSEWHERE, pa.repeat(elsewhere, turns.num_rows))


def settled(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Turns that stay of a bucket's rows and notices, in the total order; and those that had been judged and went."""
    rival = repeated(table)
    notice = table[_ELSEWHERE].to_numpy()
    turns = table.drop_columns([_BATCH_ROW, _ELSEWHERE])
    if not rival.any():
        return _ordered(turns if not notice.any() else turns.filter(pa.array(~notice))), turns.slice(0, 0)
    # Notices first: the sort is stable, so the record itself stays where both lie in one bucket.
    rows = np.concatenate([np.flatnonzero(rival & notice), np.flatnonzero(rival & ~notice)])
    rivals = table.select(_DECIDES).take(pa.array(rows)).append_column("row", pa.array(rows))
    kept = supersede(rivals)
    last = kept["row"].to_numpy()
    stays = ~notice & ~rival
    stays[last] = ~notice[last]
    judged = pc.greater(pc.binary_length(flat(table[TAKEN])), 0).fill_null(False).to_numpy(zero_copy_only=False)
    gone = np.flatnonzero(judged & ~stays & ~notice)
    if len(gone):
        by = last[pc.index_in(table["turn_id"].take(pa.array(gone)), value_set=flat(kept["turn_id"])).to_numpy()]
        # What comes once more as it was leaves its session as it was judged.
        again = ~notice[by] & same_turns(*(turns.take(pa.array(at)) for at in (gone, by)))
        stays[gone[again]], stays[by[again]] = True, False
        gone = gone[~again]
    return _ordered(turns.filter(pa.array(stays))), turns.take(pa.array(gone))


def _ordered(turns: pa.Table) -> pa.Table:
    """Turns in the total order; a sequence that follows from links to parents decides among turns of one time."""
    turns = sort(turns)
    told = linked(turns)
    return turns if told is turns else sort(told)


@beam.typehints.with_output_types(pa.Table, decides=pa.Table)
class _Fork(beam.DoFn):
    """Mark rows and pass them on; what decides about them goes to the tag `decides`."""

    def process(self, turns: pa.Table) -> Iterator[pa.Table | beam.pvalue.TaggedOutput]:
        """One batch."""
        rows = marked(turns)
        yield beam.pvalue.TaggedOutput("decides", rows.select(_DECIDES))
        yield rows


@beam.typehints.with_output_types(pa.Table, counts=pa.Table)
class _Supersede(beam.DoFn):
    """Give notice of the records that stay; counts go to the tag `counts`."""

    def process(self, bucket: tuple[int, pa.Table]) -> Iterator[pa.Table | beam.pvalue.TaggedOutput]:
        """One bucket of turn ids."""
        _, table = bucket
        rivals = table.filter(pa.array(repeated(table)))
        kept = supersede(rivals)
        yield notices(rivals, kept)
        gone = {"superseded": rivals.num_rows - kept.num_rows}
        told = {"superseded.other_conversation": strangers(rivals, kept)}
        yield beam.pvalue.TaggedOutput("counts", counts("ingest", {"in": table.num_rows} | gone, told))


@beam.typehints.with_output_types(pa.Table)
class _WriteTurns(SideBySide):
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

    Takes turns as read, or with them a second PCollection of those that were taken over (`ReadTail`).
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

    def expand(self, turns: beam.PCollection | tuple[beam.PCollection, ...]) -> beam.PCollection:
        """Build the graph."""
        inputs = turns if isinstance(turns, tuple) else (turns,)
        by_turn = Shuffle(KeyHash("turn_id", self._buckets), self._mode, f"{self._spill}/turn", self._threads)
        by_subject = Shuffle(KeyHash("subject_id", self._buckets), self._mode, f"{self._spill}/subject", self._threads)
        forks = [
            each | f"Fork{k or ''}" >> beam.ParDo(_Fork()).with_outputs("decides", main="rows")
            for k, each in enumerate(inputs)
        ]
        ruled = tuple(fork.decides for fork in forks) | "ByTurn" >> by_turn
        ruled = ruled | "Supersede" >> beam.ParDo(_Supersede()).with_outputs("counts", main="notices")
        rows = (*(fork.rows for fork in forks), ruled.notices) | "BySubject" >> by_subject
        write = _WriteTurns(self._folder, self._threads, self._rules, self._tail)
        written = rows | "WriteTurns" >> beam.ParDo(write)
        return (ruled.counts, written) | "Counts" >> beam.Flatten()


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
    order = [*GOLD.key, "uri", "at", _BATCH_ROW]
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
