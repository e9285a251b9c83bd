"""What was done about a forgotten user, without who it was: `<out>/forgotten/<number>.json`.

It is written before anything is removed and again at the end, so that a run that was stopped is found and gone on with.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from pipeline import storage

FORMAT: Final = "afterword-forgotten/1"


@dataclass
class Record:
    """One forgetting.

    Attributes
    ----------
    macs : list of str
        The tombstones that were in force.
    path : str
        How the current release was replaced: `recompute` (stages run again), `withdraw` (from its own files) or `none`.
    reason : str or None
        Why the stages could not be run again.
    current : str or None
        The release that was current.
    replaced_by : str or None
    options : dict or None
        Configuration that the stages are run again with.
    keep_models : bool
    models : list of dict
        Models that were, or may have been, trained on the user: `release_id`, `file`, `defect`, `correction`, and
        whether they were fitted anew (`refit`).
    removed : dict
        Releases, audits, labels and files of runs that were removed or rewritten.
    moved_pins : dict
        Pins that were moved to the new release (its id), or taken away (null).
    remains : list of str
        What this command does not reach.
    done : bool
    """

    macs: list[str]
    path: str
    reason: str | None = None
    current: str | None = None
    replaced_by: str | None = None
    options: dict[str, Any] | None = None
    keep_models: bool = False
    models: list[dict[str, Any]] = field(default_factory=list)
    removed: dict[str, list[str]] = field(default_factory=dict)
    moved_pins: dict[str, str | None] = field(default_factory=dict)
    remains: list[str] = field(default_factory=list)
    done: bool = False


class Records:
    """The records of an output folder."""

    def __init__(self, out: str) -> None:
        self._folder = storage.join(out, "forgotten")

    def unfinished(self) -> tuple[int, Record] | None:
        """The last record, where what it tells of was not brought to its end."""
        paths = storage.files(self._folder, "*.json") if storage.exists(self._folder) else []
        if not paths:
            return None
        told = json.loads(storage.read_bytes(paths[-1]))
        told.pop("format")
        record = Record(**told)
        return None if record.done else (len(paths), record)

    def next(self) -> int:
        """Number of the record that comes next."""
        paths = storage.files(self._folder, "*.json") if storage.exists(self._folder) else []
        return len(paths) + 1

    def write(self, number: int, record: Record) -> str:
        """Write one; gives its path."""
        path = storage.join(self._folder, f"{number:05d}.json")
        told = {"format": FORMAT} | asdict(record)
        if record.done:
            told["options"] = None
        storage.write_bytes(path, storage.readable_json(told), durable=True)
        return path
