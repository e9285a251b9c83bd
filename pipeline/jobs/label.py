"""Stage label: Judgement and Correction rows."""

from __future__ import annotations

import apache_beam as beam
import pyarrow as pa

from pipeline import storage
from pipeline.errors import StageError
from pipeline.gates.counts import closes
from pipeline.jobs.context import Context, numbers, write_counts, write_one
from pipeline.transforms.counts import add_up
from pipeline.transforms.sessions import COUNTS, OverSessions
from pipeline.transforms.signals import PROFILE, JudgeTurns
from pipeline.workspace import Workspace, largest_first
from schemas import COUNT


def run(context: Context) -> None:
    """Judge every bucket of turns with the models of stage train."""
    workspace = context.workspace
    context.begin("label")
    trained = workspace.facts("train")
    model = storage.join(workspace.stage("train"), trained["model_file"])
    if not storage.exists(model) or storage.sha256(storage.read_bytes(model)) != trained["sha256"]:
        raise StageError(f"{model}: not the file that stage train wrote; run `afterword train` again")
    sizes = workspace.bucket_sizes("signals", "signals")
    judge = JudgeTurns(
        turns=workspace.table("ingest", "turns"),
        signals=workspace.table("signals", "signals"),
        judgements=workspace.table("label", "judgements"),
        corrections=workspace.table("label", "corrections"),
        model=model,
        sha256=trained["sha256"],
        gold=(workspace.table("ingest", "gold"), workspace.table("train", "gold")),
        sharing=context.sharing("label", sizes),
    )

    summed = beam.CombineGlobally(add_up).with_output_types(pa.Table)

    def build(pipeline: beam.Pipeline) -> None:
        buckets = numbers(pipeline, largest_first(sizes))
        judged = buckets | "Judge" >> OverSessions(judge, PROFILE)
        write_counts(judged[COUNTS], context.workspace.counts_file("label"))
        write_one(judged[PROFILE] | "SumProfile" >> summed, profile_path(workspace), COUNT)

    context.run(build)
    gate = closes("label", workspace.counts("label"), workspace.facts("ingest")["kept"])
    workspace.finish("label", {"config": {}, "gates": [gate]})


def profile_path(workspace: Workspace) -> str:
    """Where the stage says what the log is like, for `pipeline.gates.drift.profile`."""
    return storage.join(workspace.stage("label"), "profile.parquet")
