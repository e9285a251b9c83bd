"""`afterword simulate`: a made-up log."""

from __future__ import annotations

import argparse
from pathlib import Path

from pipeline.errors import ConfigError
from simulator.options import SimulateOptions, SimulatorError, rates
from simulator.simulate import closing_table, simulate

_NAMES = ("turns", "users", "days", "seed", "files", "form", "wishes")


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Write the log, and print what it holds."""
    try:
        options = SimulateOptions(**{n: getattr(arguments, n) for n in _NAMES}, rates=rates(arguments.rate))
        summary = simulate(Path(arguments.out), options)
    except SimulatorError as error:
        raise ConfigError(str(error)) from None
    print(closing_table(summary, Path(arguments.out)))
    return 0
