"""What lies under an output folder: files with size and age, and releases by what names them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from apache_beam.io.filesystems import FileSystems

from pipeline import manifest as manifests
from pipeline import storage
from pipeline.publish import Publisher

# Folder of the names that single consumers follow.
PINS: Final = "pins"


@dataclass(frozen=True)
class Entry:
    """One file: its path, its size in bytes, and when it was last written, in seconds of the epoch."""

    path: str
    bytes: int
    written: float


def walk(folder: str) -> list[Entry]:
    """Every file below a folder by path, temporary and hidden ones too; none where there is no folder."""
    if not storage.exists(folder):
        return []
    found = FileSystems.match([storage.join(folder, "**")])[0].metadata_list
    entries = [Entry(m.path, m.size_in_bytes, m.last_updated_in_seconds or 0.0) for m in found]
    return sorted(entries, key=lambda e: e.path)


def below(folder: str, entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Files by the folder's entry that they lie in, or are."""
    base = folder.rstrip("/") + "/"
    out: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.path.startswith(base):
            out.setdefault(entry.path[len(base) :].split("/", 1)[0], []).append(entry)
    return out


def release_ids(out: str) -> list[str]:
    """Ids of the finished releases, sorted."""
    base = storage.join(out, "releases")
    if not storage.exists(base):
        return []
    return [path.rsplit("/", 2)[-2] for path in storage.files(base, f"*/{manifests.NAME}")]


def pins(out: str, store: Publisher) -> dict[str, str]:
    """Name of each pin to the release that it names."""
    folder = storage.join(out, PINS)
    names = [path.rsplit("/", 1)[-1] for path in storage.files(folder)] if storage.exists(folder) else []
    held = {name: store.read(f"{PINS}/{name}") for name in names}
    return {name: release_id for name, release_id in held.items() if release_id}


def remove_release(out: str, release_id: str) -> None:
    """Remove a release, its manifest first: what is left of it if this stops half-way is no release to anybody."""
    folder = storage.join(out, "releases", release_id)
    storage.remove(storage.join(folder, manifests.NAME))
    storage.remove(folder)
