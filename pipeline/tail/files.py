"""The files of a release's tail: their names, and what a manifest says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

OPEN, RECENT, LABELS = "open", "recent", "labels"
# Folders in a release. Not `<view>/data/`: they are no data set, and no trainer is to find them.
TURNS_FOLDER: Final = "tail"
GOLD_FOLDER: Final = "tail_gold"
# Tables of stage ingest that hold turns: those that the run judges, and those that it puts aside for others.
TURN_TABLES: Final = ("turns", OPEN, RECENT)
_FOLDERS: Final = {OPEN: TURNS_FOLDER, RECENT: TURNS_FOLDER, LABELS: GOLD_FOLDER}


def path_of(kind: str, number: int, shards: int) -> str:
    """Path of a file in its release."""
    return f"{_FOLDERS[kind]}/{kind}-{number:05d}-of-{shards:05d}.parquet"


def files_of(manifest: Mapping[str, Any], *kinds: str) -> dict[str, dict[str, Any]]:
    """Files of some kinds, or of all, with what the manifest says of them."""
    return {path: facts for path, facts in manifest["files"].items() if kind_of(path) in (kinds or _FOLDERS)}


def kind_of(path: str) -> str | None:
    """What a file of a release holds; None where it is none of its tail."""
    return next((kind for kind, folder in _FOLDERS.items() if path.startswith(f"{folder}/{kind}-")), None)


def rows_of(manifest: Mapping[str, Any]) -> dict[str, int]:
    """Rows of each kind."""
    return {kind: sum(facts["rows"] for facts in files_of(manifest, kind).values()) for kind in _FOLDERS}


def turns_taken(outcomes: Mapping[str, int]) -> int:
    """Turns that stage ingest took over, by its counts: what went in beside the records that it read."""
    return sum(outcomes.get(f"taken.{kind}", 0) for kind in (OPEN, RECENT))


def hands_on(manifest: Mapping[str, Any]) -> bool:
    """Whether a release has a tail, be it one without turns; others judged all that they read."""
    return bool(manifest["identity"]["config"].get("ingest", {}).get("incremental", False))
