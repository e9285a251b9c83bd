"""Which of several records of a turn_id stays: row functions of stage ingest, without Beam."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import hash64, strings
from features.parents import linked
from features.text import flat
from features.timeline import sort
from pipeline.tail.same import same_turns
from pipeline.tail.sessions import TAKEN
from schemas import TURN

# Row of a turn in its batch. A record may hold several turns, a call for example, which then share their place in the
# input; they are of one batch, so that this says which was read last.
BATCH_ROW: Final = "batch_row"
# What decides which record of a turn_id stays, and what is told of it.
DECIDES: Final = ("turn_id", "received_time", "source", BATCH_ROW, "subject_id", "conversation_id", TAKEN)
# True where a row is no turn, but a notice of one: the record of its turn_id that stays is another subject's.
ELSEWHERE: Final = "elsewhere"


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
    keyed = keyed.sort_by([(k, "ascending") for k in ("turn_id", "received", "run", "uri", "position", BATCH_ROW)])
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
    columns = [told[f.name] if f.name in DECIDES else pa.nulls(told.num_rows, f.type) for f in TURN.schema]
    rows = pa.Table.from_arrays(columns, schema=TURN.schema)
    for name in (BATCH_ROW, TAKEN):
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
    return batch.append_column(BATCH_ROW, pa.array(np.arange(batch.num_rows, dtype=np.int32)))


def _with_elsewhere(turns: pa.Table, elsewhere: bool) -> pa.Table:
    return turns.append_column(ELSEWHERE, pa.repeat(elsewhere, turns.num_rows))


def settled(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Turns that stay of a bucket's rows and notices, in the total order; and those that had been judged and went."""
    rival = repeated(table)
    notice = table[ELSEWHERE].to_numpy()
    turns = table.drop_columns([BATCH_ROW, ELSEWHERE])
    if not rival.any():
        return _ordered(turns if not notice.any() else turns.filter(pa.array(~notice))), turns.slice(0, 0)
    # Notices first: the sort is stable, so the record itself stays where both lie in one bucket.
    rows = np.concatenate([np.flatnonzero(rival & notice), np.flatnonzero(rival & ~notice)])
    rivals = table.select(DECIDES).take(pa.array(rows)).append_column("row", pa.array(rows))
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
