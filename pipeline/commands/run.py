"""`afterword run`: the main job."""

from __future__ import annotations

import argparse

from pipeline.closing import closing_table
from pipeline.commands.opening import alone, context, wanted
from pipeline.commands.plan import planned
from pipeline.errors import ConfigError
from pipeline.jobs import run as job
from pipeline.jobs.remote import only_built
from pipeline.plan import afford


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Run the stages, and print the closing table."""
    _check(arguments)
    opened, complete = context(arguments, beam_args), wanted(arguments)
    if built := only_built(opened.options):
        raise ConfigError(f"run: {built} is of one stage, as each needs those before it; give the stage's own command")
    if arguments.max_cost is not None:
        afford(planned(arguments, opened.config, opened.options))
    with alone(arguments.out, arguments.command):
        result = job.run(opened, arguments.input, arguments.format, arguments.first, tuple(arguments.gold), complete)
    print(closing_table(result))
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Refuse arguments of stage ingest where it is not run, and their absence where it is."""
    if arguments.first == "ingest":
        if not (arguments.input and arguments.format):
            raise ConfigError("run: --input and --format are wanted (or --from a later stage)")
        return
    if arguments.gold:
        raise ConfigError(f"--gold is read by stage ingest: run from there, or copy the file to {arguments.out}/gold")
    if arguments.expect or arguments.marker:
        raise ConfigError("--expect and --marker are of stage ingest, which is not run; leave them out")
    if arguments.max_cost is not None:
        raise ConfigError("run: --max-cost is of a whole run, from its input on; it has no place beside --from")
