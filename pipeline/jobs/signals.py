"""Stage signals: one Signals row a turn."""

from __future__ import annotations

import apache_beam as beam

from pipeline.gates.counts import closes
from pipeline.jobs.context import Context, numbers, write_counts
from pipeline.transforms.sessions import COUNTS, OverSessions
from pipeline.transforms.signals import ComputeSignals
from pipeline.workspace import largest_first


def run(context: Context) -> None:
    """Compute the signals of every bucket of turns."""
    workspace = context.workspace
    context.begin("signals")
    sizes = workspace.bucket_sizes("ingest", "turns")
    compute = ComputeSignals(
        workspace.table("ingest", "turns"),
        workspace.table("signals", "signals"),
        context.config.signals,
        context.sharing("signals", sizes),
    )

    def build(pipeline: beam.Pipeline) -> None:
        buckets = numbers(pipeline, largest_first(sizes))
        done = buckets | "Signals" >> OverSessions(compute)
        write_counts(done[COUNTS], workspace.counts_file("signals"))

    context.run(build)
    gate = closes("signals", workspace.counts("signals"), workspace.facts("ingest")["kept"])
    workspace.finish("signals", {"config": {"signals": context.config.resolved()["signals"]}, "gates": [gate]})
