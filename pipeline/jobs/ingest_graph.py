"""The Beam graph of stage ingest: files to turns, labels, dead letters and counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import apache_beam as beam
import pyarrow as pa

from pipeline import storage
from pipeline.filters.tombstones import TombstoneFiles
from pipeline.inputs import Found
from pipeline.jobs.beside import Beside, renamed_path
from pipeline.jobs.context import Context, write_counts, write_one
from pipeline.privacy.sample import lowest
from pipeline.transforms.admit import Admission
from pipeline.transforms.ingest import IngestTurns, Place, WriteDead, WriteGold, numbered
from pipeline.transforms.read import COUNTS, DEAD, GOLD, INPUTS, REDACTIONS, RENAMED, TAGS, TURNS, ReadFiles
from pipeline.transforms.shuffle import KeyHash, Partition, Shuffle
from pipeline.transforms.write import bucket_path
from schemas import INPUT, REDACTION
from schemas import RENAMED as RENAMED_ROWS


@dataclass(frozen=True)
class Reading:
    """What stage ingest reads, and what is asked of it.

    Attributes
    ----------
    found : Found
    format : str
    buckets : int
    beside : Beside
    admission : Admission or None
        None where nothing is asked of turns as they are read.
    tombstones : TombstoneFiles or None
        None where nobody was ever forgotten.
    """

    found: Found
    format: str
    buckets: int
    beside: Beside
    admission: Admission | None
    tombstones: TombstoneFiles | None


def build(pipeline: beam.Pipeline, context: Context, reading: Reading) -> None:
    """Build the graph."""
    table, mode, buckets = context.workspace.table, context.shuffle_mode, reading.buckets
    spill = context.workspace.spill("ingest")
    read = pipeline | beam.Create([(path, uri) for path, uri, _ in reading.found.files], reshuffle=True)
    read = read | "Read" >> beam.ParDo(_reader(context, reading)).with_outputs(*TAGS)

    def shuffled(partition: Partition, name: str) -> Shuffle:
        return Shuffle(partition, mode, f"{spill}/{name}")

    parts = (
        read[TURNS]
        | IngestTurns(table("ingest", "turns"), buckets, mode, spill, context.threads, reading.beside.rules),
        read[GOLD]
        | "NumberGold" >> beam.Map(numbered).with_output_types(pa.Table)
        | "ShuffleGold" >> shuffled(KeyHash("turn_id", buckets), "gold")
        | beam.ParDo(WriteGold(table("ingest", "gold"))),
        read[DEAD]
        | "ShuffleDead" >> shuffled(Place(buckets), "dead")
        | beam.ParDo(WriteDead(table("ingest", "dead_letters"))),
        read[COUNTS],
    )
    write_counts(parts | beam.Flatten(), context, "ingest")
    sample = partial(lowest, rows=context.config.privacy.sample_rows)
    drawn = read[REDACTIONS] | "DrawRedactions" >> beam.CombineGlobally(sample).with_output_types(pa.Table)
    write_one(drawn, bucket_path(table("ingest", "redactions"), 0), REDACTION)
    write_one(read[INPUTS], storage.join(context.workspace.stage("ingest"), "inputs.parquet"), INPUT)
    if reading.admission is not None and reading.admission.labelled is not None:
        write_one(read[RENAMED], renamed_path(context.workspace), RENAMED_ROWS)


def _reader(context: Context, reading: Reading) -> ReadFiles:
    config = context.config
    return ReadFiles(
        reading.format, config.ingest.timezone, context.threads, config.privacy, reading.admission, reading.tombstones
    )
