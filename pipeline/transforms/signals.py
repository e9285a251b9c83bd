"""Signals and judgements a bucket: pure kernels over files that already hold whole subjects in order."""

from __future__ import annotations

from collections.abc import Iterator

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from features.signals import SignalOptions, signals
from models.judge import judge
from models.store import loads
from models.training import Models
from pipeline import storage, tally
from pipeline.transforms import coder
from pipeline.transforms.counts import counts
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import CORRECTION, JUDGEMENT, SIGNALS, TURN

coder.register()


@beam.typehints.with_output_types(pa.Table)
class ComputeSignals(beam.DoFn):
    """Bucket numbers to files of Signals rows; gives their counts."""

    def __init__(self, turns: str, folder: str, options: SignalOptions) -> None:
        self._turns, self._folder, self._options = turns, folder, options

    def process(self, bucket: int) -> Iterator[pa.Table]:
        """One bucket."""
        turns = storage.read_table(bucket_path(self._turns, bucket), TURN.schema)
        table = signals(turns, self._options)
        write_bucket(self._folder, bucket, table, SIGNALS)
        tally.add(table.num_rows)
        sessions = len(table["session_id"].unique())
        subjects = len(table["subject_id"].unique())
        yield counts(
            "signals", {"in": turns.num_rows, "kept": table.num_rows}, {"sessions": sessions, "subjects": subjects}
        )


@beam.typehints.with_output_types(pa.Table)
class JudgeTurns(beam.DoFn):
    """Bucket numbers to files of Judgement and Correction rows; gives their counts, by domain too."""

    def __init__(self, turns: str, signals: str, judgements: str, corrections: str, model: str, sha256: str) -> None:
        self._turns, self._signals = turns, signals
        self._judgements, self._corrections = judgements, corrections
        self._model, self._sha256 = model, sha256

    def setup(self) -> None:
        """Load the models named by their hash."""
        self._models: Models = loads(storage.read_bytes(self._model), self._sha256)

    def process(self, bucket: int) -> Iterator[pa.Table]:
        """One bucket."""
        turns = storage.read_table(bucket_path(self._turns, bucket), TURN.schema)
        table = storage.read_table(bucket_path(self._signals, bucket), SIGNALS.schema)
        judgements, corrections = judge(turns, table, self._models)
        write_bucket(self._judgements, bucket, judgements, JUDGEMENT)
        write_bucket(self._corrections, bucket, corrections, CORRECTION)
        tally.add(judgements.num_rows)
        yield _counts(turns, judgements, corrections)


def _counts(turns: pa.Table, judgements: pa.Table, corrections: pa.Table) -> pa.Table:
    accepted = corrections.filter(corrections["accepted"])
    defects = judgements.filter(judgements["is_defect"])
    rows = pc.index_in(accepted["turn_id"], value_set=judgements["turn_id"].combine_chunks())
    corrected = judgements["domain"].take(rows)
    by_domain: dict[tuple[str, str | None], int] = {}
    for outcome, column in (("turns", judgements["domain"]), ("defects", defects["domain"]), ("corrected", corrected)):
        for row in column.value_counts().to_pylist():
            by_domain[outcome, row["values"] or "(none)"] = row["counts"]
    return counts(
        "label",
        {"in": turns.num_rows, "kept": judgements.num_rows},
        {
            "defects": defects.num_rows,
            "defects_certified": judgements.filter(judgements["certified"]).num_rows,
            "candidates": corrections.num_rows,
            "corrected": accepted.num_rows,
            "corrected_certified": corrections.filter(corrections["certified"]).num_rows,
        },
        by_domain,
    )
