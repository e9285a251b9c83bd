"""The tail of a release: read with a day's log, and what the day leaves of it to the next run."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from apache_beam.pvalue import TaggedOutput

from features.text import flat
from pipeline import storage
from pipeline.errors import VerifyError
from pipeline.filters.tombstones import TombstoneFiles, drop_forgotten
from pipeline.tail.files import OPEN
from pipeline.tail.sessions import NOBODY, TAKEN, Interval, divide
from pipeline.transforms.admit import Admission
from pipeline.transforms.counts import counts
from pipeline.transforms.read import COUNTS, DEAD, GOLD, RENAMED, TURNS, tagged
from pipeline.transforms.write import write_bucket
from schemas import GOLD as LABELS
from schemas import TAIL, TURN, Record

TAGS = (TURNS, GOLD, DEAD, COUNTS, RENAMED)


@dataclass(frozen=True)
class TailFile:
    """A file of a release's tail: its path, what it holds, and its hash by the manifest."""

    path: str
    kind: str
    sha256: str


@beam.typehints.with_output_types(pa.Table, **dict.fromkeys(TAGS, pa.Table))
class ReadTail(beam.DoFn):
    """Files of a tail to tables, tagged `turns`, `gold`, `dead_letters`, `counts`, `renamed`.

    The text was redacted before it was written; who is forgotten or has opted out since then goes no further, and
    labels get the names that they have now.

    Parameters
    ----------
    release_id : str
        The release whose tail it is: the one that judged what does not say so.
    labels : tuple of TailFile
    admission : Admission or None
    tombstones : TombstoneFiles or None
    """

    def __init__(
        self,
        release_id: str,
        labels: tuple[TailFile, ...],
        admission: Admission | None = None,
        tombstones: TombstoneFiles | None = None,
    ) -> None:
        self._release_id, self._labels = release_id, labels
        self._admission, self._files = admission or Admission(), tombstones

    def setup(self) -> None:
        """Find who is forgotten, and the labels."""
        self._tombstones = self._files.load() if self._files else None
        self._gold = pa.concat_tables([LABELS.empty(), *(_read(file, LABELS) for file in self._labels)])

    def process(self, file: TailFile) -> Iterator[TaggedOutput]:
        """Read one file of turns."""
        held = _read(file, TAIL)
        gold = self._gold.filter(pc.is_in(self._gold["turn_id"], value_set=flat(held["turn_id"])))
        told = {f"taken.{file.kind}": held.num_rows, "taken.labels": gold.num_rows}
        turns, gold, forgotten = drop_forgotten(held.select(TURN.names), gold, self._tombstones)
        turns, gold, opted_out = self._admission.let_out(turns, gold)
        dropped = {k: n for k, n in (("opted_out", opted_out), ("forgotten", forgotten)) if n}
        closing = {"in": sum(dropped.values()), **dropped} if dropped else {}
        let = self._admission.admit(turns, gold)
        taken = held["judged_by"].fill_null(NOBODY if file.kind == OPEN else self._release_id)
        at = pc.index_in(let.turns["turn_id"], value_set=flat(held["turn_id"]))
        turns = let.turns.append_column(TAKEN, taken.take(at))
        yield from tagged(
            [
                (TURNS, turns),
                (GOLD, let.gold.append_column(TAKEN, pa.repeat(NOBODY, let.gold.num_rows))),
                (DEAD, let.dead),
                (COUNTS, counts("ingest", closing, told | let.counts)),
                (RENAMED, let.renamed),
            ]
        )


def _read(file: TailFile, record: Record) -> pa.Table:
    """A file of the tail, held to the hash that its release lists."""
    try:
        data = storage.read_bytes(file.path)
    except OSError as error:
        raise VerifyError(f"{file.path}: {_GONE} ({type(error).__name__})") from None
    if storage.sha256(data) != file.sha256:
        raise VerifyError(f"{file.path}: {_GONE}")
    return pq.read_table(io.BytesIO(data)).cast(record.schema)


_GONE = (
    "not the file that its release lists, and open sessions are to be taken over from it. Put that release back as it "
    "was (`afterword verify` tells what is wrong), or run its interval again"
)


@dataclass(frozen=True)
class TailTables:
    """How the sessions of a run are divided, and the folders of what goes to the next run."""

    interval: Interval
    open: str
    recent: str


def split_off(number: int, turns: pa.Table, lost: pa.Table, tables: TailTables) -> tuple[pa.Table, list[pa.Table]]:
    """Write what a bucket hands to the next run; gives the turns to judge, and the counts of the others.

    Parameters
    ----------
    number : int
        Of the bucket.
    turns, lost : pyarrow.Table
        As `pipeline.tail.sessions.divide` takes them, with all columns of a turn in the first.
    tables : TailTables
    """
    parts = divide(turns, lost, tables.interval)
    taken = flat(turns[TAKEN])
    judged_by = pc.if_else(pc.equal(taken, NOBODY), pa.scalar(None, pa.string()), taken)
    # What is judged now is judged by the release that lists it, whoever did before.
    earlier = pc.if_else(pa.array(parts.judged), pa.scalar(None, pa.string()), judged_by)
    for folder, mask, by in ((tables.open, parts.open, judged_by), (tables.recent, parts.recent, earlier)):
        if mask.any():
            rows = turns.select(TURN.names).append_column("judged_by", by).filter(pa.array(mask))
            write_bucket(folder, number, rows, TAIL)
    closing = {"left_open": int(parts.open.sum()), "judged_before": int(parts.before.sum())}
    told = {
        "late": int(parts.late.sum()),
        "late_alone": int(parts.late_alone.sum()),
        "revised": len(parts.before_by) - parts.before_by.null_count,
        "revised_sessions": parts.sessions,
    }
    by_release = parts.before_by.drop_null().value_counts().to_pylist()
    told |= {f"revised.{row['values']}": row["counts"] for row in by_release}
    judged = turns.drop_columns([TAKEN]).filter(pa.array(parts.judged))
    held = {name: n for name, n in told.items() if n}
    return judged, [counts("ingest", {k: n for k, n in closing.items() if n}, held)]
