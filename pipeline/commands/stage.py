"""`afterword ingest`, `signals`, `train`, `label`, `curate`, `release`: one stage alone."""

from __future__ import annotations

import argparse
import importlib

from pipeline.commands.opening import alone, context, wanted
from pipeline.jobs import datasets


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Run the stage that the command names."""
    opened = context(arguments, beam_args)
    stage = importlib.import_module(f"pipeline.jobs.{arguments.command}")
    log = getattr(arguments, "input", None), tuple(getattr(arguments, "gold", ()))
    told = datasets.alone(opened, arguments.command, *log)
    with alone(arguments.out, arguments.command), opened.progress.stage(arguments.command), told:
        if arguments.command == "ingest":
            stage.run(opened, arguments.input, arguments.format, tuple(arguments.gold), wanted(arguments))
        else:
            stage.run(opened)
        opened.keep_options(arguments.command)
    return 0
