"""`afterword rollback`: CURRENT names an earlier release again, proved before it does."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipeline import intervals, storage
from pipeline import manifest as manifests
from pipeline.errors import PublishError, StageError
from pipeline.explain.release import open_release
from pipeline.filters.tombstones import tombstone_files
from pipeline.jobs.context import Context
from pipeline.lifecycle.listing import release_ids
from pipeline.lifecycle.reach import holds
from pipeline.publish import CURRENT, publisher
from pipeline.verify import verify


def rollback(context: Context, to: str | None) -> dict[str, Any]:
    """Switch CURRENT to the parent of the current release, or to a named one.

    Parameters
    ----------
    context : Context
        Of the output folder.
    to : str or None
        Release id, or its beginning.

    Returns
    -------
    dict
        `release_id`, `before`, `proofs`.

    Raises
    ------
    StageError
        If there is no parent to go back to.
    ConfigError
        If no release has that id.
    VerifyError
        If it does not hold what its manifest says.
    PublishError
        If it holds a user who was forgotten since.
    """
    out = context.workspace.out
    store = publisher(out)
    before = store.current()
    release_id = open_release(out, to, "--to").id if to else _parent(out, before)
    folder = storage.join(out, "releases", release_id)
    mind_forgotten(context, release_id)
    proofs = verify(folder)
    # What follows builds on the release that was gone back to, not on the one that was left.
    intervals.stand(out, manifests.read(folder))
    store.switch(CURRENT, release_id)
    return {"release_id": release_id, "before": before, "proofs": proofs}


def mind_forgotten(context: Context, release_id: str) -> None:
    """Refuse a release that holds a forgotten user: one that was put back from a copy, for example.

    Raises
    ------
    PublishError
        If it does.
    """
    out = context.workspace.out
    tombstones = tombstone_files(out, context.config.forget.key).load()
    if tombstones is None:
        return
    folder = storage.join(out, "releases", release_id)
    found = holds(folder, manifests.read(folder), tombstones, pa.array([], pa.string()))
    if found:
        raise PublishError(
            f"{folder}: {found:,} example(s) of users who were forgotten; nobody may be pointed to it. "
            f"`afterword forget --out {out}` removes it"
        )


def _parent(out: str, current: str | None) -> str:
    there = release_ids(out)
    if current is None or current not in there:
        raise StageError(f"{out}: no release is current, so there is none before it; give --to")
    parent = manifests.read(storage.join(out, "releases", current))["identity"]["parent"]
    if parent in there:
        return str(parent)
    others = ", ".join(i[:12] for i in there if i != current)
    held = f"give --to one of: {others}" if others else "there is no other release to go to"
    why = "has no parent (a parent is found by release.interval_start)" if parent is None else f"{parent[:12]} is gone"
    raise StageError(f"{out}: the current release {current[:12]}: {why}; {held}")
