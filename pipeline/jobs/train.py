"""Stage train: sample whole sessions and count reformulations with Beam, then fit the models in this one process.

Where `models.file` names models that were fitted before, they are taken as they are.
"""

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
from models.chain import Chain
from models.chain_fit import fit_chain
from models.correction import DECIMALS
from models.fitted import Models
from models.store import ModelFileError, dumps, loads
from models.thresholds import Thresholds
from models.training import train
from models.training_table import certified_from, wrong_gold
from pipeline import storage, tally
from pipeline.errors import ConfigError, InputError
from pipeline.gold import GoldFiles, merged, of_folder
from pipeline.jobs.beside import under_names_now
from pipeline.jobs.context import Context, numbers
from pipeline.jobs.gold_files import tell_unknown
from pipeline.memory import give_back
from pipeline.monitoring import counted
from pipeline.transforms.chain import ByStart, CountEdges, KnownEdges, parts_of
from pipeline.transforms.sample import CountSessions, KeepSessions, add_histograms, below, cut
from pipeline.transforms.shuffle import Group
from pipeline.transforms.write import write_bucket
from pipeline.workspace import Workspace
from schemas import EDGE, GOLD, SAID, SIGNALS

MODEL_FILE = "models.json"
EDGES_FILE = "edges.parquet"


def run(context: Context) -> None:
    """Fit the models, or take those that were fitted before, and write them.

    Raises
    ------
    ConfigError
        If `models.file` is no model file of this version.
    InputError
        If the rows cannot give a model.
    """
    taken = _taken(context.config.models.file)
    workspace = context.workspace
    held = audited(workspace)
    context.begin("train", taken and taken.correction_id, held.inputs)
    if held.table.num_rows:
        # As they were when it was learned from them: stage label takes a reviewer's word from here.
        write_bucket(workspace.table("train", "gold"), 0, held.table, GOLD)
    models = taken or _fit(context, labels(workspace, held))
    _finish(context, models, held)


def _taken(path: str | None) -> Models | None:
    """Models that were fitted before; None where none are named.

    Raises
    ------
    ConfigError
        If they cannot be read.
    """
    if path is None:
        return None
    file = model_file(path)
    try:
        return loads(storage.read_bytes(file))
    except (OSError, ModelFileError, KeyError, TypeError) as error:
        raise ConfigError(
            f"models.file {path}: {file} cannot be read as models of this version ({error}). Give a models.json, or "
            "the output folder of a run that stage train has ended in; nothing was begun"
        ) from None


def model_file(path: str) -> str:
    """The models.json that a path means: itself, or that of the run whose output folder it is."""
    return path if path.endswith(".json") else storage.join(path, "stages", "train", MODEL_FILE)


def _fit(context: Context, gold: pa.Table) -> Models:
    """Fit the models on a sample of whole sessions."""
    _sample(context)
    rows = context.workspace.read("train", "rows", SIGNALS)
    order = [(name, way) for name, way in ORDER if name in rows.column_names]
    rows = rows.sort_by(order).combine_chunks()
    chain = _chain(context, rows, gold)
    said = _said(context, rows) if context.config.train.reads_words else None
    tally.say(f"fitting on {rows.num_rows:,} rows")
    try:
        return train(rows, gold, context.config.train, chain, said)
    except TrainingError as error:
        raise InputError(
            f"{rows.num_rows:,} turns of {len(rows['subject_id'].unique()):,} users cannot train a model: {error}. "
            "The last release stays current"
        ) from None


def _finish(context: Context, models: Models, held: GoldFiles) -> None:
    """Write the models, and what of them the manifest tells."""
    workspace, resolved = context.workspace, context.config.resolved()
    data = dumps(models)
    storage.write_bytes(storage.join(workspace.stage("train"), MODEL_FILE), data)
    chain = models.chain
    solved = {"chain_starts": len(chain.starts), "chain_readings": len(chain.meanings)} if chain else {}
    sections = {name: resolved[name] for name in ("sample", "chain", "models")}
    workspace.finish(
        "train",
        {
            # What the models were fitted with, which of models that were fitted before is not what the run says.
            "config": sections | {"train": asdict(models.options)},
            "model_file": MODEL_FILE,
            "sha256": storage.sha256(data),
            "defect_model_id": models.defect_id,
            "correction_model_id": models.correction_id,
            "threshold": _facts(models.threshold),
            "tau": _facts(models.tau),
            "report": models.report | solved,
            "gold": {"inputs": held.inputs, "labels": held.table.num_rows, "unknown": tell_unknown(context, held)},
            "gates": [],
        },
    )


