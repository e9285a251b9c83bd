"""Stage label: Judgement and Correction rows."""

from __future__ import annotations

import apache_beam as beam
import pyarrow as pa

from pipeline import storage
from pipeline.errors import StageError
from pipeline.gates.counts import closes
from pipeline.jobs.context import Context, numbers, write_counts, write_one
from pipeline.transforms.counts import add_up
from pipeline.transforms.signals import PROFILE, JudgeTurns
from pipeline.workspace import Workspace
from schemas import COUNT


def run(context: Context) -> None:
    """Judge every bucket of turns with the models of stage train."""
    workspace = context.workspace
    context.begin("label")
    trained = workspace.facts("train")
    model = storage.join(workspace.stage("train"), trained["model_file"])
    if not storage.exists(model) or storage.sha256(storage.read_bytes(model)) != trained["sha256"]:
        raise StageError(f"{model}: not the file that stage train wrote; run `afterword train` again")
    judge = JudgeTurns(
        turns=workspace.table("ingest", "turns"),
        signals=workspace.table("signals", "signals"),
        judgements=workspace.table("label", "judgements"),
        corrections=workspace.table("label", "corrections"),
        model=model,
        sha256=trained["sha256"],
        threads=context.threads,
        gold=(workspace.table("ingest", "gold"), workspace.table("train", "gold")),
    )

    summed = beam.CombineGlobally(add_up).with_output_types(pa.Table)

    def build(pipeline: beam.Pipeline) -> None:
        buckets = numbers(pipeline, workspace.buckets("signals", "signals"))
        judged = buckets | "Judge" >> beam.ParDo(judge).with_outputs(PROFILE, main="counts")
        write_counts(judged.counts, context.workspace.counts_file("label"))
        write_one(judged[PROFILE] | "SumProfile" >> summed, profile_path(workspace), COUNT)

    context.run(build)
    gate = closes("label", workspace.counts("label"), workspace.facts("ingest")["kept"])
    workspace.finish("label", {"config": {}, "gates": [gate]})


def profile_path(workspace: Workspace) -> str:
    """Where the stage says what the log is like, for `pipeline.gates.drift.profile`."""
    return storage.join(workspace.stage("label"), "profile.parquet")
