"""What forgetting a user will do to an output folder, found before anything is changed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline import manifest as manifests
from pipeline import storage
from pipeline.errors import ConfigError
from pipeline.filters.tombstones import TombstoneFiles, Tombstones, subject_of
from pipeline.lifecycle import reach, stages
from pipeline.lifecycle.listing import pins, release_ids
from pipeline.publish import Publisher
from pipeline.workspace import Workspace

RECOMPUTE, WITHDRAW, NONE = "recompute", "withdraw", "none"


@dataclass(frozen=True)
class Plan:
    """What is held of the user, and what is to be done.

    Attributes
    ----------
    tombstones : Tombstones
        Those in force, with the new ones.
    subjects : list of str
        Subject ids to set tombstones for.
    turn_ids : pyarrow.Array
        Known turns of the user.
    in_stages : int
        How many of them the stages hold.
    held : dict
        Release id to how many of its examples the user is behind, where there are any, or turns of theirs in its tail.
    manifests : dict
        Manifests of all releases.
    current : str or None
    pins : dict
        Pin to release id.
    path, reason : str
        As in `record.Record`.
    options : dict or None
    """

    tombstones: Tombstones
    subjects: list[str]
    turn_ids: pa.Array
    in_stages: int
    held: dict[str, int]
    manifests: dict[str, dict[str, Any]]
    current: str | None
    pins: dict[str, str]
    path: str
    reason: str | None
    options: dict[str, Any] | None

    @property
    def parent(self) -> str | None:
        """The release that the current one has examples carried over from, if the user is in it."""
        held = self.manifests.get(self.current or "")
        source = held["quarantine"]["carried_from"] if held else None
        return source if source in self.held else None


def plan(out: str, files: TombstoneFiles, store: Publisher, users: list[str], conversations: list[str]) -> Plan:
    """Find what an output folder holds of some users and conversations, and of all who are forgotten already.

    Raises
    ------
    ConfigError
        If the key of the tombstones is missing, or nobody is named and nobody forgotten.
    """
    workspace = Workspace(out)
    subjects = reach.subjects_of(users, conversations)
    # To look only: a key of the day stands in where there is none yet.
    base = files.load() or Tombstones(b"\0" * 32, {})
    tombstones = Tombstones(base.key, base.held | base.mark(subjects))
    if not tombstones.held:
        raise ConfigError("forget: nobody is named and nobody was forgotten before; give --user or --conversation")
    told = {name: manifests.read(storage.join(out, "releases", name)) for name in release_ids(out)}
    tails = {name: reach.tail_files(storage.join(out, "releases", name), told[name]) for name in told}
    in_stages = reach.turn_files(workspace)
    found = reach.turns_of([*in_stages, *(path for paths in tails.values() for path in paths)], tombstones)
    theirs = [subject_of(conversation) for conversation in sorted(found.conversations)]
    tombstones = Tombstones(base.key, tombstones.held | base.mark(theirs))
    lone = [reach.lone_turns(storage.join(out, "releases", n), m, tombstones) for n, m in told.items()]
    turn_ids = pa.concat_arrays([found.ids, *lone]).unique()
    held = {}
    for name, manifest in told.items():
        examples = reach.holds(storage.join(out, "releases", name), manifest, tombstones, turn_ids)
        # A release may hold turns of the user for the next run, and no example.
        if examples or reach.turns_in(tails[name], turn_ids):
            held[name] = examples
    current = store.current()
    current = current if current in told else None
    turns = reach.turns_in(in_stages, turn_ids)
    path, reason = _path(workspace, current, turns > 0, held)
    options = dataclasses.asdict(stages.options(workspace)) if path == RECOMPUTE else None
    return Plan(
        tombstones,
        [*subjects, *theirs],
        turn_ids,
        turns,
        held,
        told,
        current,
        pins(out, store),
        path,
        reason,
        options,
    )


def _path(workspace: Workspace, current: str | None, in_stages: bool, held: dict[str, int]) -> tuple[str, str | None]:
    """How the current release is replaced, and why not by running the stages again."""
    if not in_stages and current not in held:
        return NONE, None
    reason = stages.unusable(workspace, current)
    if reason is None:
        return RECOMPUTE, None
    return (WITHDRAW, reason) if current in held else (NONE, reason)
