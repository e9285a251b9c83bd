"""Which release stands for an interval of the log: the parent of the one that follows it.

A day may be run again, with late events or another configuration. Of the releases of one interval the one that was
made last stands for it: `<out>/intervals/<start>-<end>` names it, a pointer as CURRENT is.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any, Final

from pipeline import manifest as manifests
from pipeline.checks import parse_time
from pipeline.publish import publisher
from pipeline.tail.files import OPEN, rows_of

FOLDER: Final = "intervals"
_TIME: Final = "%Y%m%dT%H%M%S"


def pointer(interval: dict[str, str]) -> str:
    """Name of an interval's pointer, relative to the output folder."""
    start, end = (parse_time(interval[side], f"interval.{side}").astimezone(UTC) for side in ("start", "end"))
    return f"{FOLDER}/{start:{_TIME}}-{end:{_TIME}}"


def stand(out: str, manifest: dict[str, Any], instead: str | None = None) -> None:
    """Let a finished release stand for its interval; nothing happens where it has none.

    Parameters
    ----------
    out : str
    manifest : dict
    instead : str, optional
        Only where this release stands for it now.

    Raises
    ------
    PublishError
        If the store cannot switch a pointer.
    """
    if manifest["interval"] is None:
        return
    store, name = publisher(out), pointer(manifest["interval"])
    if instead in (None, store.read(name)):
        store.switch(name, manifest["release_id"])


def waiting(out: str) -> list[str]:
    """Releases that stand for their interval, and left open sessions that no run has taken over or given up."""
    held = [m for m in manifests.releases(out) if m["interval"]]
    found = [m for m in held if rows_of(m)[OPEN] and not any(_settles(later, m, held) for later in held)]
    return [m["release_id"] for m in found if publisher(out).read(pointer(m["interval"])) in (None, m["release_id"])]


def _settles(later: dict[str, Any], earlier: dict[str, Any], held: list[dict[str, Any]]) -> bool:
    """Whether a release took over from one of an earlier release's interval, or gave up what that left open."""
    if not follows(later, earlier):
        return False
    taken = (later["identity"].get("taken") or {}).get("release")
    same = {m["release_id"] for m in held if pointer(m["interval"]) == pointer(earlier["interval"])}
    return taken in same or later["identity"]["config"]["ingest"].get("take_over") is False


def follows(later: dict[str, Any], earlier: dict[str, Any]) -> bool:
    """Whether the interval of a release begins where that of another one ends."""
    times = (later["interval"]["start"], "interval.start"), (earlier["interval"]["end"], "interval.end")
    start, end = (parse_time(text, name) for text, name in times)
    return start == end


def parent(out: str, interval: dict[str, str] | None) -> str | None:
    """The release whose interval ends where this one starts; never "whatever is current".

    Of several intervals the shortest, and of its releases the one that stands for it; the lowest id where none does.
    """
    if interval is None:
        return None
    start = parse_time(interval["start"], "release.interval_start")
    held = [m for m in manifests.releases(out) if m["interval"]]
    found = [m for m in held if parse_time(m["interval"]["end"], "interval.end") == start]
    if not found:
        return None
    latest = max(parse_time(m["interval"]["start"], "interval.start") for m in found)
    found = [m for m in found if parse_time(m["interval"]["start"], "interval.start") == latest]
    ids = sorted(m["release_id"] for m in found)
    standing = publisher(out).read(pointer(found[0]["interval"])) if len(ids) > 1 else None
    return standing if standing in ids else str(ids[0])
