"""Which release was current before another took its place, as the run that made that one left it."""

from __future__ import annotations

import json
from typing import Any

from pipeline import storage
from pipeline.errors import StageError
from pipeline.lifecycle.clean import RUN
from pipeline.lifecycle.listing import release_ids
from pipeline.workspace import Workspace


def before(out: str, release_id: str) -> str | None:
    """The release that CURRENT named when a release was published; None where that is not known, or is gone.

    Of a release that was published several times, the last time that another one was current.

    Parameters
    ----------
    out : str
        Output folder.
    release_id : str
    """
    there = release_ids(out)
    for told in [_of_stages(out), *_of_runs(out)]:
        named = told.get("before")
        if told.get("release_id") == release_id and named not in (None, release_id):
            return str(named) if named in there else None
    return None


def made(out: str) -> dict[str, str]:
    """Release id to when the last run that made it ended, as far as records of runs are there."""
    return {told["release_id"]: told["ended"] for told in reversed(_of_runs(out))}


def _of_stages(out: str) -> dict[str, Any]:
    """What stage release left, where it lies in the output folder still."""
    try:
        return Workspace(out).facts("release")
    except StageError:
        return {}


def _of_runs(out: str) -> list[dict[str, Any]]:
    """What runs made, the last one first."""
    folder = storage.join(out, "runs")
    paths = storage.files(folder, f"*/{RUN}") if storage.exists(folder) else []
    held = [told for told in map(_result, paths) if told]
    return sorted(held, key=lambda told: (told["ended"], told["release_id"]), reverse=True)


def _result(path: str) -> dict[str, Any] | None:
    """The result of a run with when it ended; None where it failed, or its record cannot be read."""
    try:
        told = json.loads(storage.read_bytes(path))
        result = {"ended": str(told["ended"]), "before": told["result"].get("before")}
        return result | {"release_id": str(told["result"]["release_id"])}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
