"""Files of an input: those that a path stands for on any Beam file system, and what one of them holds, unpacked."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from apache_beam.io.filesystems import FileSystems

from pipeline import storage
from pipeline.errors import ConfigError, InputError
from pipeline.readers.stream import COMPRESSIONS, bare_suffix, decompress, open_stored
from pipeline.warehouse.source import is_warehouse


@dataclass(frozen=True)
class Found:
    """Input files: path, path relative to the input, size; and what was left out: hidden, or of no such format."""

    files: list[tuple[str, str, int]]
    skipped: list[str]


def find(pattern: str, suffixes: tuple[str, ...], out: str | None = None, option: str = "--input") -> Found:
    """Files of an input: a file, a folder (with all below it), or a glob, on any Beam file system.

    What lies in `out` is no input, so that a folder of logs may hold the output too. Nor is what engines that write
    logs call hidden: a name that begins with `_` or `.`, or lies below one, unless the glob has names that begin so.

    Raises
    ------
    InputError
        If no file matches.
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
    globbed = any(c in pattern for c in "*?[")
    base = pattern if not globbed else pattern[: _first_wild(pattern)].rpartition("/")[0]
    listed = FileSystems.match([pattern])[0].metadata_list
    single = len(listed) == 1 and not globbed and listed[0].path.rstrip("/") == pattern.rstrip("/")
    is_file = single and not _is_folder(pattern)
    if not is_file and not (globbed and listed):
        # A folder stands for all below it, and so does each one that a glob matches and that holds the files.
        listed = FileSystems.match([storage.join(pattern, "**")])[0].metadata_list
    hides = not is_file and not _asks_for_hidden(pattern[len(base) :])
    files, skipped = [], []
    for meta in sorted((m for m in listed if not _is_below(m.path, out)), key=lambda m: m.path):
        uri = meta.path.rsplit("/", 1)[-1] if is_file else meta.path[len(base.rstrip("/")) :].lstrip("/")
        if is_file or (bare_suffix(meta.path) in suffixes and not (hides and _hidden(uri))):
            files.append((meta.path, uri or meta.path, meta.size_in_bytes))
        elif not _is_folder(meta.path):
            skipped.append(uri)
    if not files:
        wanted = ", ".join(f"*{s}" for s in suffixes)
        held = f"; it holds {', '.join(skipped[:5])}" if skipped else ""
        raise InputError(
            f"{option} {pattern}: no file to read{held}. Wanted: {wanted}, plain or "
            f"{' / '.join(COMPRESSIONS)}; name a file, a folder or a glob"
        )
    return Found(files, skipped)


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
    return min(pattern.index(c) for c in "*?[" if c in pattern)


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
