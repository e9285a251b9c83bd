"""`afterword forget`, `rollback`, `pin`, `gc`, `diff`: what is done with releases that are there."""

from __future__ import annotations

import argparse
from contextlib import nullcontext

from pipeline import storage
from pipeline.commands.opening import alone, context
from pipeline.errors import ConfigError
from pipeline.lifecycle import commands


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Run the command over an output folder, and print what it tells."""
    arguments.overrides, arguments.timezone = [], None
    arguments.config = getattr(arguments, "config", None)
    opened = context(arguments, beam_args)
    out = opened.workspace.out
    if not storage.exists(out):
        raise ConfigError(f"--out {arguments.out}: no such folder")
    changes = arguments.command == "forget" or (arguments.command == "gc" and arguments.delete)
    with alone(out, arguments.command) if changes else nullcontext():
        print(commands.run(arguments, opened))
    return 0
