"""`afterword explain`: why a turn or an example is what it is."""

from __future__ import annotations

import argparse

from pipeline.commands.opening import folder
from pipeline.commands.showing import show
from pipeline.explain.gather import explain
from pipeline.explain.render import render


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Print the explanation."""
    told = explain(folder(arguments.out), arguments.id, arguments.release)
    show(arguments, told, lambda: render(told, arguments.turns))
    return 0