def audited(workspace: Workspace, only: frozenset[str] | None = None) -> GoldFiles:
    """Labels in `<out>/gold`, where audits put theirs; of the named files alone where names are given."""
    return under_names_now(workspace, of_folder(storage.join(workspace.out, "gold"), only))


def labels(workspace: Workspace, held: GoldFiles) -> pa.Table:
    """All that is learned from: labels of the logs, of the files that ingest was given, and of audits."""
    return merged([workspace.read("ingest", "gold", GOLD), held.table])


def _facts(thresholds: Thresholds) -> dict[str, object]:
    """The pooled threshold, with those of domains under `domains`."""
    return _rounded(thresholds.pooled) | {"domains": {d: _rounded(t) for d, t in thresholds.domains.items()}}


def _rounded(threshold: Threshold) -> dict[str, object]:
    return {k: round(v, DECIMALS) if isinstance(v, float) else v for k, v in asdict(threshold).items()}


def _said(context: Context, rows: pa.Table) -> pa.Table:
    """Said rows in the order of the Signals rows."""
    held = context.workspace.read("train", "said", SAID)
    return held.take(pc.index_in(flat(rows["turn_id"]), value_set=flat(held["turn_id"])))


def _chain(context: Context, rows: pa.Table, gold: pa.Table) -> Chain:
    """Count how the users of all buckets went on, before what the thresholds are proved on, and solve the chain."""
    workspace, config = context.workspace, context.config
    path = storage.join(workspace.stage("train"), EDGES_FILE)
    before = certified_from(rows, wrong_gold(rows, gold), config.train.certify_share)
    buckets = workspace.buckets("signals", "signals")
    count = CountEdges(
        workspace.table("ingest", "turns"),
        workspace.table("signals", "signals"),
        config.signals.language,
        config.signals.by_locale,
        config.signals.rephrase_gap,
        config.train.folds,
        None if before is None else before.to_pydatetime(),
        context.threads,
    )
    spill = workspace.spill("train")
    by_start = Group(ByStart(parts_of(len(buckets))), context.shuffle_mode, spill, context.threads)

    def build(pipeline: beam.Pipeline) -> None:
        counted = numbers(pipeline, buckets) | "Edges" >> beam.ParDo(count)
        edges = counted | "Known" >> KnownEdges(config.chain.min_users, by_start, context.threads)
        write = beam.Map(lambda table: storage.write_record(path, table, EDGE)).with_output_types(type(None))
        _ = edges | "WriteEdges" >> write

    context.run(build)
    storage.remove(spill)
    chain = fit_chain(storage.read_table(path, EDGE.schema), config.train.folds, config.chain)
    give_back()
    return chain


def _sample(context: Context) -> None:
    """Two passes: how many rows lie in each session bin, then the rows below the cut."""
    workspace = context.workspace
    turns, signals = workspace.table("ingest", "turns"), workspace.table("signals", "signals")
    path = storage.join(workspace.stage("train"), "histogram.parquet")
    buckets = context.workspace.buckets("signals", "signals")

    def count(pipeline: beam.Pipeline) -> None:
        summed = (
            numbers(pipeline, buckets)
            | "Count" >> beam.ParDo(CountSessions(turns, signals, context.threads))
            | beam.CombineGlobally(add_histograms).with_output_types(pa.Table)
        )
        _ = summed | beam.Map(lambda table: storage.write_table(path, table)).with_output_types(type(None))

    context.run(count)
    histogram = pq.read_table(pa.BufferReader(storage.read_bytes(path)))
    limit = cut(histogram, context.config.sample.train_rows)
    sampled = below(histogram, limit)

    def keep(pipeline: beam.Pipeline) -> None:
        said = workspace.table("train", "said") if context.config.train.reads_words else None
        rows = KeepSessions(turns, signals, workspace.table("train", "rows"), limit, context.threads, said)
        _ = numbers(pipeline, buckets) | "Keep" >> beam.ParDo(rows)
        _ = pipeline | "Sampled" >> beam.Create([sampled]) | "Monitor" >> beam.Map(counted)

    context.run(keep)
