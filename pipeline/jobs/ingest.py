"""Stage ingest: input files to the Turn, Gold and DeadLetter tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Final

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from pipeline import readers, storage
from pipeline.completeness.read import read_whole
from pipeline.completeness.ready import Wanted, ready
from pipeline.errors import GateError, InputError
from pipeline.filters.tombstones import TombstoneFiles, Tombstones, tombstone_files
from pipeline.gates.counts import by_outcome, closes
from pipeline.gold import GoldFiles, known_labels, of_folder, read_gold, unknown_turns
from pipeline.inputs import Found, find
from pipeline.jobs.beside import (
    Beside,
    keep_ontology,
    labelled,
    read_beside,
    renamed_path,
    tell,
    under_names_now,
)
from pipeline.jobs.context import Context, write_counts, write_one
from pipeline.privacy import Redactor
from pipeline.privacy.sample import lowest
from pipeline.readers.stream import COMPRESSIONS
from pipeline.transforms.admit import Admission
from pipeline.transforms.ingest import IngestTurns, Place, WriteDead, WriteGold, numbered
from pipeline.transforms.read import COUNTS, DEAD, GOLD, INPUTS, REDACTIONS, RENAMED, TURNS, ReadFiles
from pipeline.transforms.shuffle import KeyHash, Partition, Shuffle
from pipeline.transforms.write import bucket_path, write_bucket
from pipeline.workspace import Workspace
from schemas import ADVICE, INPUT, REDACTION, TURN, Reason
from schemas import GOLD as LABELS
from schemas import RENAMED as RENAMED_ROWS

# Bytes of our tables that a stored byte becomes, by rule of thumb; only the number of buckets follows from it.
_EXPANSION: Final = {"packed": 8, "plain": 1}
# What a turn with a short n-best comes to.
_ROW_BYTES: Final = 1_024


def run(context: Context, pattern: str, format: str, gold: tuple[str, ...] = (), wanted: Wanted | None = None) -> None:
    """Read the input, and labels of people from files beside it.

    Parameters
    ----------
    context : Context
    pattern, format : str
    gold : tuple of str
        Files, folders or globs of labels; see `pipeline.gold`.
    wanted : Wanted or None
        What the input has to hold to be whole.

    Raises
    ------
    ConfigError
        If a file of the ontology or the filters cannot be right.
    InputError
        If nothing matches, no usable turn was found, or a label cannot be right. The last release stays current.
    NotReadyError
        If the input is not all there.
    ConfigError
        If users are forgotten and the key that tells them is not there.
    """
    reader = readers.reader(format)
    # A plug that is none is told before anything is read.
    Redactor(context.config.privacy)
    workspace = context.workspace
    beside = read_beside(context.config)
    if wanted:
        found, _ = ready(pattern, reader.suffixes, workspace.out, wanted)
    else:
        found = find(pattern, reader.suffixes, workspace.out)
    labels = read_gold(gold)
    files = tombstone_files(workspace.out, context.config.forget.key)
    tombstones = files.load()
    admission = _admission(workspace, beside, labels)
    context.begin("ingest", format, found.files)
    keep_ontology(workspace, beside)
    if found.skipped:
        context.progress.note(
            f"ingest: left out {len(found.skipped)} file(s) that are hidden or that {format} does not read: "
            + ", ".join(found.skipped[:5])
        )
    sizes = [(uri, stored_bytes(path, size)) for path, uri, size in found.files]
    buckets = bucket_count(sizes, context.config.shuffle.bucket_bytes)
    barred = files if tombstones else None
    context.run(lambda pipeline: _build(pipeline, context, found, format, buckets, beside, admission, barred))
    _finish(context, found, format, buckets, under_names_now(workspace, labels), beside, tombstones, wanted)


def _admission(workspace: Workspace, beside: Beside, labels: GoldFiles) -> Admission | None:
    """What is asked of turns as they are read; None where there is nothing to ask."""
    if beside.ontology is None and beside.opt_outs is None:
        return None
    held = of_folder(storage.join(workspace.out, "gold"))
    return Admission(beside.opt_outs, beside.ontology, labelled(beside.ontology, labels.table, held.table))


def stored_bytes(path: str, size: int) -> int:
    """Bytes that a file counts for: its size, or for Parquet what its rows come to, if that is more.

    Parquet that repeats itself is stored in a hundredth of what it unfolds to, but its footer says how many rows it
    has. A file whose footer cannot be read counts for its size here, and is refused where it is read.
    """
    return counted_bytes(size, footer_rows(path))


def counted_bytes(size: int, rows: int | None) -> int:
    """The same of a file whose footer was read; `rows` is None where it has none."""
    return size if rows is None else max(size, rows * _ROW_BYTES // _EXPANSION["packed"])


def footer_rows(path: str) -> int | None:
    """Rows by the footer of a Parquet file; None of another file, and where the footer cannot be read."""
    if not path.lower().endswith(".parquet"):
        return None
    try:
        with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
            return int(pq.read_metadata(pa.PythonFile(stream, mode="r")).num_rows)
    except (OSError, pa.ArrowException):
        return None


def bucket_count(files: list[tuple[str, int]], bucket_bytes: int) -> int:
    """Buckets for an input, from its size alone, so that every runner cuts it alike."""
    packed = sum(s for u, s in files if u.lower().endswith((*COMPRESSIONS, ".parquet")))
    plain = sum(s for _, s in files) - packed
    size = packed * _EXPANSION["packed"] + plain * _EXPANSION["plain"]
    return max(1, math.ceil(size / bucket_bytes))


def _build(
    pipeline: beam.Pipeline,
    context: Context,
    found: Found,
    format: str,
    buckets: int,
    beside: Beside,
    admission: Admission | None,
    tombstones: TombstoneFiles | None,
) -> None:
    table, mode = context.workspace.table, context.shuffle_mode
    spill = context.workspace.spill("ingest")
    read = (
        pipeline
        | beam.Create([(path, uri) for path, uri, _ in found.files], reshuffle=True)
        | "Read"
        >> beam.ParDo(
            ReadFiles(
                format,
                context.config.ingest.timezone,
                context.threads,
                context.config.privacy,
                admission,
                tombstones,
            )
        ).with_outputs(TURNS, GOLD, DEAD, INPUTS, COUNTS, REDACTIONS, RENAMED)
    )

    def shuffled(partition: Partition, name: str) -> Shuffle:
        return Shuffle(partition, mode, f"{spill}/{name}")

    parts = (
        read[TURNS] | IngestTurns(table("ingest", "turns"), buckets, mode, spill, context.threads, beside.rules),
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
    if admission is not None and admission.labelled is not None:
        write_one(read[RENAMED], renamed_path(context.workspace), RENAMED_ROWS)


def _keep_gold(context: Context, labels: GoldFiles, buckets: int, only_known: bool) -> dict[str, object]:
    """Write the labels of files beside those of the logs, as one bucket more; gives what is to be told of them.

    Where users are forgotten a label of an unknown turn may be of one of them, so it is not kept.
    """
    unknown = tell_unknown(context, labels)
    kept = known_labels(labels.table, turn_ids(context)) if only_known and unknown else labels.table
    if kept.num_rows:
        write_bucket(context.workspace.table("ingest", "gold"), buckets, kept, LABELS)
    return {"inputs": labels.inputs, "labels": kept.num_rows, "unknown": unknown}


def turn_ids(context: Context) -> Iterator[pa.Array]:
    """Ids of the turns, an array a bucket."""
    folder = context.workspace.table("ingest", "turns")
    for number in context.workspace.buckets("ingest", "turns"):
        yield storage.read_table(bucket_path(folder, number), TURN.schema, ["turn_id"])["turn_id"].combine_chunks()


def tell_unknown(context: Context, labels: GoldFiles) -> int:
    """Labels of turns that the log does not hold; they are counted, kept and of no effect."""
    unknown = unknown_turns(labels.table, turn_ids(context))
    if unknown:
        context.progress.note(
            f"gold: {unknown:,} of {labels.table.num_rows:,} label(s) are of turns that are not in the log "
            f"(of {', '.join(i['uri'] for i in labels.inputs[:3])}); is turn_id the log's own?"
        )
    return unknown


def _finish(
    context: Context,
    found: Found,
    format: str,
    buckets: int,
    labels: GoldFiles,
    beside: Beside,
    tombstones: Tombstones | None,
    wanted: Wanted | None,
) -> None:
    workspace = context.workspace
    inputs = storage.read_table(storage.join(workspace.stage("ingest"), "inputs.parquet"), INPUT.schema).sort_by("uri")
    counts = workspace.counts("ingest")
    records = sum(inputs["records"].to_pylist())
    if inputs.num_rows != len(found.files):
        raise GateError(f"stage ingest: {len(found.files)} files were found, {inputs.num_rows} were read; run it again")
    gate = closes("ingest", counts, records)
    outcomes = by_outcome(counts)
    expectations = wanted.expectations if wanted else None
    complete = read_whole(expectations, inputs, workspace, outcomes) if expectations else None
    if n := outcomes.get("superseded.other_conversation"):
        context.progress.note(
            f"ingest: {n:,} record(s) were superseded by one of another conversation; is turn_id unique in the whole "
            "log? Leave it out where it is not"
        )
    if n := outcomes.get("orphans"):
        context.progress.note(
            f"ingest: {n:,} turn(s) are orphans: their parent_id names no other turn of their subject, or the last of "
            "a circle; they stay, without it"
        )
    if n := outcomes.get("forgotten"):
        context.progress.note(f"ingest: {n:,} record(s) are of forgotten users; nothing of them was written")
    for reason in Reason:
        if n := outcomes.get(f"dead_letter.{reason}"):
            context.progress.note(f"ingest: {n:,} dead letter(s): {reason} ({ADVICE[reason]})")
    tell(context.progress, beside, outcomes)
    if not outcomes.get("kept"):
        raise InputError(
            f"the input holds no usable turn: {len(found.files)} file(s), {records:,} record(s), "
            f"{outcomes.get('opted_out', 0):,} of users who opted out, "
            f"{outcomes.get('dead_lettered', 0):,} dead letter(s), listed with reason, file and line in "
            f"{workspace.table('ingest', 'dead_letters')}. Is --format {format} right? "
            "Nothing was published; the last release stays current"
        )
    workspace.finish(
        "ingest",
        {
            "format": format,
            "left_out": found.skipped,
            "buckets": buckets,
            "config": {k: context.config.resolved()[k] for k in ("ingest", "ontology", "filters", "privacy")},
            "given": beside.facts,
            "inputs": inputs.select(["uri", "bytes", "sha256", "records", "replaced"]).to_pylist(),
            "kept": outcomes["kept"],
            "gold": _keep_gold(context, labels, buckets, tombstones is not None or beside.opt_outs is not None),
            "tombstones": tombstones.macs if tombstones else [],
            "withdrawn": [],
            "gates": [gate],
            "complete": complete,
        },
    )
