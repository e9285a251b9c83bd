"""Run the commands over releases that are there; gives what they print."""

from __future__ import annotations

import argparse
from typing import Any

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
    told: dict[str, Any] = globals()[f"_{arguments.command}"](arguments, context)
    if arguments.json:
        return storage.readable_json(told).decode().rstrip("\n")
    text: str = getattr(render, f"{arguments.command}_text")(told)
    return text


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
