"""Stage release: shards, manifest last, CURRENT switched."""

from __future__ import annotations

from typing import Any, Final

import pyarrow.compute as pc

from pipeline import intervals, processes, storage
from pipeline import manifest as manifests
from pipeline.documents import documents
from pipeline.errors import GateError, PublishError
from pipeline.gates.counts import by_domain, by_outcome
from pipeline.jobs import gates
from pipeline.jobs.belongs import belongs
from pipeline.jobs.beside import read_beside
from pipeline.jobs.context import Context
from pipeline.jobs.release_tables import write_dead_letters, write_left_out, write_shards
from pipeline.jobs.tail import mind_parent, tell_followers, write_tail
from pipeline.publish import publisher
from pipeline.tail.made_of import made_of
from pipeline.verify import verify
from pipeline.version import code_version
from pipeline.workspace import Workspace
from pipeline.writers import training_set_diff
from schemas import TURN
from schemas.expectations import VIEWS

_COUNTED: Final = ("ingest", "signals", "label", "curate", "release")


def run(context: Context) -> str:
    """Write the release, install it, and switch CURRENT to it.

    Returns
    -------
    str
        The release id.

    Raises
    ------
    StageError
        If the stages before it are not whole, or are another interval's or another configuration's.
    GateError
        If a gate on the whole fails, counts do not close, or the same inputs gave other bytes before.
    VerifyError
        If what was installed does not hold what its manifest says; CURRENT stays as it was.
    PublishError
        If CURRENT cannot be switched on this store.
    StageError
        If the release of the interval before was made since stage ingest took over from it.
    """
    workspace = context.workspace
    belongs(context)
    parent = intervals.parent(workspace.out, _interval(context))
    mind_parent(context, parent)
    context.begin("release", parent, read_beside(context.config).facts)
    config = _config(context)
    with gates.pages(context) as library:
        passed = gates.run(context, config, parent, library)
        shards = write_shards(context, passed)
        passed.gates.extend(gates.check_views(context, config, shards, library))
    files = shards + write_left_out(context) + write_dead_letters(context) + write_tail(context)
    manifest = _manifest(context, files, passed)
    folder = workspace.table("release", "files")
    for name, data in (documents(manifest) | _review(context)).items():
        storage.write_bytes(storage.join(folder, name), data)
        manifest["files"][name] = {"bytes": len(data), "sha256": storage.sha256(data)}
    hand_over(context, manifest)
    return str(manifest["release_id"])


def hand_over(context: Context, manifest: dict[str, Any]) -> None:
    """Install the files of the stage under a manifest, prove them, mark the stage whole, and switch CURRENT.

    Whatever ends this in the middle, readers follow the release that was current, and the same again finishes it.
    """
    workspace = context.workspace
    target = _install(workspace, manifest)
    # No job follows, and the proof may want the memory.
    processes.end()
    # Proved before anybody is pointed to it.
    proofs = verify(target)
    facts = {"release_id": manifest["release_id"], "proofs": proofs, "quarantined": manifest["quarantine"]["domains"]}
    # What `rollback` goes back to where no parent is known.
    facts["before"] = _current(workspace.out)
    workspace.finish("release", {"config": {}, "gates": [], **facts})
    intervals.stand(workspace.out, manifest)
    if not publisher(workspace.out).publish(manifest["release_id"]):
        context.progress.note("release: CURRENT stays with a later interval; this release is a backfill")
    tell_followers(context, manifest)


def _current(out: str) -> str | None:
    """What CURRENT names; None where nothing, or on a store that has none, which `publish` says."""
    try:
        return publisher(out).current()
    except PublishError:
        return None


def reissue(
    context: Context, manifest: dict[str, Any], passed: gates.Passed, kept: dict[str, bytes], publish: bool = True
) -> str:
    """Write and prove, and publish if wished, a release that is made of another one's examples; gives its id.

    Parameters
    ----------
    context : Context
        Its workspace holds the counts of stage release, and takes the files.
    manifest : dict
        What the manifest says, but for the id, the files and the documents.
    passed : gates.Passed
        The examples.
    kept : dict
        Tables that are no view of the examples, and the sheet for review, by path.
    """
    replaced = manifest["identity"]["replaces"]
    files = write_shards(context, passed)
    folder = context.workspace.table("release", "files")
    held = [gate for gate in manifest["gates"] if not gate["gate"].startswith(f"{VIEWS.name}: ")]
    manifest = manifest | {"gates": held + gates.check_views(context, manifest["identity"]["config"], files)}
    told = {f["path"]: {k: f[k] for k in ("rows", "bytes", "sha256", "schema")} for f in files}
    for name, data in kept.items():
        storage.write_bytes(storage.join(folder, name), data)
        told[name] = manifest["files"].get(name, {}) | {"bytes": len(data), "sha256": storage.sha256(data)}
    manifest = manifest | {"release_id": manifests.release_id(manifest["identity"]), "files": told}
    for name, data in documents(manifest).items():
        storage.write_bytes(storage.join(folder, name), data)
        manifest["files"][name] = {"bytes": len(data), "sha256": storage.sha256(data)}
    verify(_install(context.workspace, manifest))
    intervals.stand(context.workspace.out, manifest, instead=replaced)
    if publish:
        publisher(context.workspace.out).publish(manifest["release_id"])
    return str(manifest["release_id"])


