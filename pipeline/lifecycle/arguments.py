"""The arguments of the commands over releases that are there."""

from __future__ import annotations

import argparse
from typing import Any, Final

COMMANDS: Final = ("forget", "rollback", "pin", "gc", "diff")


def add(commands: Any) -> None:
    """Add the commands to the parser's."""
    _forget(commands.add_parser("forget", help="remove a user from all that an output folder holds, for good"))
    _rollback(commands.add_parser("rollback", help="let CURRENT name an earlier release"))
    _pin(commands.add_parser("pin", help="let a name of a consumer's own stand for a release"))
    _gc(commands.add_parser("gc", help="list, and remove, what nothing needs any more"))
    _diff(commands.add_parser("diff", help="what changed between two releases"))


def _out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="PATH", help="output folder")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def _forget(parser: argparse.ArgumentParser) -> None:
    _out(parser)
    parser.add_argument(
        "--user",
        action="append",
        default=[],
        metavar="ID",
        help="user_id as logged; may be given several times (none: go on with, and check, who was forgotten before)",
    )
    parser.add_argument(
        "--conversation", action="append", default=[], metavar="ID", help="conversation_id as logged, all turns of it"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and change nothing")
    parser.add_argument(
        "--keep-models", action="store_true", help="name the models that learned from the user; do not fit them anew"
    )
    parser.add_argument("--force", action="store_true", help="remove pinned releases too")
    parser.add_argument("--config", metavar="FILE", help="TOML file, for its [forget]")
    _json(parser)


def _rollback(parser: argparse.ArgumentParser) -> None:
    _out(parser)
    parser.add_argument("--to", metavar="ID", help="release id, or its first 8 characters (the parent of CURRENT)")
    _json(parser)


def _pin(parser: argparse.ArgumentParser) -> None:
    _out(parser)
    parser.add_argument("name", nargs="?", metavar="NAME", help="the consumer's name (none: list the pins)")
    parser.add_argument("id", nargs="?", metavar="ID", help="release id, or its first 8 characters")
    parser.add_argument("--remove", action="store_true", help="take the name away")
    _json(parser)


def _gc(parser: argparse.ArgumentParser) -> None:
    _out(parser)
    parser.add_argument(
        "--older-than", default="30d", metavar="AGE", help="leave what is younger: 12h, 30d, 8w (%(default)s)"
    )
    parser.add_argument("--delete", action="store_true", help="remove what is listed; without it nothing is")
    _json(parser)


def _diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="release id, its first 8 characters, or CURRENT")
    parser.add_argument("b", metavar="B", help="the release that is held against it")
    _out(parser)
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="examples that are listed of each change")
    _json(parser)
