"""`afterword plan`: what a run would cost."""

from __future__ import annotations

import argparse
from typing import Any

from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions, WorkerOptions

from pipeline.commands.showing import show
from pipeline.config import load
from pipeline.jobs.context import pipeline_options
from pipeline.jobs.remote import LOCAL_RUNNER, on_dataflow
from pipeline.options import Config
from pipeline.plan import Budget, afford, plan, render


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Print the estimate; refuse what is over the budget after that."""
    config, options = load(arguments.config, list(arguments.overrides)), pipeline_options(beam_args)
    FileSystems.set_options(options)
    told = planned(arguments, config, options)
    show(arguments, told, lambda: render(told))
    afford(told)
    return 0


def engine(options: PipelineOptions) -> str:
    """Whose costs a run has; those of Spark on any runner that is neither local nor Dataflow."""
    if options.view_as(StandardOptions).runner == LOCAL_RUNNER:
        return "local"
    return "dataflow" if on_dataflow(options) else "spark"


def planned(arguments: argparse.Namespace, config: Config, options: PipelineOptions) -> dict[str, Any]:
    """An estimate of the run that the arguments describe; what lies in its output folder is no input."""
    runner, workers = (getattr(arguments, name, None) for name in ("runner", "workers"))
    runner = runner or engine(options)
    if workers is None:
        workers = options.view_as(WorkerOptions).max_num_workers or 1
    prices = {n: getattr(arguments, f"price_{n}") for n in ("vcpu_hour", "gib_hour", "shuffle_gib")}
    budget = Budget(runner, workers, arguments.max_cost, job_minutes=arguments.job_minutes, **prices)
    return plan(arguments.input, arguments.format, config, budget, getattr(arguments, "out", None), arguments.project)
