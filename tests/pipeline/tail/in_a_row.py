"""Two days of the synthetic log, whole runs by the command: sessions over both midnights, and a late turn."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from days import DAY, MIDNIGHT
from synthetic import SETTINGS, afterword, lines, records

NOON = MIDNIGHT + timedelta(hours=12)
# Users whose session goes over the first midnight, and over the second; whose second turn comes a day late.
OVER, LAST, LATE = "u023", "u047", "u010"
LABEL = {"definition": "dissatisfied", "value": 1.0, "source": "people"}


def log(users: int = 144) -> list[list[dict[str, Any]]]:
    """Turns by the day whose log they come with. User k speaks in hour k of the two days, in turns of 15 seconds."""
    days: list[list[dict[str, Any]]] = [[], []]
    for row in records(users):
        if not row["user_id"].startswith("u"):
            continue
        user = int(row["user_id"][1:]) % 48
        late = timedelta(hours=1, seconds=-30) if row["user_id"] in (OVER, LAST) else timedelta()
        at = MIDNIGHT + timedelta(hours=user, seconds=15 * row["sequence"]) + late
        day = (at - MIDNIGHT) // DAY
        delivered = 1 if row["turn_id"] == f"{LATE}-1" else min(day, 1)
        days[delivered].append(row | {"event_time": at.isoformat()})
    return days


def write_days(folder: Path) -> list[Path]:
    paths = []
    for number, rows in enumerate(log()):
        path = folder / f"day-{number}"
        path.mkdir(parents=True)
        (path / "log.jsonl").write_bytes(lines(*rows))
        paths.append(path)
    return paths


def run(log: Path | None, day: int, out: Path, models: Path, *more: str) -> int:
    """A whole run over a day; without its log where it goes on from a later stage."""
    start = MIDNIGHT + day * DAY
    sets = [
        f"release.interval_start={start.isoformat()}",
        f"release.interval_end={(start + DAY).isoformat()}",
        "ingest.incremental=true",
        f"models.file={json.dumps(str(models))}",
    ]
    options = [part for each in sets for part in ("--set", each)]
    read = () if log is None else ("--input", log, *SETTINGS[:2])
    return afterword("run", *read, *SETTINGS[2:4], *options, "--out", out, *more)


def manifests(out: Path) -> list[dict[str, Any]]:
    """Of all releases, by interval."""
    found = [json.loads(path.read_text()) for path in (out / "releases").glob("*/manifest.json")]
    return sorted(found, key=lambda m: m["interval"]["start"])
