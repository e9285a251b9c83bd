"""Signals and judgements a bucket: pure kernels over files that already hold whole subjects in order."""

from __future__ import annotations

from typing import Any, Final

import apache_beam as beam
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from features.hashing import strings
from features.said import READS as READS_SAID
from features.signals import READS, SignalOptions, signals
from features.timeline import timeline
from models.fitted import Models
from models.judge import TURN_READS, judge
from models.review import Reviews
from models.store import loads
from models.thresholds import UNKNOWN
from pipeline import storage
from pipeline.transforms.counts import counts, domain_names
from pipeline.transforms.profile import profile_counts
from pipeline.transforms.sessions import CUT, Piece, SessionWork, Sharing, Tables
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import CORRECTION, GOLD, JUDGEMENT, SIGNALS, TURN

# Tag of counts of what the log is like.
PROFILE: Final = "profile"


@beam.typehints.with_output_types(pa.Table, **{CUT: Piece})
class ComputeSignals(SessionWork):
    """Buckets of turns to files of Signals rows; gives their counts."""

    def __init__(self, turns: str, folder: str, options: SignalOptions, sharing: Sharing) -> None:
        super().__init__(sharing)
        self._turns, self._folder, self._options = turns, folder, options

    def read(self, bucket: int) -> tuple[Tables, npt.NDArray[Any]]:
        """Turns, and the numbers of their sessions."""
        turns = storage.read_table(bucket_path(self._turns, bucket), TURN.schema, list(READS))
        options = self._options
        line = timeline(turns, options.session_gap, options.session_cap, options.session_bytes)
        return (turns,), line.session

    def kernel(self, tables: Tables) -> Tables:
        """Signals rows."""
        return (signals(*tables, self._options),)

    def of_rows(self, tables: Tables) -> list[pa.Table]:
        """The count of turns read."""
        return [counts("signals", {"in": tables[0].num_rows})]

    def write(self, bucket: int, made: Tables) -> list[pa.Table]:
        """Write them, and count."""
        (table,) = made
        write_bucket(self._folder, bucket, table, SIGNALS)
        sessions = len(table["session_id"].unique())
        subjects = len(table["subject_id"].unique())
        return [counts("signals", {"kept": table.num_rows}, {"sessions": sessions, "subjects": subjects})]


@beam.typehints.with_output_types(pa.Table, **{PROFILE: pa.Table, CUT: Piece})
class JudgeTurns(SessionWork):
    """Buckets of turns and signals to files of Judgement and Correction rows; gives their counts, by domain too.

    Counts of what the log is like go to the tag `profile`.
    """

    def __init__(
        self,
        turns: str,
        signals: str,
        judgements: str,
        corrections: str,
        model: str,
        sha256: str,
        gold: tuple[str, ...],
        sharing: Sharing,
    ) -> None:
        super().__init__(sharing)
        self._turns, self._signals, self._gold = turns, signals, gold
        self._judgements, self._corrections = judgements, corrections
        self._model, self._sha256 = model, sha256

    def load(self) -> None:
        """Load the models named by their hash, and what reviewers said."""
        self._models: Models = loads(storage.read_bytes(self._model), self._sha256)
        paths = [p for folder in self._gold for p in storage.files(folder, "bucket-*.parquet")]
        self._reviews = Reviews.of(
            pa.concat_tables([GOLD.empty(), *(storage.read_table(p, GOLD.schema) for p in paths)])
        )

    def read(self, bucket: int) -> tuple[Tables, npt.NDArray[Any]]:
        """Turns and their signals, and the ids of their sessions."""
        columns = list(TURN_READS) + [c for c in READS_SAID if self._models.reads_words and c not in TURN_READS]
        turns = storage.read_table(bucket_path(self._turns, bucket), TURN.schema, columns)
        table = storage.read_table(bucket_path(self._signals, bucket), SIGNALS.schema)
        return (turns, table), strings(table["session_id"])

    def kernel(self, tables: Tables) -> Tables:
        """Judgement and Correction rows."""
        return judge(*tables, self._models, self._reviews)

    def of_rows(self, tables: Tables) -> list[pa.Table | TaggedOutput]:
        """The count of turns read, and what they are like."""
        turns, table = tables
        return [counts("label", {"in": turns.num_rows}), TaggedOutput(PROFILE, profile_counts(table))]

    def write(self, bucket: int, made: Tables) -> list[pa.Table]:
        """Write them, and count."""
        judgements, corrections = made
        write_bucket(self._judgements, bucket, judgements, JUDGEMENT)
        write_bucket(self._corrections, bucket, corrections, CORRECTION)
        return [_counts(judgements, corrections)]


def _counts(judgements: pa.Table, corrections: pa.Table) -> pa.Table:
    accepted = corrections.filter(corrections["accepted"])
    defects = judgements.filter(judgements["is_defect"])
    unknown = judgements.filter(pc.equal(judgements["threshold_basis"], UNKNOWN))
    rows = pc.index_in(accepted["turn_id"], value_set=judgements["turn_id"].combine_chunks())
    corrected = judgements["domain"].take(rows)
    by_domain: dict[tuple[str, str | None], int] = {}
    columns = {"turns": judgements["domain"], "defects": defects["domain"], "corrected": corrected}
    for outcome, column in (columns | {"unknown": unknown["domain"]}).items():
        for row in domain_names(column).value_counts().to_pylist():
            by_domain[outcome, row["values"]] = row["counts"]
    return counts(
        "label",
        {"kept": judgements.num_rows},
        {
            "defects": defects.num_rows,
            "defects_certified": judgements.filter(judgements["certified"]).num_rows,
            "unknown_domain": unknown.num_rows,
            "candidates": corrections.num_rows,
            "corrected": accepted.num_rows,
            "corrected_certified": corrections.filter(corrections["certified"]).num_rows,
        },
        by_domain,
    )
