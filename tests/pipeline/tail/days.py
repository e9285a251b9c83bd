"""Days of a log run one after the other, as far as stage signals, each with a release that holds its tail alone."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from synthetic import lines

from pipeline import storage
from pipeline.config import load
from pipeline.gates.counts import by_outcome
from pipeline.jobs import ingest, signals
from pipeline.jobs.context import Context
from pipeline.jobs.tail import write_tail
from pipeline.progress import Progress
from pipeline.workspace import Workspace
from schemas import SIGNALS, TURN

MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@dataclass
class Ran:
    """A day's turns and signals by turn id, its counts, its release, and what the person was told."""

    turns: dict[str, dict[str, Any]]
    signals: dict[str, dict[str, Any]]
    counts: dict[str, int]
    release: Path
    said: str


@dataclass
class Days:
    """An output folder, and runs into it.

    Attributes
    ----------
    folder : Path
        Takes the logs and the output.
    settings : tuple of str
        `section.key=value` of every run.
    """

    folder: Path
    settings: Sequence[str] = ()
    ran: list[Ran] = field(default_factory=list)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def run(
        self,
        records: Iterable[dict[str, Any]],
        start: datetime,
        end: datetime,
        *settings: str,
        incremental: bool = True,
        gold: str | None = None,
    ) -> Ran:
        """Read a log of an interval."""
        log = self.folder / f"{start:%dT%H%M%S}"
        log.mkdir(exist_ok=True)
        (log / "log.jsonl").write_bytes(lines(*records))
        return self.read(log, start, end, *settings, incremental=incremental, gold=gold)

    def read(
        self,
        log: Path,
        start: datetime,
        end: datetime,
        *settings: str,
        incremental: bool = True,
        gold: str | None = None,
    ) -> Ran:
        """Read the log in a folder."""
        interval = (f"release.interval_start={start.isoformat()}", f"release.interval_end={end.isoformat()}")
        options = (f"ingest.incremental={str(incremental).lower()}", *interval, *self.settings, *settings)
        said = io.StringIO()
        context = Context(Workspace(str(self.out)), load(None, list(options)), progress=Progress(said))
        ingest.run(context, str(log), "canonical", (gold,) if gold else ())
        signals.run(context)
        tables = [context.workspace.read(*of) for of in (("ingest", "turns", TURN), ("signals", "signals", SIGNALS))]
        turns, found = ({row["turn_id"]: row for row in table.to_pylist()} for table in tables)
        counts = by_outcome(context.workspace.counts("ingest"))
        ran = Ran(turns, found, counts, release(context), said.getvalue())
        self.ran.append(ran)
        return ran

    def judged(self) -> dict[str, dict[str, Any]]:
        """Signals of all days; what a later one judged anew stands in the place of what was judged before."""
        return {name: row for ran in self.ran for name, row in ran.signals.items()}


def release(context: Context) -> Path:
    """A release of the stages that were run: the tail, and a manifest that says no more than a run after it needs."""
    storage.remove(context.workspace.stage("release"))
    files = write_tail(context)
    config = context.config.resolved()
    ends = {side: config["release"][f"interval_{side}"] for side in ("start", "end")}
    name = storage.sha256(storage.canonical_json([ends, context.workspace.facts("ingest")]))
    target = Path(context.workspace.out) / "releases" / name
    for file in files:
        path = target / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((Path(context.workspace.table("release", "files")) / file["path"]).read_bytes())
    manifest = {
        "format": "afterword-release/1",
        "release_id": name,
        "identity": {"config": config, "code": "0"},
        "interval": ends,
        "counts": {},
        "closing": {},
        "files": {f["path"]: f for f in files},
    }
    target.mkdir(parents=True, exist_ok=True)
    (target / "manifest.json").write_text(json.dumps(manifest))
    return target


def closed(found: dict[str, dict[str, Any]], end: datetime, session_gap: float = 300.0) -> dict[str, dict[str, Any]]:
    """Of a whole run's signals, those of sessions that no turn at the end could belong to."""
    last: dict[str, datetime] = {}
    for row in found.values():
        last[row["session_id"]] = max(last.get(row["session_id"], row["event_time"]), row["event_time"])
    gap = timedelta(seconds=session_gap)
    return {name: row for name, row in found.items() if end - last[row["session_id"]] > gap}


def tail(ran: Ran, kind: str) -> list[dict[str, Any]]:
    """Rows of a release's tail."""
    paths = sorted(ran.release.glob(f"tail*/{kind}-*.parquet"))
    return [row for path in paths for row in pa.parquet.read_table(path).to_pylist()]
