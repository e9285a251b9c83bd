"""`afterword ready`: is the input all there?"""

from __future__ import annotations

import argparse

from pipeline import readers
from pipeline.commands.opening import stores, wanted
from pipeline.completeness.ready import ready, ready_rows, told
from pipeline.warehouse.source import is_warehouse


def run(arguments: argparse.Namespace, beam_args: list[str]) -> int:
    """Print what is there; what is not there yet is exit code 8."""
    stores(beam_args)
    if is_warehouse(arguments.input):
        print(ready_rows(arguments.input, wanted(arguments), arguments.project))
        return 0
    suffixes = readers.reader(arguments.format).suffixes
    print(told(*ready(arguments.input, suffixes, arguments.out, wanted(arguments))))
    return 0
