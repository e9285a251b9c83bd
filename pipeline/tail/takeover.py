"""What a run takes over from the release before it, and when it had better not begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pipeline import intervals, storage
from pipeline import manifest as manifests
from pipeline.checks import parse_microseconds, parse_time
from pipeline.errors import StageError
from pipeline.options import Config
from pipeline.tail.files import LABELS, OPEN, RECENT, files_of, hands_on, rows_of
from pipeline.tail.sessions import Interval
from schemas import GOLD, TAIL

# Options of section `signals` that turns are divided by.
SESSION_OPTIONS: Final = ("session_gap", "session_cap", "session_bytes")
_BEGIN: Final = "begin here with ingest.take_over=false"


@dataclass(frozen=True)
class Taken:
    """The tail of a release that a run takes over.

    Attributes
    ----------
    release_id : str or None
        None where there is none to take over from.
    folder : str
        Of that release.
    files : dict
        Path in it to what its manifest says of the file.
    """

    release_id: str | None = None
    folder: str = ""
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of(self, *kinds: str) -> dict[str, dict[str, Any]]:
        """Files of some kinds."""
        return files_of({"files": self.files}, *kinds)

    @property
    def turns(self) -> int:
        """Turns in it."""
        return sum(facts["rows"] for facts in self.of(OPEN, RECENT).values())

    @property
    def sizes(self) -> list[tuple[str, int]]:
        """Path in the release and bytes of each file of turns."""
        return [(path, facts["bytes"]) for path, facts in sorted(self.of(OPEN, RECENT).items())]

    @property
    def facts(self) -> dict[str, Any]:
        """What the identity of a release says of it."""
        files = [{"uri": p, "sha256": f["sha256"], "bytes": f["bytes"]} for p, f in sorted(self.files.items())]
        return {"release": self.release_id, "files": files}


def interval_of(config: Mapping[str, Any]) -> Interval:
    """The interval of a run.

    Parameters
    ----------
    config : mapping
        The resolved configuration.
    """
    names = ("interval_start", "interval_end")
    start, end = (parse_microseconds(config["release"][name], f"release.{name}") for name in names)
    signals = config["signals"]
    cut = (signals[name] for name in SESSION_OPTIONS)
    return Interval(start, end, *cut, config["ingest"]["lateness"])


def take_over(out: str, config: Config) -> Taken | None:
    """Find what a run has to take over; None where it is not incremental.

    Raises
    ------
    StageError
        If turns that a release left open would be judged by no run.
    """
    options, release = config.ingest, config.release
    if release.interval_start is None or release.interval_end is None:
        return None
    if not options.take_over:
        return Taken() if options.incremental else None
    interval = {"start": release.interval_start, "end": release.interval_end}
    parent = intervals.parent(out, interval)
    if parent is None:
        _mind_gap(out, interval)
        return Taken() if options.incremental else None
    folder = storage.join(out, "releases", parent)
    manifest = manifests.read(folder)
    if not options.incremental:
        _mind_open(manifest)
        return None
    return Taken(parent, folder, _tail(manifest))


def _tail(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    name = manifest["release_id"][:12]
    if not hands_on(manifest):
        raise StageError(
            f"release {name}, of the interval before this one, was made without ingest.incremental and hands on no "
            f"open sessions. Run its interval again with ingest.incremental=true, or {_BEGIN}: sessions that go on "
            "over the interval's start are then judged in two pieces. Nothing was begun"
        )
    files = files_of(manifest)
    of_labels = files_of(manifest, LABELS)
    if any(facts["schema"] != (GOLD if path in of_labels else TAIL).digest for path, facts in files.items()):
        raise StageError(
            f"release {name}, of the interval before this one: its tail is of another schema than this code's "
            f"({manifest['identity']['code']}). Run its interval again with this code, or {_BEGIN}: the "
            f"{rows_of(manifest)[OPEN]:,} turn(s) that it left open are then judged by no run. Nothing was begun"
        )
    return files


def _mind_open(manifest: dict[str, Any]) -> None:
    """Refuse a run that is not incremental after one that left sessions open."""
    if n := rows_of(manifest)[OPEN]:
        raise StageError(
            f"release {manifest['release_id'][:12]}, of the interval before this one, left {n:,} turn(s) of open "
            "sessions to this run, which would not read them. Set ingest.incremental=true; or give them up with "
            "ingest.take_over=false. Nothing was begun"
        )


def _mind_gap(out: str, interval: dict[str, str]) -> None:
    """Refuse a run before which an interval is missing, where sessions were left open to that one."""
    start = parse_time(interval["start"], "release.interval_start")
    ends = [(parse_time(m["interval"]["end"], "interval.end"), m) for m in manifests.releases(out) if m["interval"]]
    before = [(end, m) for end, m in ends if end < start]
    latest = max((end for end, _ in before), default=None)
    held = [m for end, m in before if end == latest]
    left = max(held, key=lambda m: (rows_of(m)[OPEN], m["release_id"]), default=None)
    if left is not None and (n := rows_of(left)[OPEN]):
        raise StageError(
            f"no release ends at {interval['start']}, where this run begins; the last one before it, "
            f"{left['release_id'][:12]}, ends at {left['interval']['end']} and left {n:,} turn(s) of open sessions to "
            "the run after it. Run what lies between first. Where there is no log of it, let this run begin where that "
            f"release ends (release.interval_start={left['interval']['end']}), or {_BEGIN}, which gives those turns "
            "up. Nothing was begun"
        )
