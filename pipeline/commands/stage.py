"""`afterword ingest`, `signals`, `train`, `label`, `curate`, `release`: one stage alone."""

from __future__ import annotations

import argparse
import importlib

from pipeline.commands.opening import alone, context, wanted
from pipeline.commands.plan import planned
from pipeline.errors import OnlyBuilt
from pipeline.jobs import datasets
from pipeline.plan import afford


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Run the stage that the command names."""
    opened = context(arguments, beam_args)
    stage = importlib.import_module(f"pipeline.jobs.{arguments.command}")
    if getattr(arguments, "max_cost", None) is not None:
        afford(planned(arguments, opened.config, opened.options))
    given: tuple[object, ...] = ()
    if arguments.command == "ingest":
        given = (arguments.input, arguments.format, tuple(arguments.gold), wanted(arguments))
    log = getattr(arguments, "input", None), tuple(getattr(arguments, "gold", ()))
    with alone(arguments.out, arguments.command):
        opened.progress.log.begin(opened.run_id, opened.run_folder)
        with opened.progress.stage(arguments.command):
            try:
                with datasets.alone(opened, arguments.command, *log):
                    stage.run(opened, *given)
            except OnlyBuilt as built:
                opened.progress.note(str(built))
                return 0
            opened.keep_options(arguments.command)
    return 0
