"""What lies in an output folder, local or on an object store: whose day its work area holds, and what was released.

The stages of all days share one work area, `<out>/stages`. A task of one day that finds another day's tables there must
not take them for its own: that would release one day's turns as another's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import fsspec

STAGES = ("ingest", "signals", "train", "label", "curate", "release")


class StoreError(Exception):
    """A folder that cannot be read from here; the message says what to install."""


def missing(out: str, stage: str, start: datetime, end: datetime) -> list[str]:
    """The stages before `stage` that have to run first, in order; none where the work area holds this interval's.

    A stage is held where its marker is there, it was run with this interval, and it was made from the stages that are
    there now.
    """
    before = STAGES[: STAGES.index(stage)]
    for at, earlier in enumerate(before):
        if not _held(out, earlier, start, end):
            return list(before[at:])
    return []


def _held(out: str, stage: str, start: datetime, end: datetime) -> bool:
    marker, options = (_read(out, "stages", stage, name) for name in ("stage.json", "options.json"))
    if marker is None or options is None:
        return False
    ran = json.loads(options)["release"]
    if [_moment(ran["interval_start"]), _moment(ran["interval_end"])] != [start, end]:
        return False
    made_from: dict[str, str] = json.loads(marker)["upstream"]
    return all(_sha256(_read(out, "stages", name, "stage.json")) == held for name, held in made_from.items())


def released(out: str) -> dict[str, Any]:
    """What stage release left last: `release_id`, and `quarantined` by domain."""
    facts: dict[str, Any] = json.loads(_read(out, "stages", "release", "stage.json") or b"{}").get("facts", {})
    return facts


def model_file(out: str) -> tuple[str, str]:
    """Path and SHA-256 of the models that stage train left."""
    facts = json.loads(_read(out, "stages", "train", "stage.json") or b"{}")["facts"]
    return f"{out}/stages/train/{facts['model_file']}", facts["sha256"]


def manifest(out: str, release_id: str) -> dict[str, Any]:
    """The manifest of a release."""
    held: dict[str, Any] = json.loads(_read(out, "releases", release_id, "manifest.json") or b"{}")
    return held


def current(out: str) -> str:
    """The release that readers follow; empty where there is none."""
    return (_read(out, "CURRENT") or b"").decode().strip()


def failed_gates(out: str) -> list[dict[str, Any]]:
    """Gates of the release under way that do not hold, on the whole and of domains."""
    gates: list[dict[str, Any]] = json.loads(_read(out, "stages", "release", "gates.json") or b"[]")
    return [gate for gate in gates if not gate["passed"]]


def carry(source: str, target: str, folders: Sequence[str]) -> int:
    """Copy the files below some folders of an output folder to another one; gives how many there are.

    What is in the target and no longer in the source is removed.
    """
    (from_fs, from_root), (to_fs, to_root) = _store(source), _store(target)
    carried = 0
    for folder in folders:
        held, kept = f"{from_root}/{folder}", f"{to_root}/{folder}"
        if to_fs.exists(kept):
            to_fs.rm(kept, recursive=True)
        for path in from_fs.find(held):
            file = kept + path[len(held) :]
            to_fs.makedirs(file.rpartition("/")[0], exist_ok=True)
            to_fs.pipe_file(file, from_fs.cat_file(path))
            carried += 1
    return carried


def _store(out: str) -> tuple[fsspec.AbstractFileSystem, str]:
    try:
        found, root = fsspec.url_to_fs(out)
    except (ImportError, ValueError) as error:
        raise _unreadable(out, error) from None
    return found, root.rstrip("/")


def _unreadable(path: str, error: Exception) -> StoreError:
    return StoreError(
        f"{path}: cannot be read by Airflow's Python ({error}); install gcsfs for gs://, s3fs for s3:// beside Airflow"
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))


def _sha256(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def _read(out: str, *parts: str) -> bytes | None:
    """A small file; None where there is none."""
    path = "/".join([out.rstrip("/"), *parts])
    try:
        with fsspec.open(path, "rb") as stream:
            data: bytes = stream.read()
            return data
    except FileNotFoundError:
        return None
    except (ImportError, ValueError) as error:
        raise _unreadable(path, error) from None
