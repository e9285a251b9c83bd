"""The verifiers package of a release: the files of `taskset/`, as they stand beside this module."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

FOLDER: Final = "taskset"
_SUFFIXES: Final = (".py", ".toml")
# What Python leaves beside a source when it is imported (the number is a write's in progress), and what an installer
# leaves at the package's root.
_COMPILED: Final = re.compile(rf"({FOLDER}/(?:.+/)?)__pycache__/([^/.]+)\.[^/]+\.pyc(?:\.\d+)?")
_BUILT: Final = re.compile(rf"({FOLDER}/(?:build|[^/]+\.egg-info)/).+")


def package() -> dict[str, bytes]:
    """The package's files by their path below `taskset/`."""
    root = Path(__file__).parent / FOLDER
    found = sorted(p for p in root.rglob("*") if p.suffix in _SUFFIXES)
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in found}


def left_by_use(path: str, listed: Iterable[str]) -> bool:
    """Whether a file of a release is what loading or installing the package left there.

    Parameters
    ----------
    path : str
        Path in the release.
    listed : iterable of str
        Files of the release's manifest. Beside a source that is not among them Python leaves nothing, and what is left
        lies in no folder of theirs.
    """
    compiled, built = _COMPILED.fullmatch(path), _BUILT.fullmatch(path)
    if compiled:
        return f"{compiled[1]}{compiled[2]}.py" in set(listed)
    return built is not None and not any(name.startswith(built[1]) for name in listed)
