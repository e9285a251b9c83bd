"""Whose log the work area holds: that of the interval, and read by the configuration, that a release is asked for.

Stages of all days may share one output folder. What stage ingest left of one day must not be released as another's.
"""

from __future__ import annotations

import json
from typing import Any

from pipeline import storage
from pipeline.checks import parse_time
from pipeline.errors import StageError
from pipeline.jobs.context import OPTIONS_FILE, Context
from pipeline.options import Config
from pipeline.tail.takeover import SESSION_OPTIONS


def belongs(context: Context) -> None:
    """Check that stage ingest was run for this release.

    A log that was read without an interval may be released under any. Options of stage ingest need not be said again:
    those that are not given now count as they were.

    Raises
    ------
    StageError
        If the log was read for another interval, or with other options of stage ingest than are given now.
    """
    folder = context.workspace.stage("ingest")
    facts, options = context.workspace.facts("ingest"), context.config.release
    path = storage.join(folder, OPTIONS_FILE)
    held = json.loads(storage.read_bytes(path)) if storage.exists(path) else {"release": {}, "signals": {}}
    read_for = (held["release"].get("interval_start"), held["release"].get("interval_end"))
    asked = (options.interval_start, options.interval_end)
    if read_for != (None, None) and _moments(read_for) != _moments(asked):
        raise StageError(
            f"{folder}: the log was read for {_named(read_for)}, and a release of {_named(asked)} is asked for; run "
            "from ingest, or give release.interval_start and interval_end as they were"
        )
    now, unsaid = context.config.resolved(), Config().resolved()
    changed = [
        key
        for section, values in facts["config"].items()
        for key in _changed(section, values, now[section], unsaid[section])
    ]
    if facts.get("taken") is not None:
        # Stage ingest has divided the turns by their sessions.
        asked = {name: now["signals"][name] for name in SESSION_OPTIONS}
        changed += _changed("signals", {name: held["signals"].get(name) for name in asked}, asked, {})
    if changed:
        raise StageError(
            f"{folder}: the log was read with {', '.join(changed)}; run from ingest, or give the options as they were"
        )


def _moments(interval: tuple[str | None, str | None]) -> list[Any]:
    return [None if side is None else parse_time(side, "release.interval") for side in interval]


def _named(interval: tuple[str | None, str | None]) -> str:
    return "no interval" if interval == (None, None) else f"{interval[0]} to {interval[1]}"


def _changed(section: str, held: dict[str, Any], now: dict[str, Any], unsaid: dict[str, Any]) -> list[str]:
    """Options that are given now, with the value that they had and the one that they have; as JSON, which kept them."""
    values = {key: [json.dumps(each.get(key)) for each in (held, now, unsaid)] for key in sorted(now)}
    return [f"{section}.{key} = {old}, not {new}" for key, (old, new, none) in values.items() if new not in (old, none)]
