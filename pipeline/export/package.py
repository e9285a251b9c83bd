"""The verifiers package of a release: the files of `taskset/`, as they stand beside this module."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = "taskset"
_SUFFIXES: Final = (".py", ".toml")


def package() -> dict[str, bytes]:
    """The package's files by their path below `taskset/`."""
    root = Path(__file__).parent / FOLDER
    found = sorted(p for p in root.rglob("*") if p.suffix in _SUFFIXES)
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in found}
