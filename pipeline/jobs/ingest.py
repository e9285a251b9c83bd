"""Stage ingest: input files to the Turn, Gold and DeadLetter tables."""

from __future__ import annotations

from pipeline import readers, storage
from pipeline.buckets import bucket_count, stored_bytes
from pipeline.completeness.read import read_whole
from pipeline.completeness.ready import Wanted, find_written, ready
from pipeline.errors import GateError, InputError
from pipeline.filters.tombstones import Tombstones, tombstone_files
from pipeline.gates.counts import by_outcome, closes
from pipeline.gold import GoldFiles, of_folder, read_gold
from pipeline.jobs.beside import Beside, keep_ontology, labelled, read_beside, tell, under_names_now
from pipeline.jobs.context import Context
from pipeline.jobs.gold_files import keep_gold
from pipeline.jobs.ingest_graph import Reading, build
from pipeline.jobs.tail import tell_tail
from pipeline.privacy import Redactor
from pipeline.tail.takeover import take_over
from pipeline.transforms.admit import Admission
from pipeline.workspace import Workspace
from schemas import ADVICE, INPUT, Reason


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
        If the input is not all there, or a file of it is still being written.
    ConfigError
        If users are forgotten and the key that tells them is not there.
    StageError
        If the run is one of a row, and sessions that were left open would be judged by none of them.
    """
    reader = readers.reader(format)
    # A plug that is none is told before anything is read.
    Redactor(context.config.privacy)
    workspace = context.workspace
    beside = read_beside(context.config)
    if wanted:
        found, _ = ready(pattern, reader.suffixes, workspace.out, wanted)
    else:
        found = find_written(pattern, reader.suffixes, workspace.out)
    labels = read_gold(gold)
    taken = take_over(workspace.out, context.config)
    files = tombstone_files(workspace.out, context.config.forget.key)
    tombstones = files.load()
    admission = _admission(workspace, beside, labels)
    # What of a folder and of files that options name is read here, by content: an attempt over others is other work.
    made_from = (taken.facts if taken else None, beside.facts, labels.inputs, tombstones.macs if tombstones else [])
    context.begin("ingest", format, found.files, *made_from)
    keep_ontology(workspace, beside)
    if found.skipped:
        context.progress.note(
            f"ingest: left out {len(found.skipped)} file(s) that are hidden or that {format} does not read: "
            + ", ".join(found.skipped[:5])
        )
    sizes = [(uri, stored_bytes(path, size)) for path, uri, size in found.files]
    # A tail is stored as Parquet that does not repeat itself.
    sizes += taken.sizes if taken else []
    buckets = bucket_count(sizes, context.config.shuffle.bucket_bytes)
    reading = Reading(found, format, buckets, beside, admission, files if tombstones else None, taken)
    context.run(lambda pipeline: build(pipeline, context, reading))
    _finish(context, reading, under_names_now(workspace, labels), tombstones, wanted)


def _admission(workspace: Workspace, beside: Beside, labels: GoldFiles) -> Admission | None:
    """What is asked of turns as they are read; None where there is nothing to ask."""
    if beside.ontology is None and beside.opt_outs is None:
        return None
    held = of_folder(storage.join(workspace.out, "gold"))
    return Admission(beside.opt_outs, beside.ontology, labelled(beside.ontology, labels.table, held.table))


def _finish(
    context: Context, reading: Reading, labels: GoldFiles, tombstones: Tombstones | None, wanted: Wanted | None
) -> None:
    """Hold the counts to each other and to what was expected, say what was found, and mark the stage whole."""
    workspace, beside = context.workspace, reading.beside
    inputs = storage.read_table(storage.join(workspace.stage("ingest"), "inputs.parquet"), INPUT.schema).sort_by("uri")
    if inputs.num_rows != len(reading.found.files):
        raise GateError(
            f"stage ingest: {len(reading.found.files)} files were found, {inputs.num_rows} were read; run it again"
        )
    counts = workspace.counts("ingest")
    records = sum(inputs["records"].to_pylist())
    taken = reading.taken
    gate = closes("ingest", counts, records + (taken.turns if taken else 0))
    outcomes = by_outcome(counts)
    expectations = wanted.expectations if wanted else None
    complete = read_whole(expectations, inputs, workspace, outcomes) if expectations else None
    _tell(context, outcomes)
    tell(context.progress, beside, outcomes)
    if taken is not None:
        tell_tail(context.progress, taken, outcomes)
    if not outcomes.get("kept"):
        raise _nothing_kept(workspace, reading, records, outcomes)
    only_known = tombstones is not None or beside.opt_outs is not None
    workspace.finish(
        "ingest",
        {
            "format": reading.format,
            "left_out": reading.found.skipped,
            "buckets": reading.buckets,
            "config": {k: context.config.resolved()[k] for k in ("ingest", "ontology", "filters", "privacy")},
            "given": beside.facts,
            "inputs": inputs.select(["uri", "bytes", "sha256", "records", "replaced"]).to_pylist(),
            "kept": outcomes["kept"],
            "gold": keep_gold(context, labels, reading.buckets, only_known),
            "taken": taken.facts if taken else None,
            "tombstones": tombstones.macs if tombstones else [],
            "withdrawn": [],
            "gates": [gate],
            "complete": complete,
        },
    )


def _tell(context: Context, outcomes: dict[str, int]) -> None:
    """Say which records became no turn, and why."""
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


def _nothing_kept(workspace: Workspace, reading: Reading, records: int, outcomes: dict[str, int]) -> InputError:
    if left := outcomes.get("left_open"):
        return InputError(
            f"no session ends in the interval: {left:,} turn(s) are of sessions that its end cuts through, and nothing "
            "else is to be judged. Run a longer interval, over the log of both. Nothing was published; the last "
            "release stays current"
        )
    return InputError(
        f"the input holds no usable turn: {len(reading.found.files)} file(s), {records:,} record(s), "
        f"{outcomes.get('opted_out', 0):,} of users who opted out, "
        f"{outcomes.get('dead_lettered', 0):,} dead letter(s), listed with reason, file and line in "
        f"{workspace.table('ingest', 'dead_letters')}. Is --format {reading.format} right? "
        "Nothing was published; the last release stays current"
    )
