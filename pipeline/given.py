"""Files beside the log that the configuration names: read once, unpacked, told by option, file and line where wrong."""

from __future__ import annotations

import io
import json
import tomllib
from dataclasses import dataclass
from typing import Any

from pipeline.errors import ConfigError
from pipeline.readers.stream import bare_suffix, decompress, open_stored


@dataclass(frozen=True)
class Given:
    """One file.

    Attributes
    ----------
    option : str
        The option that names it, as `ontology.file`.
    uri : str
        Its name without folders: where it lies changes nothing of what comes out.
    data : bytes
        What it holds, unpacked.
    bytes : int
        Size as stored.
    sha256 : str
        Hash of the bytes as stored.
    """

    option: str
    uri: str
    data: bytes
    bytes: int
    sha256: str

    @property
    def where(self) -> str:
        """Option and file, as messages name them."""
        return f"{self.option} {self.uri}"

    @property
    def suffix(self) -> str:
        """Ending of the file's name without that of a compression, in lower case."""
        return bare_suffix(self.uri)

    def facts(self) -> dict[str, Any]:
        """What a release is named by."""
        return {"option": self.option, "uri": self.uri, "bytes": self.bytes, "sha256": self.sha256}


def read_given(path: str, option: str) -> Given:
    """Read a file of an option, on any Beam file system, plain or packed.

    Raises
    ------
    ConfigError
        If it cannot be read to its end.
    """
    try:
        stored = open_stored(path)
    except OSError as error:
        raise ConfigError(f"{option} = {path}: cannot be read ({_cause(error)}); name a file that is there") from None
    try:
        stream = decompress(stored, path)
        data = io.BufferedReader(stream, 1 << 20).read()
        sha256 = stored.drain()
    except OSError as error:
        raise ConfigError(f"{option} = {path}: cannot be read ({_cause(error)}); a file is wanted") from None
    finally:
        stored.release()
    if stream.error is not None:
        raise ConfigError(f"{option} = {path}: breaks off ({type(stream.error).__name__}); copy it again")
    return Given(option, name_of(path), data, stored.bytes, sha256)


def name_of(path: str) -> str:
    """The last part of a path: what of it goes into a release."""
    return path.rstrip("/").rsplit("/", 1)[-1]


def _cause(error: OSError) -> str:
    return error.strerror or type(error).__name__


def text_of(given: Given) -> str:
    """What a file holds, as text.

    Raises
    ------
    ConfigError
        If it is not UTF-8, with the line.
    """
    try:
        return given.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = given.data[: error.start].count(b"\n") + 1
        raise ConfigError(f"{given.where}: line {line} is not UTF-8; save the file in UTF-8") from None


def table_of(given: Given) -> dict[str, Any]:
    """The table of keys that a TOML (`.toml`) or JSON file (any other ending) holds.

    Raises
    ------
    ConfigError
        If it is neither, with the line, or holds something else; a key that stands twice is refused.
    """
    text = text_of(given)
    try:
        held = tomllib.loads(text) if given.suffix == ".toml" else json.loads(text, object_pairs_hook=once)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{given.where}: not TOML ({error})") from None
    except (ValueError, RecursionError) as error:
        hint = "" if given.suffix == ".json" else "; a file of TOML ends in .toml"
        raise ConfigError(f"{given.where}: not JSON ({error}){hint}") from None
    if not isinstance(held, dict):
        raise ConfigError(f"{given.where}: a table of keys is wanted, found a {type(held).__name__}")
    return held


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON from its pairs, for `object_pairs_hook`.

    Raises
    ------
    ValueError
        If a key stands twice.
    """
    held = dict(pairs)
    if len(held) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} stands twice in one table")
    return held


def only(entry: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
    """Refuse keys that nothing reads: they were meant to do something.

    Raises
    ------
    ConfigError
        With what there is.
    """
    unknown = sorted(set(entry) - set(keys))
    if unknown:
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; there are: {', '.join(keys)}")


def entries(held: dict[str, Any], key: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    """The tables under a key, each with what a message calls it (`[[key]] 3`); none where the key is missing.

    Raises
    ------
    ConfigError
        If it holds anything but a list of tables.
    """
    found = held.get(key, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise ConfigError(f"{where} {key}: a list of tables is wanted ([[{key}]]), found {found!r:.80}")
    return [(f"{where} [[{key}]] {number}", entry) for number, entry in enumerate(found, start=1)]


def texts(entry: dict[str, Any], key: str, where: str) -> tuple[str, ...] | None:
    """The texts under a key, one or a list of them; None where the key is missing.

    Raises
    ------
    ConfigError
        If there is anything else, or none.
    """
    if key not in entry:
        return None
    found = entry[key]
    listed = [found] if isinstance(found, str) else found
    if not isinstance(listed, list) or not listed or not all(isinstance(v, str) and v.strip() for v in listed):
        raise ConfigError(f"{where} {key}: a text or a list of texts is wanted, found {found!r:.80}")
    return tuple(listed)
