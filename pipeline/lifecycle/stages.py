"""Take a forgotten user's turns out of what the stages hold, so that the stages after them can be run again."""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline import checksums, storage
from pipeline.config import restore
from pipeline.errors import ConfigError, StageError
from pipeline.explain.tables import StageTables
from pipeline.filters.tombstones import Tombstones
from pipeline.jobs import run as jobs
from pipeline.jobs import signals
from pipeline.jobs.context import OPTIONS_FILE, Context
from pipeline.lifecycle.listing import walk
from pipeline.options import Config
from pipeline.stages import STAGES
from pipeline.tail.files import OPEN, TURN_TABLES
from pipeline.transforms.counts import add_up, counts
from pipeline.workspace import Workspace
from schemas import COUNT

# Sections of the configuration, by the stage that they are for; of the others the last stage's holds.
_SECTIONS: Final = {
    "signals": ("signals",),
    "train": ("sample", "chain", "train", "models"),
    "curate": ("curate",),
}


def options(workspace: Workspace) -> Config:
    """What the stages were run with, each section as the stage that it is for was given it.

    Raises
    ------
    ConfigError
        If it is not kept, or not of this code.
    """
    held = _options(workspace, "release")
    for stage, sections in _SECTIONS.items():
        own = _options(workspace, stage)
        held |= {section: own[section] for section in sections}
    return restore(held, storage.join(workspace.out, "stages"))


def _options(workspace: Workspace, stage: str) -> dict[str, Any]:
    path = storage.join(workspace.stage(stage), OPTIONS_FILE)
    if not storage.exists(path):
        raise ConfigError(f"{path}: missing, so nobody can tell what the stage was run with; run it again")
    held: dict[str, Any] = json.loads(storage.read_bytes(path))
    return held


def unusable(workspace: Workspace, release_id: str | None) -> str | None:
    """Why the stages cannot be run again for the current release; None where they can."""
    if release_id is None:
        return "no release is current"
    reason = StageTables(workspace).mismatch(release_id) if workspace.buckets("ingest", "turns") else "no turns"
    if reason is not None:
        return reason
    try:
        workspace.require("release")
        options(workspace)
    except (StageError, ConfigError) as error:
        return str(error)
    return None


def take_out(workspace: Workspace, tombstones: Tombstones, turn_ids: pa.Array) -> int:
    """Rewrite the tables of stages ingest and train without some turns; gives how many there were.

    Running it again takes out what is left. The turns themselves go last: they tell which rows of the others are
    theirs. The counts and the marker follow from the tables that remain.
    """
    facts = workspace.facts("ingest")
    turns = tuple(f"{workspace.table('ingest', name)}/" for name in TURN_TABLES)
    paths = [e.path for stage in ("train", "ingest") for e in walk(workspace.stage(stage))]
    # A sample to audit, which no stage reads; its contexts may be of a record that another user's superseded.
    storage.remove(workspace.table("ingest", "redactions"))
    paths = [path for path in paths if storage.exists(path)]
    for path in sorted((p for p in paths if p.endswith(".parquet")), key=lambda p: p.startswith(turns)):
        rewrite(path, turn_ids)
    left = {outcome: _rows(workspace, name) for outcome, name in (("kept", "turns"), ("left_open", OPEN))}
    gone = _recount(workspace, left)
    macs = sorted({*facts["withdrawn"], *set(tombstones.macs).difference(facts["tombstones"])})
    facts |= {"kept": left["kept"], "tombstones": tombstones.macs, "withdrawn": macs}
    facts["gates"] = [_gate(gate, workspace) for gate in facts["gates"]]
    workspace.finish("ingest", facts)
    return gone


def rewrite(path: str, turn_ids: pa.Array) -> None:
    """Write a table again without the rows of some turns; a file that would be empty goes."""
    with storage.open_parquet(path) as file:
        if "turn_id" not in file.schema_arrow.names:
            return
        gone = pc.is_in(flat(file.read(columns=["turn_id"])["turn_id"]), value_set=turn_ids)
        if not pc.any(gone).as_py():
            return
        kept = file.read().filter(pc.invert(gone))
    if kept.num_rows:
        storage.rewrite_table(path, kept)
    else:
        storage.remove(checksums.sum_path(path))
        storage.remove(path)


def _rows(workspace: Workspace, name: str) -> int:
    """Rows of a table of stage ingest."""
    folder = workspace.table("ingest", name)
    return sum(storage.rows(path) for path in storage.files(folder, "bucket-*.parquet"))


def _recount(workspace: Workspace, left: dict[str, int]) -> int:
    """The stage's counts over what is left in its tables, by outcome; gives how many are gone.

    What they tell beside their sum stays, and so does what was judged before: it is of what was read.
    """
    path = workspace.counts_file("ingest")
    table = workspace.counts("ingest")
    held = {r["outcome"]: r["rows"] for r in table.to_pylist() if r["closing"]}
    now = {outcome: rows for outcome, rows in left.items() if outcome in held}
    gone = sum(held[outcome] - rows for outcome, rows in now.items())
    if gone:
        rest = table.filter(pc.invert(pc.is_in(table["outcome"], value_set=pa.array([*now, "forgotten"]))))
        new = counts("ingest", now | {"forgotten": held.get("forgotten", 0) + gone})
        storage.write_record(path, add_up([rest, new]), COUNT)
    return int(gone)


def _gate(gate: dict[str, Any], workspace: Workspace) -> dict[str, Any]:
    """A row of the gate on counts, over the counts as they are now."""
    if gate["gate"] != "counts close: ingest":
        return gate
    held = {r["outcome"]: r["rows"] for r in workspace.counts("ingest").to_pylist() if r["closing"]}
    return gate | {"out": {k: n for k, n in held.items() if k != "in"}}


def again(context: Context, keep_models: bool) -> dict[str, Any]:
    """Run the stages after ingest; gives what `pipeline.jobs.run` does."""
    if not keep_models:
        return jobs.run(context, None, None, "signals")
    # What stage train left is kept, less the rows that it was fitted on: it now belongs to the signals made here.
    facts = context.workspace.facts("train")
    with context.progress.stage("signals"):
        signals.run(context)
    context.keep_options("signals")
    context.workspace.finish("train", facts)
    return jobs.run(context, None, None, "label")


def clear_after_ingest(workspace: Workspace, keep_models: bool) -> None:
    """Remove the tables of the stages after ingest, which hold the turns too."""
    kept = ("ingest", "train") if keep_models else ("ingest",)
    for stage in reversed(STAGES):
        if stage not in kept:
            storage.remove(workspace.stage(stage))


def clear_stale(workspace: Workspace) -> list[str]:
    """Remove the stages that a later run of an earlier one left behind, and those that broke off; gives their folders.

    Nothing reads them any more, and what they hold of whom is told by no table of turns.
    """
    removed = []
    for stage in STAGES:
        try:
            workspace.agree(stage)
        except StageError:
            if walk(workspace.stage(stage)):
                removed.append(workspace.stage(stage))
            storage.remove(workspace.stage(stage))
            # A shuffle that broke off has turns too.
            storage.remove(workspace.spill(stage))
    return removed


def clear(workspace: Workspace) -> None:
    """Remove the stages."""
    storage.remove(storage.join(workspace.out, "stages"))
