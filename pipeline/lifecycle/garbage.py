"""`afterword gc`: what nothing needs any more, listed with its size, and removed where that is wished."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from pipeline import intervals, storage
from pipeline import manifest as manifests
from pipeline.errors import ConfigError
from pipeline.lifecycle.before import before
from pipeline.lifecycle.clean import RUN
from pipeline.lifecycle.listing import Entry, below, pins, release_ids, remove_release, walk
from pipeline.publish import CURRENT, publisher

_UNITS: Final = {"h": 3_600, "d": 86_400, "w": 7 * 86_400}


def collect(out: str, older_than: str, delete: bool) -> dict[str, Any]:
    """Find what can go, and remove it if wished.

    A release stays while CURRENT or a pin names it, while one that stays has examples carried over from it, while it
    is the parent of the current one, to which `rollback` goes, while no run has taken over the sessions that it left
    open, and while it is young. A run stays while its release does.

    Parameters
    ----------
    out : str
    older_than : str
        Age, as 12h, 30d or 8w; what was written to since then stays.
    delete : bool

    Returns
    -------
    dict
        `kept` (release id to why), `items` (`kind`, `path`, `bytes`), `bytes`, `deleted`.

    Raises
    ------
    ConfigError
        If the age is none.
    """
    cutoff = datetime.now(UTC).timestamp() - seconds(older_than)
    entries = walk(out)
    kept = needed(out)
    groups = below(storage.join(out, "releases"), entries)
    for name, files in groups.items():
        if name not in kept and not _is_old(files, cutoff):
            kept[name] = [f"younger than {older_than}"]
    items = [_item("release", out, f"releases/{n}", f) for n, f in sorted(groups.items()) if n not in kept]
    items += _runs(out, entries, frozenset(kept), cutoff)
    items += _leftovers(out, entries, items, cutoff)
    if delete:
        for item in items:
            _remove(out, item)
    total = sum(item["bytes"] for item in items)
    return {"kept": kept, "items": items, "bytes": total, "deleted": delete}


def seconds(age: str) -> int:
    """Seconds of an age.

    Raises
    ------
    ConfigError
        If it is not a number and a unit.
    """
    found = re.fullmatch(r"(\d+)([hdw])", age)
    if not found:
        raise ConfigError(f"--older-than {age}: a number with h, d or w is wanted, for example 30d")
    return int(found[1]) * _UNITS[found[2]]


def needed(out: str) -> dict[str, list[str]]:
    """Releases that something names, and why."""
    there, store = release_ids(out), publisher(out)
    kept: dict[str, list[str]] = {}
    current = store.current()
    if current in there:
        kept[str(current)] = [CURRENT]
        parent = _manifest(out, str(current))["identity"]["parent"]
        _keep(kept, there, parent, f"parent of {CURRENT}")
        if parent is None:
            _keep(kept, there, before(out, str(current)), f"was {CURRENT} before")
    for name, release_id in pins(out, store).items():
        _keep(kept, there, release_id, f"pin {name}")
    for release_id in intervals.waiting(out):
        _keep(kept, there, release_id, "the next run takes over the sessions that it left open")
    left = list(kept)
    while left:
        release_id = left.pop()
        source = _manifest(out, release_id).get("quarantine", {}).get("carried_from")
        if source in there and source not in kept:
            left.append(source)
        _keep(kept, there, source, f"examples of {release_id[:12]} are carried over from it")
    return kept


def _keep(kept: dict[str, list[str]], there: Iterable[str], release_id: str | None, why: str) -> None:
    if release_id is not None and release_id in there:
        kept.setdefault(release_id, []).append(why)


def _manifest(out: str, release_id: str) -> dict[str, Any]:
    return manifests.read(storage.join(out, "releases", release_id))


def _is_old(files: list[Entry], cutoff: float) -> bool:
    return max(f.written for f in files) < cutoff


def _item(kind: str, out: str, path: str, files: list[Entry]) -> dict[str, Any]:
    return {"kind": kind, "path": path, "bytes": sum(f.bytes for f in files)}


def _runs(out: str, entries: list[Entry], kept: frozenset[str], cutoff: float) -> list[dict[str, Any]]:
    groups = below(storage.join(out, "runs"), entries)
    return [
        _item("run", out, f"runs/{name}", files)
        for name, files in sorted(groups.items())
        if _is_old(files, cutoff) and _made(storage.join(out, "runs", name)) not in kept
    ]


def _made(run: str) -> str | None:
    """The release that a run made; None where it failed, or left no record."""
    path = storage.join(run, RUN)
    if not storage.exists(path):
        return None
    try:
        told = json.loads(storage.read_bytes(path))["result"].get("release_id")
    except (ValueError, KeyError, AttributeError):
        return None
    return None if told is None else str(told)


def _leftovers(out: str, entries: list[Entry], items: list[dict[str, Any]], cutoff: float) -> list[dict[str, Any]]:
    """Files of shuffles, and temporary ones, outside of what goes anyway."""
    base = out.rstrip("/") + "/"
    gone = tuple(f"{item['path']}/" for item in items)
    found = []
    for entry in entries:
        path = entry.path[len(base) :]
        if entry.written >= cutoff or path.startswith(gone):
            continue
        if path.rsplit("/", 1)[-1].startswith(storage.TEMPORARY):
            found.append(_item("temporary", out, path, [entry]))
        elif path.startswith("stages/spill/"):
            found.append(_item("spill", out, path, [entry]))
    return found


def _remove(out: str, item: dict[str, Any]) -> None:
    if item["kind"] == "release":
        remove_release(out, item["path"].rsplit("/", 1)[-1])
    else:
        storage.remove(storage.join(out, *item["path"].split("/")))
