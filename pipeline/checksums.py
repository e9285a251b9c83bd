"""Checksums of what stages hand on: a file that was cut short or changed after it was written fails the run.

Beside `bucket-00000.parquet` lies `_bucket-00000.parquet.sum`, a line of JSON with rows, bytes, SHA-256 and the digest
of the schema, taken from the bytes in memory, before any disk had part in them. Readers of Parquet folders pass over
names that begin with an underscore. When a stage ends, the checksums of its tables are put together (`files.parquet`),
and the next stage looks for every file by name and size before it begins; where a file is read, its hash is checked.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pipeline.errors import StageError

_PREFIX: Final = "_"
_SUFFIX: Final = ".sum"
_STAGE: Final = re.compile(r"/stages/([a-z]+)/")
# Enough of a hash to tell two files apart in a message.
_SHOWN: Final = 12


def sum_path(path: str) -> str:
    """Path of a file's checksum."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{_PREFIX}{name}{_SUFFIX}" if folder else f"{_PREFIX}{name}{_SUFFIX}"


def is_sum(path: str) -> bool:
    """Whether a path is that of a checksum."""
    name = path.rpartition("/")[2]
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


def summed_path(path: str) -> str:
    """Path of the file that a checksum is of."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{name.removeprefix(_PREFIX).removesuffix(_SUFFIX)}"


def parse(path: str, data: bytes) -> dict[str, Any]:
    """A checksum's fields; `path` is the file that it is of.

    Raises
    ------
    StageError
        If it is none.
    """
    try:
        found = json.loads(data)
        return {name: found[name] for name in ("rows", "bytes", "sha256", "schema")}
    except (ValueError, KeyError, TypeError):
        raise StageError(f"{sum_path(path)}: no checksum ({len(data)} bytes); {advice(path)}") from None


def check(path: str, size: int, sha256: str, beside: bytes) -> None:
    """Hold a file's size and hash to its checksum.

    Raises
    ------
    StageError
        If they differ; the message names the file, and the stage to run again.
    """
    wanted = parse(path, beside)
    if (size, sha256) != (wanted["bytes"], wanted["sha256"]):
        raise StageError(
            f"{path}: {size:,} bytes with SHA-256 {sha256[:_SHOWN]}, but {wanted['bytes']:,} with "
            f"{wanted['sha256'][:_SHOWN]} were written; {advice(path)}"
        )


def advice(path: str) -> str:
    """What to do about a file that is not as it was written."""
    stage = _STAGE.search(path)
    again = f"`afterword {stage[1]}` and what follows it again" if stage else "the stage that wrote it again"
    return f"it was damaged since (a full or failing disk?). Run {again}; the last release stays current"
