"""Run the commands over releases that are there; gives what they print."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

from pipeline import storage
from pipeline.jobs.context import Context
from pipeline.lifecycle import render


def run(arguments: argparse.Namespace, context: Context) -> str:
    """Run one command.

    Parameters
    ----------
    arguments : argparse.Namespace
        As `pipeline.lifecycle.arguments` has them.
    context : Context
        Of the output folder.

    Returns
    -------
    str
        Text, or JSON where that is wished.

    Raises
    ------
    AfterwordError
        As the command does.
    """
    command, text = _COMMANDS[arguments.command]
    told = command(arguments, context)
    return storage.readable_json(told).decode().rstrip("\n") if arguments.json else text(told)


def _forget(arguments: argparse.Namespace, context: Context) -> dict[str, Any]:
    from pipeline.lifecycle.forget import ForgetRequest, forget

    names = ("dry_run", "keep_models", "force")
    request = ForgetRequest(arguments.user, arguments.conversation, **{n: getattr(arguments, n) for n in names})
    return forget(context, request)


def _rollback(arguments: argparse.Namespace, context: Context) -> dict[str, Any]:
    from pipeline.lifecycle.rollback import rollback

    return rollback(context, arguments.to)


def _pin(arguments: argparse.Namespace, context: Context) -> dict[str, Any]:
    from pipeline.lifecycle.pinning import pin

    return pin(context, arguments.name, arguments.id, arguments.remove)


def _gc(arguments: argparse.Namespace, context: Context) -> dict[str, Any]:
    from pipeline.lifecycle.garbage import collect

    return collect(context.workspace.out, arguments.older_than, arguments.delete)


def _diff(arguments: argparse.Namespace, context: Context) -> dict[str, Any]:
    from pipeline.lifecycle.compare import compare

    return compare(context.workspace.out, arguments.a, arguments.b, arguments.limit)


_Told = dict[str, Any]
# What each does, and how that is told.
_COMMANDS: Final[dict[str, tuple[Callable[[argparse.Namespace, Context], _Told], Callable[[_Told], str]]]] = {
    "forget": (_forget, render.forget_text),
    "rollback": (_rollback, render.rollback_text),
    "pin": (_pin, render.pin_text),
    "gc": (_gc, render.gc_text),
    "diff": (_diff, render.diff_text),
}
