"""`afterword plan`: what a run would cost."""

from __future__ import annotations

import argparse
from typing import Any

from pipeline.commands.showing import show
from pipeline.config import load
from pipeline.options import Config
from pipeline.plan import Budget, afford, plan, render


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Print the estimate; refuse what is over the budget after that."""
    config = load(arguments.config, list(arguments.overrides))
    told = planned(arguments, config, arguments.runner, arguments.workers)
    show(arguments, told, lambda: render(told))
    afford(told)
    return 0


def planned(arguments: argparse.Namespace, config: Config, engine: str, workers: int) -> dict[str, Any]:
    """An estimate of the run that the arguments describe; what lies in its output folder is no input."""
    prices = {n: getattr(arguments, f"price_{n}") for n in ("vcpu_hour", "gib_hour", "shuffle_gib")}
    budget = Budget(engine, workers, arguments.max_cost, **prices)
    return plan(arguments.input, arguments.format, config, budget, getattr(arguments, "out", None), arguments.project)
