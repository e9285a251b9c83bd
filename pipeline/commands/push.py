"""`afterword push`: what a run concluded, into BigQuery."""

from __future__ import annotations

import argparse

from pipeline.commands.opening import alone, folder, stores
from pipeline.commands.showing import show
from pipeline.warehouse.push import push
from pipeline.warehouse.render import pushed_text


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Load the days, and print what was loaded."""
    stores(beam_args)
    out = folder(arguments.out)
    with alone(out, "push"):
        told = push(out, arguments.release, arguments.to, arguments.project, arguments.replace)
    show(arguments, told, lambda: pushed_text(told))
    return 0
