"""A release without a forgotten user, made from its own files where its stages are gone.

An example tells its users and its turns, but not which turn is whose, nor how each user put it. So neither its wording
nor its figures can be cleaned of one of them: every example that the user is behind is withdrawn. Running the log again
brings back what others support.
"""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline import storage
from pipeline.errors import StageError
from pipeline.filters.tombstones import Tombstones
from pipeline.jobs import release
from pipeline.jobs.context import Context
from pipeline.jobs.gates import Passed
from pipeline.lifecycle.reach import examples_of
from pipeline.options import Config, ReleaseOptions
from pipeline.tail.files import OPEN, files_of, kind_of
from pipeline.tail.made_of import made_of
from pipeline.transforms.counts import counts, rows_by_domain
from pipeline.transforms.shards import examples_by_kind
from pipeline.transforms.withheld import withheld_for
from pipeline.transforms.write import write_bucket
from pipeline.version import code_version
from pipeline.workspace import Workspace
from pipeline.writers import training_set_diff
from schemas import EXAMPLE

# What a manifest tells of all turns by their labels. The user's are among them, and the files cannot tell it anew.
_OF_TURNS: Final = ("profile",)


class _Aside(Workspace):
    """A workspace beside the stages, so that a run's own are left alone."""

    def stage(self, stage: str) -> str:
        """Folder of a stage."""
        return storage.join(self.out, "stages", "withdrawn", stage)


@dataclass(frozen=True)
class _Left:
    """What is left of a release's lineage: COUNT details over all of it, and rows withdrawn and carried."""

    detail: Counter[str]
    withdrawn: int
    carried: Counter[str]
    rows: int


def withdraw(
    context: Context, manifest: dict[str, Any], tombstones: Tombstones, turn_ids: pa.Array, publish: bool = True
) -> str:
    """Put a release without a forgotten user's examples in the place of one; gives the new id.

    Raises
    ------
    StageError
        If the release is of a code whose examples this one cannot read.
    """
    workspace = _Aside(context.workspace.out)
    storage.remove(storage.join(workspace.out, "stages", "withdrawn"))
    folder = storage.join(workspace.out, "releases", manifest["release_id"])
    lineage = {p: f for p, f in manifest["files"].items() if p.startswith("lineage/data/")}
    if any(f["schema"] != EXAMPLE.digest for f in lineage.values()):
        raise StageError(
            f"{folder}: examples of another schema than this code's, and its stages are gone. The tombstone is set: "
            "run the log again, which makes a release without the user, then run this command again"
        )
    options = ReleaseOptions(**manifest["identity"]["config"]["release"])
    aside = replace(context, workspace=workspace, config=replace(Config(), release=options))
    left = _sift(workspace, folder, sorted(lineage), manifest, tombstones, turn_ids)
    passed = Passed([], manifest["quarantine"], workspace.table("release", "examples"), left.rows)
    kept, unlisted = _tables(folder, manifest, tombstones, turn_ids)
    tail, waiting = _tail(folder, manifest, turn_ids)
    told = _ingested(_curated(manifest, unlisted), waiting)
    sheet = _review(folder, manifest, kept)
    kept |= tail
    made = release.reissue(aside, _manifest(told, left, kept, tombstones), passed, kept | sheet, publish)
    for leftover in (storage.join(workspace.out, "stages", "withdrawn"), workspace.spill("release")):
        storage.remove(leftover)
    return made


def _sift(
    workspace: Workspace,
    folder: str,
    paths: list[str],
    manifest: dict[str, Any],
    tombstones: Tombstones,
    turn_ids: pa.Array,
) -> _Left:
    """Write what is left of the lineage, a bucket a file, and the counts of stage release."""
    detail: Counter[str] = Counter()
    carried: Counter[str] = Counter()
    withdrawn = rows = 0
    for number, path in enumerate(paths):
        table = storage.read_table(storage.join(folder, path), EXAMPLE.schema)
        gone = examples_of(table, tombstones, turn_ids)
        examples = table.filter(pa.array(~gone))
        write_bucket(workspace.table("release", "examples"), number, examples, EXAMPLE)
        old = withheld_for(examples, tuple(manifest["quarantine"]["domains"])).drop_null()
        carried.update({str(d): n for (_, d), n in rows_by_domain("carried", old).items()})
        detail.update(examples_by_kind(examples))
        withdrawn, rows = withdrawn + int(gone.sum()), rows + examples.num_rows
    left = _Left(detail, withdrawn, carried, rows)
    closing, told = _counted(manifest, left)
    domains = {("carried", domain): n for domain, n in carried.items()}
    table = counts("release", closing, told, domains)
    storage.write_table(workspace.counts_file("release"), table)
    return left


def _counted(manifest: dict[str, Any], left: _Left) -> tuple[dict[str, int], dict[str, int]]:
    """Counts of stage release: those of before, with what is withdrawn now as `forgotten`."""
    before = manifest["closing"]["release"]
    carried = sum(left.carried.values())
    kept = left.rows - carried
    closing = before | {"kept": kept, "forgotten": before.get("forgotten", 0) + before["kept"] - kept}
    stays = ("carried", "quarantined")
    old = {k: n for k, n in manifest["counts"]["release"].items() if k.startswith(stays) and k not in closing}
    return closing, old | dict(left.detail) | ({"carried": carried} if "carried" in old else {})


