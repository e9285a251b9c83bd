"""Find what an id names, and gather all that a run and its release know of it."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import pyarrow.compute as pc

from pipeline import storage
from pipeline.errors import InputError
from pipeline.explain.example import explain_example, of_release
from pipeline.explain.release import SHORTEST_PREFIX, Release, open_release
from pipeline.explain.tables import StageTables
from pipeline.explain.turn import explain_turn
from pipeline.tail.files import OPEN, RECENT
from pipeline.transforms.write import bucket_path
from pipeline.version import code_version
from pipeline.workspace import Workspace
from schemas import TAIL


def explain(out: str, name: str, release: str | None = None) -> dict[str, Any]:
    """Why a turn or an example is what it is.

    Parameters
    ----------
    out : str
        Output folder of a run.
    name : str
        A turn_id, an example_id, or at least its first `SHORTEST_PREFIX` characters.
    release : str, optional
        A release id, or its beginning; the current release by default.

    Returns
    -------
    dict
        What docs/cli.md lists, in JSON's own types.

    Raises
    ------
    InputError
        If nothing has that id.
    ConfigError, StageError, VerifyError
        If there is no such release, or it cannot be read.
    """
    held = open_release(out, release)
    tables = StageTables(Workspace(out))
    gone = tables.mismatch(held.id)
    found = _from_release(held, name, tables) if gone else _from_both(held, name, tables)
    told: dict[str, Any] = _plain({"id": name} | found | _release(held, gone))
    return told


def _from_both(release: Release, name: str, tables: StageTables) -> dict[str, Any]:
    """From the stages and the release. A turn goes before an example of the same name."""
    place = tables.find(name)
    if place is not None:
        return {"kind": "turn"} | explain_turn(tables, release, place)
    example = release.find(name)
    if example is not None:
        return {"kind": "example"} | explain_example(tables, release, example)
    left = release.left_out(name)
    if left is not None:
        return {"kind": "left_out", "left_out": left}
    if aside := _aside(tables, name):
        raise InputError(aside)
    turns = f"{release.manifest['closing']['ingest'].get('kept', 0):,} turns of {tables.workspace.out}/stages"
    held = ", ".join(release.quarantine["domains"])
    withheld = f"New examples of quarantined domains ({held}) are in no release. " if held else ""
    hint = f"A dead letter or a superseded record is no turn. {withheld}"
    raise _unknown(release, name, f"no turn_id among the {turns}", hint)


def _aside(tables: StageTables, name: str) -> str | None:
    """What became of a turn that stage ingest put aside for other runs; None where it put none of that id aside."""
    told = {
        OPEN: "its session was still open at the end of this run's interval, so the run after it judges it",
        RECENT: "its session was judged by an earlier run and is as it was; its examples, if there are any, are in the "
        "release of that run: give it with --release",
    }
    for kind, words in told.items():
        folder = tables.workspace.table("ingest", kind)
        for number in tables.workspace.bucket_numbers(folder):
            held = storage.read_table(bucket_path(folder, number), TAIL.schema, ["turn_id", "judged_by"])
            found = held.filter(pc.equal(held["turn_id"], name))
            if found.num_rows:
                by = found["judged_by"][0].as_py()
                return f"{name}: {words}" + (f" (release {by})" if by else "")
    return None


def _from_release(release: Release, name: str, tables: StageTables) -> dict[str, Any]:
    """From the release alone, which knows the turns behind its examples and what was left out, and no others."""
    example = release.find(name)
    if example is not None:
        return {"kind": "example"} | of_release(release, example)
    behind = release.of_turn(name)
    if behind:
        return {"kind": "turn", "behind": [{"role": role} | of_release(release, example) for example, role in behind]}
    left = release.left_out(name) or release.left_out_of_turn(name)
    if left is not None:
        return {"kind": "left_out", "left_out": left}
    hint = f"Turns that went into none are in the stages alone ({tables.mismatch(release.id)}). "
    raise _unknown(release, name, "no turn_id behind its examples", hint)


def _release(release: Release, gone: str | None) -> dict[str, Any]:
    manifest = release.manifest
    made_by, code = manifest["identity"]["code"], code_version()
    notes = [] if gone is None else [f"explained from the release alone; the stages cannot be used: {gone}"]
    if gone is None and made_by != code:
        notes.append(f"the release is of code {made_by}, this is {code}, which may count otherwise")
    return {
        "release": {
            "release_id": release.id,
            "folder": release.folder,
            "is_current": release.is_current,
            "thresholds": manifest["thresholds"],
            "labels": manifest["training"]["labels"],
            "config": {k: manifest["identity"]["config"][k] for k in ("curate", "train")},
            "quarantine": release.quarantine,
        },
        "gates": manifest["gates"],
        "notes": notes,
    }


def _plain(value: Any) -> Any:
    """In JSON's own types: times as ISO 8601, and null for what is no number."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _unknown(release: Release, name: str, turns: str, hint: str) -> InputError:
    return InputError(
        f"{name}: {turns}, and no example_id among the {release.examples():,} examples of release {release.id[:12]}. "
        f"{hint}Give a turn_id as logged, or an example_id of {release.folder}/lineage "
        f"(its first {SHORTEST_PREFIX} characters will do)"
    )
