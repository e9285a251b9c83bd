"""`afterword push`: what a run concluded of each turn, back into date partitions of BigQuery.

Signals, judgements and corrections become the tables of these names, cut by `log_date`: the day of the release's
interval, or where it has none the UTC day of the turn (`log_days`). A push replaces each day of the release whole, and
no other, so pushing twice is pushing once. A job's id follows from what it loads and from how many pushes went before:
a push that was stopped finds its own jobs and goes on; a push after another one loads anew, as the partition may hold
something else by then.

    <out>/pushed/<hash of the dataset>.json   the last push: which release, which days, whether it ended; and whose each
                                              day is that was ever pushed
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any, Final

from pipeline import storage
from pipeline.errors import ConfigError, StageError
from pipeline.explain.release import Release, open_release
from pipeline.explain.tables import StageTables
from pipeline.intervals import pointer
from pipeline.warehouse.clients import asking, rest_client
from pipeline.warehouse.days import DayFile, by_day
from pipeline.warehouse.loading import load, make_table
from pipeline.warehouse.log_days import LogDays
from pipeline.warehouse.pushed_tables import TABLES
from pipeline.warehouse.source import TABLE
from pipeline.workspace import Workspace

FOLDER = "pushed"
# Releases that a message names.
_LISTED: Final = 5


def push(out: str, release: str | None, to: str, project: str | None = None, replace: bool = False) -> dict[str, Any]:
    """Load a run's signals, judgements and corrections.

    Parameters
    ----------
    out : str
        Output folder of a run.
    release : str or None
        A release id, or its beginning; the current release by default.
    to : str
        `bq://project.dataset`.
    project : str or None
        Who pays; the dataset's project.
    replace : bool
        Of a release without an interval: replace days that hold another log's rows, too.

    Returns
    -------
    dict
        `release_id`, `to`, `days` that were replaced, `days_of` (`interval` or `log`), `rows` by table, `loads`, and
        `found`: loads that an earlier attempt had begun.

    Raises
    ------
    StageError
        If the stages are not those that the release was made from.
    ConfigError
        If the interval is less than a day, there is none and a day holds another log's rows, there is no such dataset,
        a table is partitioned otherwise, or BigQuery refuses.
    AfterwordError
        If a load fails, and again.
    """
    dataset = _dataset(to)
    held = open_release(out, release)
    workspace = Workspace(out)
    if (mismatch := StageTables(workspace).mismatch(held.id)) is not None:
        raise StageError(
            f"{mismatch}; what release {held.id[:12]} concluded of its turns is gone; run it again and push"
        )
    log_days = LogDays(held.manifest["interval"])
    ledger = storage.join(out, FOLDER, f"{storage.sha256(to.encode())[:16]}.json")
    last = json.loads(storage.read_bytes(ledger)) if storage.exists(ledger) else None
    holders, owner = (last or {}).get("holders", {}), _owner(held)
    with tempfile.TemporaryDirectory() as place, asking(to, waits=False):
        own = frozenset(day for day, holder in holders.items() if holder["owner"] == owner)
        files = by_day(workspace, held.id, log_days, Path(place), own)
        days = sorted({f.day for f in files})
        if not (log_days.of_interval or replace):
            _refuse_others(to, {day: holders[day] for day in days if day in holders and day not in own})
        told = {
            "to": to,
            "release_id": held.id,
            "days": days,
            "days_of": "interval" if log_days.of_interval else "log",
            "number": _number(held, last),
        }
        kept = holders | {day: {"owner": owner, "release_id": held.id} for day in days}
        storage.write_bytes(ledger, storage.readable_json(told | {"done": False, "holders": kept}))
        found = _load(dataset, project, files, told, out)
    storage.write_bytes(ledger, storage.readable_json(told | {"done": True, "holders": kept}))
    rows = {table.name: sum(f.rows for f in files if f.table == table) for table in TABLES}
    return told | {"rows": rows, "loads": len(files), "found": found}


def _dataset(to: str) -> str:
    name = to.removeprefix(TABLE)
    if not to.startswith(TABLE) or not re.fullmatch(r"[a-z0-9:.-]+\.[A-Za-z0-9_]+", name):
        raise ConfigError(f"--to {to}: {TABLE}project.dataset is wanted")
    return name


def _number(release: Release, last: dict[str, Any] | None) -> int:
    """Which push this is: the last one again, if it was stopped."""
    if last is None:
        return 1
    again = not last["done"] and last["release_id"] == release.id
    return int(last["number"]) + (0 if again else 1)


def _owner(release: Release) -> str:
    """Whose a day is: an interval's, whatever its log held; without one a log's, so that days it lost are emptied."""
    if release.manifest["interval"] is not None:
        return pointer(release.manifest["interval"])
    return storage.sha256(storage.canonical_json(release.manifest["identity"]["inputs"]))


def _refuse_others(to: str, others: dict[str, dict[str, Any]]) -> None:
    """Refuse to replace what was pushed of another log, or of an interval: a late turn or two would wipe a day."""
    if others:
        days, ids = sorted(others), sorted({holder["release_id"][:12] for holder in others.values()})
        span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        raise ConfigError(
            f"--to {to}: {len(days):,} day(s) of this release ({span}) hold rows of another log there, pushed from "
            f"release {', '.join(ids[:_LISTED])}, and would lose them. Run with release.interval_start and "
            "interval_end, so that the release has days of its own; or, if its log has all of these days, push with "
            "--replace"
        )


def _load(dataset: str, project: str | None, files: list[DayFile], told: dict[str, Any], out: str) -> int:
    """Load the files, table by table made where it is missing; gives how many jobs were found."""
    owner, _, name = dataset.rpartition(".")
    # A job is found again only where it runs.
    location = rest_client(project or owner).get_dataset(f"{owner}.{name}").location
    client = rest_client(project or owner, location)
    for table in TABLES:
        make_table(client, dataset, table)
    whose = str(Path(out).resolve()) if storage.is_local(out) else out
    found = 0
    for file in files:
        what = [dataset, file.table.name, file.day, file.sha256, told["number"], whose]
        key = storage.sha256(storage.canonical_json(what))[:40]
        found += load(client, dataset, file, f"afterword_{file.table.name}_{file.day}_{key}", told["release_id"])
    return found
