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
from pipeline.lifecycle.before import before as before_of
from pipeline.lifecycle.before import made
from pipeline.lifecycle.listing import release_ids
from pipeline.lifecycle.reach import holds
from pipeline.publish import CURRENT, publisher
from pipeline.verify import verify_kept


def rollback(context: Context, to: str | None) -> dict[str, Any]:
    """Switch CURRENT to the parent of the current release, or where it has none to the one that was current before it;
    or to a named one.

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
        If it is not known what to go back to.
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
    release_id = open_release(out, to, "--to").id if to else _before(out, before)
    folder = storage.join(out, "releases", release_id)
    mind_forgotten(context, release_id)
    proofs = verify_kept(folder)
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


def _before(out: str, current: str | None) -> str:
    """The release to go back to: the parent of the current one, else the one that was current before it."""
    there = release_ids(out)
    if current is None or current not in there:
        raise StageError(f"{out}: no release is current, so there is none before it. {_others(out, there, current)}")
    parent = manifests.read(storage.join(out, "releases", current))["identity"]["parent"]
    if parent in there:
        return str(parent)
    if parent is not None:
        why = f"its parent {parent[:12]} is gone"
    else:
        found = before_of(out, current)
        if found is not None:
            return found
        why = "it has no parent (a parent is found by release.interval_start), and no other was current before it"
    raise StageError(f"{out}: the current release is {current[:12]}, and {why}. {_others(out, there, current)}")


def _others(out: str, there: list[str], current: str | None) -> str:
    """Which releases there are to go to, the last made first, and the command for the first of them."""
    ended = made(out)
    others = sorted((i for i in there if i != current), key=lambda i: (ended.get(i, ""), i), reverse=True)
    if not others:
        return "There is no other release to go to"
    told = "; ".join(f"{i[:12]}{f' of the run that ended {ended[i][:19]}' if i in ended else ''}" for i in others)
    return f"There are: {told}. To go to one: afterword rollback --out {out} --to {others[0][:12]}"
