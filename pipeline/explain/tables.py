"""The stages' tables, read by column and by row: never a whole table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline import storage
from pipeline.errors import StageError
from pipeline.transforms.write import bucket_path
from pipeline.workspace import Workspace
from schemas import CORRECTION, JUDGEMENT, SIGNALS, TURN, Record

I64 = npt.NDArray[np.int64]
# Stage and record of each table; the rows of all but the corrections stand in the same order.
_TABLES = {
    "turns": ("ingest", TURN),
    "signals": ("signals", SIGNALS),
    "judgements": ("label", JUDGEMENT),
    "corrections": ("label", CORRECTION),
}


@dataclass(frozen=True)
class Place:
    """Where a turn stands: its bucket, and its row there."""

    bucket: int
    row: int


class StageTables:
    """Turns, signals, judgements and corrections of one run."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.buckets = workspace.buckets("ingest", "turns")

    def mismatch(self, release_id: str) -> str | None:
        """Why these tables are not the ones that a release was made from; None where they are."""
        try:
            made = self.workspace.facts("release")["release_id"]
            self.workspace.agree("release")
        except StageError as error:
            return str(error)
        if made != release_id:
            return f"{self.workspace.out}/stages: of another run, which made release {made[:12]}"
        held = {name: self.workspace.buckets(stage, name) for name, (stage, _) in _TABLES.items()}
        gone = [name for name, buckets in held.items() if buckets != self.buckets or not buckets]
        return f"{self.workspace.out}/stages: files of {', '.join(gone)} are missing" if gone else None

    def find(self, turn_id: str) -> Place | None:
        """Where a turn stands; None where there is none of this id."""
        for bucket in self.buckets:
            at = pc.index(self.column("turns", bucket, "turn_id"), pa.scalar(turn_id)).as_py()
            if at >= 0:
                return Place(bucket, at)
        return None

    def session(self, place: Place) -> I64:
        """Rows of the turn's session, in order."""
        sessions = self.column("judgements", place.bucket, "session_id")
        return _where(pc.equal(sessions, sessions[place.row]))

    def subjects(self, bucket: int, rows: I64) -> I64:
        """Rows of all turns of the subjects of some rows: what a turn votes for may hang on its subject's others."""
        codes = self.column("turns", bucket, "subject_id").dictionary_encode().indices.to_numpy()
        return np.flatnonzero(np.isin(codes, codes[rows]))

    def column(self, name: str, bucket: int, column: str) -> pa.Array:
        """One column of one bucket."""
        with storage.open_parquet(self._path(name, bucket)) as file:
            return flat(file.read(columns=[column])[column])

    def utterances(self, bucket: int) -> pa.DictionaryArray:
        """The utterances of one bucket, each distinct one held once."""
        with storage.open_parquet(self._path("turns", bucket), ("utterance",)) as file:
            column = file.read(columns=["utterance"])["utterance"]
        return flat(column.unify_dictionaries())

    def read(self, name: str, bucket: int, rows: I64) -> pa.Table:
        """Rows of a table by their ascending places in a bucket; only the row groups that hold them are read."""
        path, record = self._path(name, bucket), _TABLES[name][1]
        with storage.open_parquet(path) as file:
            sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
            starts = np.cumsum([0, *sizes])
            group = np.searchsorted(starts, rows, side="right") - 1
            held = [
                file.read_row_group(g, columns=list(record.names)).take(rows[group == g] - starts[g])
                for g in np.unique(group).tolist()
            ]
        return _declared(path, record, held)

    def corrections(self, bucket: int, turn_ids: pa.Array | pa.ChunkedArray) -> pa.Table:
        """Correction rows of some turns of a bucket."""
        found = pc.is_in(self.column("corrections", bucket, "turn_id"), value_set=flat(turn_ids))
        return self.read("corrections", bucket, _where(found))

    def judged(self, bucket: int, rows: I64) -> tuple[pa.Table, pa.Table, pa.Table]:
        """Turns, their judgements, and their corrections.

        Raises
        ------
        StageError
            If the two tables do not hold the same turns in the same order.
        """
        turns, judgements = (self.read(name, bucket, rows) for name in ("turns", "judgements"))
        if not turns["turn_id"].equals(judgements["turn_id"]):
            raise StageError(f"{self._path('judgements', bucket)}: not of the turns beside it; run `afterword label`")
        return turns, judgements, self.corrections(bucket, turns["turn_id"])

    def _path(self, name: str, bucket: int) -> str:
        return bucket_path(self.workspace.table(_TABLES[name][0], name), bucket)


def _declared(path: str, record: Record, tables: list[pa.Table]) -> pa.Table:
    try:
        return record.conform(pa.concat_tables([record.empty(), *(t.cast(record.schema) for t in tables)]))
    except (KeyError, pa.ArrowInvalid, ValueError) as error:
        raise StageError(f"{path}: not a {record.name} table of this code ({error}); run the stage again") from None


def _where(mask: pa.Array | pa.ChunkedArray) -> I64:
    return np.flatnonzero(flat(pc.fill_null(mask, False)).to_numpy(zero_copy_only=False))
