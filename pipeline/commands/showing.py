"""What a command prints: text for people, or one JSON object."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from pipeline import storage


def show(arguments: argparse.Namespace, told: Mapping[str, Any], text: Callable[[], str]) -> None:
    """Print what was found."""
    print(storage.readable_json(told).decode().rstrip("\n") if arguments.json else text())
