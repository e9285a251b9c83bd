"""Which code this is."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

_PACKAGES = ("schemas", "features", "models", "pipeline")
# Another version of one of these may hash, fit, compare, judge or encode differently.
_LIBRARIES = ("great-expectations", "lightgbm", "numpy", "pandas", "pyarrow", "rapidfuzz", "scipy")


@cache
def code_version() -> str:
    """Version of the distribution and a hash over its source files and the libraries that shape the bytes.

    As `0.1.0+1a2b3c4d5e6f`.
    """
    digest = hashlib.sha256()
    for library in _LIBRARIES:
        digest.update(f"{library}=={metadata.version(library)}\0".encode())
    root = Path(__file__).resolve().parent.parent
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in (".py", ".toml"):
                digest.update(path.relative_to(root).as_posix().encode() + b"\0")
                digest.update(path.read_bytes() + b"\0")
    return f"{metadata.version('afterword')}+{digest.hexdigest()[:12]}"
