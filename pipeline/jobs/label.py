"""Stage label: Judgement and Correction rows."""

from __future__ import annotations

import apache_beam as beam

from pipeline import storage
from pipeline.errors import StageError
from pipeline.gates.counts import closes
from pipeline.jobs.context import Context, numbers, write_counts
from pipeline.transforms.signals import JudgeTurns


def run(context: Context) -> None:
    """Judge every bucket of turns with the models of stage train."""
    workspace = context.workspace
    workspace.begin("label")
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

    def build(pipeline: beam.Pipeline) -> None:
        done = numbers(pipeline, context.workspace.buckets("signals", "signals")) | "Judge" >> beam.ParDo(judge)
        write_counts(done, context, "label")

    context.run(build)
    gate = closes("label", workspace.counts("label"), workspace.facts("ingest")["kept"])
    workspace.finish("label", {"config": {}, "gates": [gate]})
