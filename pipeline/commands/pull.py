"""`afterword pull`: rows of BigQuery as files."""

from __future__ import annotations

import argparse

from pipeline.commands.opening import folder, stores
from pipeline.commands.showing import show
from pipeline.warehouse.pull import pull
from pipeline.warehouse.render import pulled_text


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Write the files, and print what they hold."""
    stores(beam_args)
    to = folder(arguments.to)
    told = pull(arguments.source, to, arguments.snapshot, arguments.project, arguments.streams)
    show(arguments, told, lambda: pulled_text(told, to))
    return 0