def _tables(
    folder: str, manifest: dict[str, Any], tombstones: Tombstones, turn_ids: pa.Array
) -> tuple[dict[str, bytes], Counter[tuple[str, str]]]:
    """Tables that are no view of the examples, less the user's rows, and how many of those by reason and split."""
    kept, gone = {}, Counter[tuple[str, str]]()
    for path in manifest["files"]:
        if not path.startswith(("dead_letters/data/", "left_out/data/")):
            continue
        data = storage.read_bytes(storage.join(folder, path))
        if path.startswith("left_out/"):
            table = pq.read_table(io.BytesIO(data))
            theirs = pa.array(examples_of(table, tombstones, turn_ids))
            gone.update((r["reason"], r["split"]) for r in table.filter(theirs).to_pylist())
            rest = table.filter(pc.invert(theirs))
            data = storage.encode(rest) if rest.num_rows else b""
        if data:
            kept[path] = data
    return kept, gone


def _tail(folder: str, manifest: dict[str, Any], turn_ids: pa.Array) -> tuple[dict[str, bytes], int]:
    """What is handed to the next run, less the user's turns and labels; and how many of open sessions those were."""
    kept, waiting = {}, 0
    for path, facts in files_of(manifest).items():
        data = storage.read_bytes(storage.join(folder, path))
        table = pq.read_table(io.BytesIO(data))
        rest = table.filter(pc.invert(pc.is_in(table["turn_id"], value_set=turn_ids)))
        waiting += facts["rows"] - rest.num_rows if kind_of(path) == OPEN else 0
        if rest.num_rows:
            kept[path] = data if rest.num_rows == facts["rows"] else storage.encode(rest)
    return kept, waiting


def _ingested(manifest: dict[str, Any], waiting: int) -> dict[str, Any]:
    """The manifest with the counts of ingest less turns that wait for the next run no more."""
    if not waiting:
        return manifest
    closing = dict(manifest["closing"]["ingest"])
    closing["left_open"] -= waiting
    closing["forgotten"] = closing.get("forgotten", 0) + waiting
    return manifest | {
        "closing": manifest["closing"] | {"ingest": closing},
        "counts": manifest["counts"] | {"ingest": manifest["counts"]["ingest"] | closing},
        "gates": [_counted_gate(gate, "ingest", closing) for gate in manifest["gates"]],
    }


def _counted_gate(gate: dict[str, Any], stage: str, closing: dict[str, int]) -> dict[str, Any]:
    """A row of the gate on counts, over the counts as they are now."""
    if gate["gate"] != f"counts close: {stage}":
        return gate
    return gate | {"out": {k: n for k, n in closing.items() if k != "in"}}


def _review(folder: str, manifest: dict[str, Any], kept: dict[str, bytes]) -> dict[str, bytes]:
    """The sheet of what contradicts the training set, less the examples that are listed no more."""
    if training_set_diff.NAME not in manifest["files"]:
        return {}
    left = [pq.read_table(io.BytesIO(data), columns=["example_id"]) for p, data in kept.items() if "left_out/" in p]
    ids = pa.chunked_array([c for t in left for c in t["example_id"].chunks], pa.string()).combine_chunks()
    data = storage.read_bytes(storage.join(folder, training_set_diff.NAME))
    return {training_set_diff.NAME: training_set_diff.of_examples(data, ids)}


def _curated(manifest: dict[str, Any], unlisted: Counter[tuple[str, str]]) -> dict[str, Any]:
    """The manifest with the counts of what curate left out less what is listed no more."""
    if not unlisted:
        return manifest
    closing, told = dict(manifest["closing"]["curate"]), dict(manifest["counts"]["curate"])
    for (reason, split), n in unlisted.items():
        closing[reason] -= n
        closing["forgotten"] = closing.get("forgotten", 0) + n
        if f"left_out.{split}" in told:
            told[f"left_out.{split}"] -= n
    return manifest | {
        "closing": manifest["closing"] | {"curate": closing},
        "counts": manifest["counts"] | {"curate": told | closing},
    }


def _manifest(manifest: dict[str, Any], left: _Left, kept: dict[str, bytes], tombstones: Tombstones) -> dict[str, Any]:
    """The manifest of before, with what was withdrawn."""
    closing, told = _counted(manifest, left)
    identity = manifest["identity"] | {
        "code": code_version(),
        "tombstones": tombstones.macs,
        "withdrawn": sorted({*manifest["identity"].get("withdrawn", []), *tombstones.macs}),
        "replaces": manifest["release_id"],
    }
    domains = {
        name: entry | {"carried": left.carried[name], "carried_dropped": entry["carried_dropped"]}
        for name, entry in manifest["quarantine"]["domains"].items()
    }
    gates = [_counted_gate(gate, "release", closing) for gate in manifest["gates"]]
    told_of = {k: v for k, v in manifest.items() if k not in _OF_TURNS}
    made = told_of | {
        "identity": identity,
        "counts": manifest["counts"] | {"release": dict(sorted((closing | told).items()))},
        "closing": manifest["closing"] | {"release": closing},
        "gates": gates,
        "quarantine": manifest["quarantine"] | {"domains": domains},
        "files": {path: manifest["files"][path] | {"rows": _rows(data)} for path, data in kept.items()},
    }
    return made | {"made_of": made_of(made)}


def _rows(data: bytes) -> int:
    return int(pq.read_metadata(io.BytesIO(data)).num_rows)
