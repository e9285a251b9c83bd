"""Files of an input: those that a path stands for on any Beam file system, and what one of them holds, unpacked."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apache_beam.io.filesystem import FileMetadata
from apache_beam.io.filesystems import FileSystems

from pipeline import storage
from pipeline.errors import ConfigError, InputError
from pipeline.readers.stream import COMPRESSIONS, bare_suffix, decompress, open_stored
from pipeline.warehouse.source import is_warehouse

_WILD: Final = "*?["
# Of braces within braces the inner ones; what has no comma in it is a name like any other.
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")


@dataclass(frozen=True)
class Found:
    """Input files: path, path relative to the input, size; and what was left out: hidden, or of no such format."""

    files: list[tuple[str, str, int]]
    skipped: list[str]


def find(pattern: str, suffixes: tuple[str, ...], out: str | None = None, option: str = "--input") -> Found:
    """Files of an input, of which there is one at least; as `look`.

    Raises
    ------
    InputError
        If no file matches.
    ConfigError
        If it is a table of BigQuery.
    """
    return some(look(pattern, suffixes, out, option), pattern, suffixes, option)


def some(found: Found, pattern: str, suffixes: tuple[str, ...], option: str = "--input") -> Found:
    """What was found, if it is a file or more.

    Raises
    ------
    InputError
        If it is none.
    """
    if not found.files:
        wanted = ", ".join(f"*{s}" for s in suffixes)
        held = f"; it holds {', '.join(found.skipped[:5])}" if found.skipped else ""
        raise InputError(
            f"{option} {pattern}: no file to read{held}. Wanted: {wanted}, plain or "
            f"{' / '.join(COMPRESSIONS)}; name a file, a folder or a glob"
        )
    return found


def look(pattern: str, suffixes: tuple[str, ...], out: str | None = None, option: str = "--input") -> Found:
    """Files of an input, if there are any: a file, a folder (with all below it), or a glob, on any Beam file system.

    Braces name several: `day={2026-03-01,2026-03-02}`. What lies in `out` is no input, so that a folder of logs may
    hold the output too. Nor is what engines that write logs call hidden: a name that begins with `_` or `.`, or lies
    below one, unless the glob has names that begin so.

    Raises
    ------
    ConfigError
        If it is a table of BigQuery.
    """
    if is_warehouse(pattern):
        raise ConfigError(
            f"{option} {pattern}: files are wanted; `afterword pull {pattern} --to FOLDER` writes them, then give "
            f"{option} FOLDER/data --expect FOLDER/counts.json"
        )
    if storage.is_local(pattern) and "/" not in pattern:
        # Beam's local file system finds nothing for a glob that names no folder.
        pattern = f"./{pattern}"
    named = braced(pattern)
    globbed = len(named) > 1 or any(c in pattern for c in _WILD)
    base = pattern if not globbed else pattern[: _first_wild(pattern)].rpartition("/")[0]
    listed = {meta.path: meta for one in named for meta in _matched(one)}
    # Of a folder the files below it are listed.
    is_file = not globbed and [path.rstrip("/") for path in listed] == [pattern.rstrip("/")] and not _is_folder(pattern)
    hides = not is_file and not _asks_for_hidden(pattern[len(base) :])
    files, skipped = [], []
    for meta in sorted((m for m in listed.values() if not _is_below(m.path, out)), key=lambda m: m.path):
        uri = meta.path.rsplit("/", 1)[-1] if is_file else meta.path[len(base.rstrip("/")) :].lstrip("/")
        if is_file or (bare_suffix(meta.path) in suffixes and not (hides and _hidden(uri))):
            files.append((meta.path, uri or meta.path, meta.size_in_bytes))
        elif not _is_folder(meta.path):
            skipped.append(uri)
    return Found(files, skipped)


def braced(pattern: str) -> list[str]:
    """The patterns that one with braces stands for; itself where it has none with a comma."""
    found = _BRACES.search(pattern)
    if found is None:
        return [pattern]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [path for one in found[1].split(",") for path in braced(f"{before}{one}{after}")]


def _matched(pattern: str) -> list[FileMetadata]:
    """What a file, a folder or a glob without braces stands for."""
    listed: list[FileMetadata] = FileSystems.match([pattern])[0].metadata_list
    globbed = any(c in pattern for c in _WILD)
    single = len(listed) == 1 and not globbed and listed[0].path.rstrip("/") == pattern.rstrip("/")
    if (single and not _is_folder(pattern)) or (globbed and listed):
        return listed
    # A folder stands for all below it, and so does each one that a glob matches and that holds the files.
    below: list[FileMetadata] = FileSystems.match([storage.join(pattern, "**")])[0].metadata_list
    return below


def _hidden(uri: str) -> bool:
    """Whether a part of a path is of a file in the making, or of no log: `_temporary`, `_SUCCESS`, `.part-0.crc`.

    A partition by a column whose name begins with `_` is none of it.
    """
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in uri.split("/"))


def _asks_for_hidden(wild: str) -> bool:
    """Whether a glob names what is hidden."""
    return any(part[0] in "_." and part not in (".", "..") for part in wild.split("/") if part)


def _is_below(path: str, folder: str | None) -> bool:
    if folder is None:
        return False
    if storage.is_local(path) and storage.is_local(folder):
        return Path(path).resolve().is_relative_to(Path(folder).resolve())
    return path.startswith(f"{folder.rstrip('/')}/")


def _first_wild(pattern: str) -> int:
    braces = _BRACES.search(pattern)
    places = [pattern.index(c) for c in _WILD if c in pattern]
    return min([*places, braces.start()] if braces else places)


def _is_folder(path: str) -> bool:
    return storage.is_local(path) and Path(path).is_dir()


def unpacked(path: str, what: str) -> bytes:
    """A whole file, plain or packed.

    Raises
    ------
    InputError
        If it breaks off; `what` names it.
    """
    stored = open_stored(path)
    try:
        stream = decompress(stored, path)
        data = io.BufferedReader(stream, 1 << 20).read()
    finally:
        stored.release()
    if stream.error is not None:
        raise InputError(f"{what}: cannot be read to its end ({type(stream.error).__name__}); copy it again")
    return data
