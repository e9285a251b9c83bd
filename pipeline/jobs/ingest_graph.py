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
from pipeline.tail.files import LABELS, OPEN, RECENT
from pipeline.tail.takeover import Taken, interval_of
from pipeline.transforms.admit import Admission
from pipeline.transforms.ingest import TABLES, IngestTurns, Place, WriteDead, WriteGold
from pipeline.transforms.read import COUNTS, DEAD, GOLD, INPUTS, PIECES, REDACTIONS, RENAMED, TAGS, TURNS, ReadFiles
from pipeline.transforms.shuffle import KeyHash, Partition, Shuffle
from pipeline.transforms.spread import Spread
from pipeline.transforms.superseding import marked_labels
from pipeline.transforms.tail import TAGS as TAIL_TAGS
from pipeline.transforms.tail import ReadTail, TailFile, TailTables
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
    taken : Taken or None
        The tail of the release before; None where the run is not incremental.
    """

    found: Found
    format: str
    buckets: int
    beside: Beside
    admission: Admission | None
    tombstones: TombstoneFiles | None
    taken: Taken | None


def build(pipeline: beam.Pipeline, context: Context, reading: Reading) -> None:
    """Build the graph."""
    table, mode, buckets = context.workspace.table, context.shuffle_mode, reading.buckets
    spill = context.workspace.spill("ingest")
    read = pipeline | beam.Create([(path, uri) for path, uri, _ in reading.found.files], reshuffle=True)
    spread = Spread(buckets, spill) if mode == "spill" else None
    reader = beam.ParDo(_reader(context, reading, spread))
    read = read | "Read" >> reader.with_outputs(*TAGS, *(PIECES if spread else ()))
    # What was read, and with it what was taken over.
    sources = [read, *_taken(pipeline, reading)]
    by_tag = {tag: tuple(source[tag] for source in sources) for tag in (TURNS, GOLD, DEAD, COUNTS, RENAMED)}

    def shuffled(partition: Partition, name: str) -> Shuffle:
        return Shuffle(partition, mode, f"{spill}/{name}")

    rules, tail = reading.beside.rules, _tail_tables(context, reading)
    gold = [
        labels | f"NumberGold{k or ''}" >> beam.Map(marked_labels).with_output_types(pa.Table)
        for k, labels in enumerate(by_tag[GOLD])
    ]
    turns = {TABLES: by_tag[TURNS]}
    if spread is not None:
        turns = {TABLES: by_tag[TURNS][1:], **{tag: (read[tag],) for tag in PIECES}}
    parts = (
        turns | IngestTurns(table("ingest", "turns"), buckets, mode, spill, context.threads, rules, tail),
        tuple(gold)
        | "ShuffleGold" >> shuffled(KeyHash("turn_id", buckets), "gold")
        | beam.ParDo(WriteGold(table("ingest", "gold"))),
        by_tag[DEAD]
        | "ShuffleDead" >> shuffled(Place(buckets), "dead")
        | beam.ParDo(WriteDead(table("ingest", "dead_letters"))),
        *by_tag[COUNTS],
    )
    write_counts(parts | beam.Flatten(), context.workspace.counts_file("ingest"))
    sample = partial(lowest, rows=context.config.privacy.sample_rows)
    drawn = read[REDACTIONS] | "DrawRedactions" >> beam.CombineGlobally(sample).with_output_types(pa.Table)
    write_one(drawn, bucket_path(table("ingest", "redactions"), 0), REDACTION)
    write_one(read[INPUTS], storage.join(context.workspace.stage("ingest"), "inputs.parquet"), INPUT)
    if reading.admission is not None and reading.admission.labelled is not None:
        renamed = by_tag[RENAMED] | "AllRenamed" >> beam.Flatten()
        write_one(renamed, renamed_path(context.workspace), RENAMED_ROWS)


def _reader(context: Context, reading: Reading, spread: Spread | None) -> ReadFiles:
    zone, privacy = context.config.ingest.timezone, context.config.privacy
    kept_out = (reading.admission, reading.tombstones)
    return ReadFiles(reading.format, zone, context.threads, privacy, *kept_out, spread)


def _taken(pipeline: beam.Pipeline, reading: Reading) -> list[beam.PCollection]:
    """The tail of the release before, where there is one."""
    taken = reading.taken
    if taken is None or not taken.sizes:
        return []
    held = {
        kind: [
            TailFile(storage.join(taken.folder, path), kind, facts["sha256"]) for path, facts in sorted(files.items())
        ]
        for kind in (OPEN, RECENT, LABELS)
        if (files := taken.of(kind))
    }
    read = ReadTail(taken.release_id or "", tuple(held.get(LABELS, ())), reading.admission, reading.tombstones)
    files = pipeline | "Tail" >> beam.Create([*held.get(OPEN, ()), *held.get(RECENT, ())], reshuffle=True)
    return [files | "ReadTail" >> beam.ParDo(read).with_outputs(*TAIL_TAGS)]


def _tail_tables(context: Context, reading: Reading) -> TailTables | None:
    if reading.taken is None:
        return None
    table = context.workspace.table
    return TailTables(interval_of(context.config.resolved()), table("ingest", OPEN), table("ingest", RECENT))
