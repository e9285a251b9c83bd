"""Signals and judgements a bucket: pure kernels over files that already hold whole subjects in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.said import READS as READS_SAID
from features.signals import READS, SignalOptions, signals
from features.timeline import timeline
from models.fitted import Models
from models.judge import TURN_READS, judge
from models.review import Reviews
from models.store import loads
from models.thresholds import UNKNOWN
from pipeline import storage, tally
from pipeline.transforms.counts import counts, domain_names
from pipeline.transforms.profile import profile_counts
from pipeline.transforms.threads import SideBySide
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import CORRECTION, GOLD, JUDGEMENT, SIGNALS, TURN

# Tag of counts of what the log is like.
PROFILE: Final = "profile"
# Turns that a thread works on at once: what the kernels hold on the way is many times the rows themselves.
PIECE_ROWS: Final = 25_000


def pieces(session: npt.NDArray[Any], rows: int = PIECE_ROWS) -> Iterator[tuple[int, int]]:
    """Cut rows into (start, length) pieces of about `rows`, never through a session; no kernel looks beyond one.

    Parameters
    ----------
    session : numpy.ndarray, shape (n,)
        Number or id of each row's session; its rows stand together.
    rows : int
        A piece is closed by the first change of session after so many rows.
    """
    changes = np.flatnonzero(session[1:] != session[:-1]) + 1
    start = 0
    while start < len(session):
        later = np.searchsorted(changes, start + rows)
        end = int(changes[later]) if later < len(changes) else len(session)
        yield start, end - start
        start = end


@beam.typehints.with_output_types(pa.Table)
class ComputeSignals(SideBySide):
    """Bucket numbers to files of Signals rows; gives their counts."""

    def __init__(self, turns: str, folder: str, options: SignalOptions, threads: int = 1) -> None:
        super().__init__(threads)
        self._turns, self._folder, self._options = turns, folder, options

    def work(self, bucket: int) -> list[pa.Table]:
        """One bucket."""
        turns = storage.read_table(bucket_path(self._turns, bucket), TURN.schema, list(READS))
        done = []
        options = self._options
        line = timeline(turns, options.session_gap, options.session_cap, options.session_bytes)
        for start, length in pieces(line.session):
            done.append(signals(turns.slice(start, length).combine_chunks(), self._options))
            tally.add(length)
        table = pa.concat_tables(done)
        write_bucket(self._folder, bucket, table, SIGNALS)
        sessions = len(table["session_id"].unique())
        subjects = len(table["subject_id"].unique())
        closing = {"in": turns.num_rows, "kept": table.num_rows}
        return [counts("signals", closing, {"sessions": sessions, "subjects": subjects})]


@beam.typehints.with_output_types(pa.Table, **{PROFILE: pa.Table})
class JudgeTurns(SideBySide):
    """Bucket numbers to files of Judgement and Correction rows; gives their counts, by domain too.

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
        threads: int = 1,
        gold: tuple[str, ...] = (),
    ) -> None:
        super().__init__(threads)
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

    def work(self, bucket: int) -> list[pa.Table | beam.pvalue.TaggedOutput]:
        """One bucket."""
        columns = list(TURN_READS) + [c for c in READS_SAID if self._models.reads_words and c not in TURN_READS]
        turns = storage.read_table(bucket_path(self._turns, bucket), TURN.schema, columns)
        table = storage.read_table(bucket_path(self._signals, bucket), SIGNALS.schema)
        done = []
        for start, length in pieces(strings(table["session_id"])):
            part = (t.slice(start, length).combine_chunks() for t in (turns, table))
            done.append(judge(*part, self._models, self._reviews))
            tally.add(length)
        judgements, corrections = (pa.concat_tables(tables) for tables in zip(*done, strict=True))
        write_bucket(self._judgements, bucket, judgements, JUDGEMENT)
        write_bucket(self._corrections, bucket, corrections, CORRECTION)
        return [_counts(turns, judgements, corrections), beam.pvalue.TaggedOutput(PROFILE, profile_counts(table))]


def _counts(turns: pa.Table, judgements: pa.Table, corrections: pa.Table) -> pa.Table:
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
        {"in": turns.num_rows, "kept": judgements.num_rows},
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
