"""How far a forgotten user reaches: their turns in the stages, and the releases that hold any of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat, is_true
from pipeline import storage
from pipeline.filters.tombstones import Tombstones, forgotten_turns, subject_of
from pipeline.tail.files import OPEN, RECENT, TURN_TABLES, files_of
from pipeline.workspace import Workspace

Mask = npt.NDArray[np.bool_]
_COLUMNS = ["turn_id", "subject_id", "conversation_id", "user_known"]


@dataclass(frozen=True)
class Turns:
    """Turns of forgotten users that the stages hold.

    Attributes
    ----------
    ids : pyarrow.Array
        Their turn ids.
    conversations : frozenset of str
        Conversations in which nobody but a forgotten user is logged, and that have turns of nobody: those are theirs.
    """

    ids: pa.Array
    conversations: frozenset[str]


def turn_files(workspace: Workspace) -> list[str]:
    """Files of turns that stage ingest left, those for the next run too."""
    folders = [workspace.table("ingest", name) for name in TURN_TABLES]
    return [path for f in folders if storage.exists(f) for path in storage.files(f, "bucket-*.parquet")]


def tail_files(folder: str, manifest: dict[str, Any]) -> list[str]:
    """Files of turns that a release hands to the next run."""
    return [storage.join(folder, path) for path in files_of(manifest, OPEN, RECENT)]


def turns_of(paths: list[str], tombstones: Tombstones) -> Turns:
    """Find the turns of forgotten users in files of turns, of whatever code.

    Parameters
    ----------
    paths : list of str
    tombstones : Tombstones
    """
    ids, conversations = [], []
    for table in _tables(paths):
        mine = table.filter(pa.array(forgotten_turns(table, tombstones)))
        ids.append(flat(mine["turn_id"]))
        known = mine.filter(pc.and_(mine["user_known"], pc.is_valid(mine["conversation_id"])))
        conversations.append(flat(known["conversation_id"]))
    theirs = _alone(paths, _together(conversations).unique(), tombstones)
    nobodys = [t.filter(_nobodys(t, theirs)) for t in _tables(paths)] if len(theirs) else []
    found = _together([flat(t["conversation_id"]) for t in nobodys]).unique()
    return Turns(_together(ids + [flat(t["turn_id"]) for t in nobodys]).unique(), frozenset(found.to_pylist()))


def turns_in(paths: list[str], turn_ids: pa.Array) -> int:
    """How many rows of some files of turns are of some turns."""
    return sum(int(pc.sum(pc.is_in(t["turn_id"], value_set=turn_ids)).as_py() or 0) for t in _tables(paths))


def _alone(paths: list[str], conversations: pa.Array, tombstones: Tombstones) -> pa.Array:
    """Of some conversations those in which no other user is logged."""
    if not len(conversations):
        return conversations
    shared = []
    for table in _tables(paths):
        held = table.filter(pc.and_(pc.is_in(table["conversation_id"], value_set=conversations), table["user_known"]))
        others = ~tombstones.is_forgotten(flat(held["subject_id"]))
        shared.append(flat(held["conversation_id"]).filter(pa.array(others)))
    return conversations.filter(pc.invert(pc.is_in(conversations, value_set=_together(shared))))


def _nobodys(table: pa.Table, conversations: pa.Array) -> pa.ChunkedArray:
    """Turns of some conversations in which no user is logged."""
    return pc.and_(pc.is_in(table["conversation_id"], value_set=conversations), pc.invert(table["user_known"]))


def _tables(paths: list[str]) -> Iterator[pa.Table]:
    for path in paths:
        with storage.open_parquet(path) as file:
            yield file.read(columns=_COLUMNS)


def _together(arrays: list[pa.Array]) -> pa.Array:
    return pa.concat_arrays([pa.array([], pa.string()), *(a.cast(pa.string()) for a in arrays)])


def subjects_of(users: list[str], conversations: list[str]) -> list[str]:
    """Subject ids of users, and of conversations without one."""
    return [*users, *(subject_of(conversation) for conversation in conversations)]


def examples_of(rows: pa.Table, tombstones: Tombstones, turn_ids: pa.Array) -> Mask:
    """Rows with provenance that a forgotten user is behind, shape (n,).

    Of a release whose lineage does not tell its users, all: nobody can say whose they are.

    Parameters
    ----------
    rows : pyarrow.Table
        `provenance`, and `context` where there is one.
    tombstones : Tombstones
    turn_ids : pyarrow.Array
        Known turns of forgotten users.
    """
    provenance = flat(rows["provenance"])
    names = [provenance.type.field(k).name for k in range(provenance.type.num_fields)]
    if "subjects" not in names:
        return np.ones(len(provenance), bool)
    found = np.zeros(len(provenance), bool)
    # A conversation has the name of the subject that it stands for.
    for name in {"subjects", "conversations"}.intersection(names):
        held = provenance.field(name)
        found[_owners(held, tombstones.is_forgotten_pseudonym(held.flatten()))] = True
    for name in ("turn_ids", "supporting_turns"):
        turns = provenance.field(name)
        found[_owners(turns, is_true(pc.is_in(turns.flatten(), value_set=turn_ids)))] = True
    if "context" in rows.column_names:
        before = flat(rows["context"])
        held = pc.is_in(before.flatten().field("turn_id"), value_set=turn_ids)
        found[_owners(before, is_true(held))] = True
    return found


def _owners(lists: pa.ListArray, hit: Mask) -> npt.NDArray[np.int64]:
    return np.asarray(pc.list_parent_indices(lists).filter(pa.array(hit)).to_numpy(), dtype=np.int64)


def holds(folder: str, manifest: dict[str, Any], tombstones: Tombstones, turn_ids: pa.Array) -> int:
    """How many examples of a release a forgotten user is behind, left-out ones too."""
    found = 0
    for path in provenance_files(manifest):
        with storage.open_parquet(storage.join(folder, path)) as file:
            columns = [c for c in ("provenance", "context") if c in file.schema_arrow.names]
            found += int(examples_of(file.read(columns=columns), tombstones, turn_ids).sum())
    return found


def provenance_files(manifest: dict[str, Any]) -> list[str]:
    """Files of a release that tell the users behind their rows."""
    return [path for path in manifest["files"] if path.startswith(("lineage/data/", "left_out/data/"))]


def lone_turns(folder: str, manifest: dict[str, Any], tombstones: Tombstones) -> pa.Array:
    """Turns of examples that forgotten users alone support: theirs, though the stages are gone."""
    found = []
    for path in provenance_files(manifest):
        with storage.open_parquet(storage.join(folder, path)) as file:
            if pa.types.is_struct(file.schema_arrow.field("provenance").type):
                found.append(_lone(flat(file.read(columns=["provenance"])["provenance"]), tombstones))
    return _together(found).unique()


def _lone(provenance: pa.StructArray, tombstones: Tombstones) -> pa.Array:
    if provenance.type.get_field_index("subjects") < 0:
        return pa.array([], pa.string())
    subjects = provenance.field("subjects")
    others = np.zeros(len(provenance), bool)
    others[_owners(subjects, ~tombstones.is_forgotten_pseudonym(subjects.flatten()))] = True
    mine = provenance.filter(pa.array(~others & (pc.list_value_length(subjects).fill_null(0).to_numpy() > 0)))
    return _together([mine.field("turn_ids").flatten(), mine.field("supporting_turns").flatten()])
