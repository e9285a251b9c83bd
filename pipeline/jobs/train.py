"""Stage train: sample whole sessions with Beam, then fit both models in this one process."""

from __future__ import annotations

from dataclasses import asdict

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from features.text import flat
from features.timeline import ORDER
from models.boost import TrainingError
from models.certify import Threshold
from models.correction import DECIMALS
from models.store import dumps
from models.training import train
from pipeline import storage, tally
from pipeline.errors import InputError
from pipeline.jobs.context import Context, numbers
from pipeline.transforms.sample import CountSessions, KeepSessions, add_histograms, cut
from pipeline.transforms.write import bucket_path
from schemas import GOLD, SIGNALS, TURN

MODEL_FILE = "models.json"


def run(context: Context) -> None:
    """Fit the models and write them.

    Raises
    ------
    InputError
        If the rows cannot give a model.
    """
    workspace = context.workspace
    workspace.begin("train")
    _sample(context)
    gold = workspace.read("ingest", "gold", GOLD)
    rows = workspace.read("train", "rows", SIGNALS)
    order = [(name, way) for name, way in ORDER if name in rows.column_names]
    rows = rows.sort_by(order).combine_chunks()
    said = _utterances(context, rows) if context.config.train.reading else None
    tally.say(f"fitting on {rows.num_rows:,} rows")
    try:
        models = train(rows, gold, context.config.train, said)
    except TrainingError as error:
        raise InputError(
            f"{rows.num_rows:,} turns of {len(rows['subject_id'].unique()):,} users cannot train a model: {error}. "
            "The last release stays current"
        ) from None
    data = dumps(models)
    path = storage.join(workspace.stage("train"), MODEL_FILE)
    storage.write_bytes(path, data)
    resolved = context.config.resolved()
    workspace.finish(
        "train",
        {
            "config": {"sample": resolved["sample"], "train": resolved["train"]},
            "model_file": MODEL_FILE,
            "sha256": storage.sha256(data),
            "defect_model_id": models.defect_id,
            "correction_model_id": models.correction_id,
            "threshold": _facts(models.threshold),
            "tau": _facts(models.tau),
            "report": models.report,
            "gates": [],
        },
    )


def _facts(threshold: Threshold) -> dict[str, object]:
    return {k: round(v, DECIMALS) if isinstance(v, float) else v for k, v in asdict(threshold).items()}


def _utterances(context: Context, rows: pa.Table) -> pa.Table:
    """`utterance` of the turns that Signals rows are of, in their order."""
    wanted = flat(rows["turn_id"])
    folder, found = context.workspace.table("ingest", "turns"), []
    for bucket in context.workspace.buckets("signals", "signals"):
        turns = storage.read_table(bucket_path(folder, bucket), TURN.schema, ["turn_id", "utterance"])
        found.append(turns.filter(pc.is_in(turns["turn_id"], value_set=wanted)))
    held = pa.concat_tables(found)
    return held.take(pc.index_in(wanted, value_set=flat(held["turn_id"])))


def _sample(context: Context) -> None:
    """Two passes: how many rows lie in each session bin, then the rows below the cut."""
    workspace = context.workspace
    turns, signals = workspace.table("ingest", "turns"), workspace.table("signals", "signals")
    path = storage.join(workspace.stage("train"), "histogram.parquet")
    buckets = context.workspace.buckets("signals", "signals")

    def count(pipeline: beam.Pipeline) -> None:
        summed = (
            numbers(pipeline, buckets)
            | "Count" >> beam.ParDo(CountSessions(turns, signals))
            | beam.CombineGlobally(add_histograms).with_output_types(pa.Table)
        )
        _ = summed | beam.Map(lambda table: storage.write_table(path, table)).with_output_types(type(None))

    context.run(count)
    histogram = pq.read_table(pa.BufferReader(storage.read_bytes(path)))
    limit = cut(histogram, context.config.sample.train_rows)

    def keep(pipeline: beam.Pipeline) -> None:
        rows = KeepSessions(turns, signals, workspace.table("train", "rows"), limit, context.threads)
        _ = numbers(pipeline, buckets) | "Keep" >> beam.ParDo(rows)

    context.run(keep)
