"""`afterword export`: a release in the form of a trainer."""

from __future__ import annotations

import argparse

from pipeline.commands.opening import folder
from pipeline.commands.showing import show
from pipeline.export.job import export
from pipeline.export.render import render


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Write the files, and print what was written and left out."""
    to = folder(arguments.to)
    told = export(folder(arguments.out), arguments.release, arguments.format, to, arguments.split)
    show(arguments, told, lambda: render(told, to))
    return 0
