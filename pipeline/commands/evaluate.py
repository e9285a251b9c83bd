"""`afterword evaluate`: a release or a model held against labels of people."""

from __future__ import annotations

import argparse

from pipeline.commands.opening import folder
from pipeline.commands.showing import show
from pipeline.evaluate.job import evaluate
from pipeline.evaluate.render import render


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Print the figures."""
    told = evaluate(folder(arguments.out), arguments.gold, arguments.release, arguments.model)
    show(arguments, told, lambda: render(told))
    return 0