def _manifest(context: Context, files: list[dict[str, Any]], passed: gates.Passed) -> dict[str, Any]:
    workspace = context.workspace
    ingested, trained = workspace.facts("ingest"), workspace.facts("train")
    counts = {stage: workspace.counts(stage) for stage in _COUNTED}
    interval = _interval(context)
    identity = {
        "inputs": [{"uri": f["uri"], "sha256": f["sha256"], "bytes": f["bytes"]} for f in ingested["inputs"]],
        "gold": [
            {"uri": f["uri"], "sha256": f["sha256"], "bytes": f["bytes"]}
            for f in ingested["gold"]["inputs"] + trained["gold"]["inputs"]
        ],
        "given": ingested["given"] + workspace.facts("curate")["given"],
        "format": ingested["format"],
        "curation": workspace.facts("curate")["inputs"],
        "config": _config(context),
        "code": code_version(),
        "parent": intervals.parent(workspace.out, interval),
        "models": {
            "file": trained["sha256"],
            "defect": trained["defect_model_id"],
            "correction": trained["correction_model_id"],
        },
        "tombstones": ingested["tombstones"],
    }
    if ingested["withdrawn"]:
        # Taken out of what had been read: the counts of ingest differ from those of a log that is read without them.
        identity["withdrawn"] = ingested["withdrawn"]
    if ingested["taken"] is not None:
        # The content of what was taken over, as of the files that were read: the parent may be another by now.
        identity["taken"] = ingested["taken"]
    closed = [g for stage in _COUNTED[:-1] for g in workspace.facts(stage)["gates"]]
    manifest = {
        "format": manifests.FORMAT,
        "release_id": manifests.release_id(identity),
        "identity": identity,
        "interval": interval,
        "window": _window(context),
        "counts": {stage: by_outcome(table) for stage, table in counts.items()},
        "closing": {stage: by_outcome(table, closing=True) for stage, table in counts.items()},
        "domains": by_domain(counts["label"]),
        "profile": gates.profile(
            context,
            identity["parent"],
            set(passed.quarantine["domains"]),
            identity["config"]["gates"]["min_drift_turns"],
        ),
        "thresholds": {"defect": trained["threshold"], "correction": trained["tau"]},
        "training": trained["report"],
        "gates": closed + passed.gates,
        "quarantine": passed.quarantine,
        "files": {f["path"]: {k: f[k] for k in ("rows", "bytes", "sha256", "schema")} for f in files},
    }
    return manifest | {"made_of": made_of(manifest)}


def _config(context: Context) -> dict[str, Any]:
    """What each stage was run with, not what the configuration says by now."""
    merged: dict[str, Any] = {}
    for stage in ("ingest", "signals", "train", "curate"):
        merged |= context.workspace.facts(stage)["config"]
    return merged | {k: context.config.resolved()[k] for k in ("gates", "release")}


def _interval(context: Context) -> dict[str, str] | None:
    options = context.config.release
    if options.interval_start is None or options.interval_end is None:
        return None
    return {"start": options.interval_start, "end": options.interval_end}


def _window(context: Context) -> dict[str, str]:
    times = context.workspace.read("ingest", "turns", TURN, ["event_time"])["event_time"]
    bounds = pc.min_max(times).as_py()
    return {"first": bounds["min"].isoformat(), "last": bounds["max"].isoformat()}


def _review(context: Context) -> dict[str, bytes]:
    """What people are to decide, where a training set was given."""
    if context.workspace.facts("curate")["config"]["curate"]["training_set"] is None:
        return {}
    rows = training_set_diff.of_folder(context.workspace.table("curate", "training_set_diff"))
    return {training_set_diff.NAME: training_set_diff.sheet(rows)}


def _install(workspace: Workspace, manifest: dict[str, Any]) -> str:
    """Copy the files to the release's folder, its manifest last; gives the folder.

    Of a release that is there already only files that are missing or damaged are written, with the bytes that its
    manifest names.
    """
    data = storage.readable_json(manifest)
    target = storage.join(workspace.out, "releases", manifest["release_id"])
    path = storage.join(target, manifests.NAME)
    if storage.exists(path) and storage.read_bytes(path) != data:
        raise GateError(
            f"{target} was made from the same inputs, configuration and code, yet holds other bytes. "
            "Nothing was replaced. Keep both and report it: a release must be reproducible"
        )
    source = workspace.table("release", "files")
    storage.sweep(target)
    for name, facts in manifest["files"].items():
        file = storage.join(target, name)
        if not (storage.exists(file) and storage.sha256(storage.read_bytes(file)) == facts["sha256"]):
            storage.write_bytes(file, storage.read_bytes(storage.join(source, name)), durable=True)
    storage.write_bytes(path, data, durable=True)
    return target
