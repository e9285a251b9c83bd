"""Prove a release from its files alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline import manifest as manifests
from pipeline import storage
from pipeline.curation.answer_proof import prove_answers
from pipeline.curation.evidence import prove_evidence, prove_support
from pipeline.curation.proof import on_two_sides, prove_left_out, prove_split
from pipeline.documents import GATES, documents
from pipeline.errors import VerifyError
from pipeline.export.package import left_by_use
from pipeline.gates.proof import prove_gates, prove_quarantine
from pipeline.release_files import RECORDS, ReleaseFiles
from pipeline.tail.files import files_of
from pipeline.tail.made_of import made_of
from pipeline.tail.proof import prove_tail
from pipeline.version import code_version
from pipeline.writers.licences import LICENCE, NO_LICENCE, count_licences
from pipeline.writers.proof import prove_views
from pipeline.writers.sampled import sampled_rows
from pipeline.writers.views import view_rows
from schemas import EXAMPLE, LeftOutReason


def verify(folder: str, without_tail: bool = False) -> list[str]:
    """Check everything that a release's manifest claims.

    Parameters
    ----------
    folder : str
        Release folder.
    without_tail : bool
        Whether the release may have been handed on without what is for the next run, all of it.

    Returns
    -------
    list of str
        What was proved, one line each.

    Raises
    ------
    VerifyError
        At the first claim that does not hold; the message says which file and what was found.
    """
    release = ReleaseFiles(folder, manifests.read(folder))
    if without_tail:
        release.withheld = _withheld(release)
    return _prove(release, PROOFS)


def verify_kept(folder: str) -> list[str]:
    """Check what of a release can be checked, be it one of other code: `rollback` may have to go back to it.

    A release whose records are those of this code is proved as by `verify`. Of one of other code whose records differ
    what its tables hold is not looked at, as this code would read it otherwise, and the last line says so.
    """
    release = ReleaseFiles(folder, manifests.read(folder))
    return _prove(release, OTHER_CODE if _is_of_other_code(release.manifest) else PROOFS)


def _prove(release: ReleaseFiles, proofs: tuple[Callable[[ReleaseFiles], str], ...]) -> list[str]:
    try:
        return [prove(release) for prove in proofs]
    except (KeyError, TypeError, AttributeError) as error:
        told = f"{type(error).__name__}: {error}"
        raise VerifyError(f"{release.folder}: the manifest is not of this format ({told})") from error


def _withheld(release: ReleaseFiles) -> frozenset[str]:
    """The files of the tail, where none of them is there."""
    tail = files_of(release.manifest)
    there = any(storage.exists(storage.join(release.folder, path)) for path in tail)
    return frozenset() if there else frozenset(tail)


def _is_of_other_code(manifest: dict[str, Any]) -> bool:
    """Whether a release is of other code, and a table of it has another schema than its record has here."""
    return manifest["identity"]["code"] != code_version() and bool(_other_schemas(manifest))


def _other_schemas(manifest: dict[str, Any]) -> list[str]:
    """Tables that have another schema than their records have here, or no record."""
    held = {path.split("/")[0]: facts["schema"] for path, facts in manifest["files"].items() if "schema" in facts}
    return sorted(name for name, schema in held.items() if name not in RECORDS or RECORDS[name].digest != schema)


def _identity(release: ReleaseFiles) -> str:
    folder, manifest = release.folder, release.manifest
    found = manifests.release_id(manifest["identity"])
    if found != manifest["release_id"]:
        raise VerifyError(f"{folder}: release id {manifest['release_id']} does not follow from its identity ({found})")
    name = folder.rstrip("/").rsplit("/", 1)[-1]
    if name != found:
        raise VerifyError(f"{folder}: the folder is named {name}, the release is {found}")
    options = manifest["identity"]["config"]["release"]
    interval = {"start": options["interval_start"], "end": options["interval_end"]}
    if (manifest["interval"] or {"start": None, "end": None}) != interval:
        raise VerifyError(f"{folder}: interval {manifest['interval']}, the configuration says {interval}")
    return "release id follows from inputs, configuration, code, parent and models"


def _files(release: ReleaseFiles) -> str:
    """Every listed file has its size and hash, and there is no other but what the use of `taskset/` leaves there."""
    folder, manifest = release.folder, release.manifest
    for path, facts in manifest["files"].items():
        if path in release.withheld:
            continue
        full = storage.join(folder, path)
        if not storage.exists(full):
            raise VerifyError(f"{full}: listed in the manifest, but missing")
        data = storage.read_bytes(full)
        if len(data) != facts["bytes"] or storage.sha256(data) != facts["sha256"]:
            raise VerifyError(
                f"{full}: {len(data)} bytes with SHA-256 {storage.sha256(data)}; "
                f"the manifest says {facts['bytes']} with {facts['sha256']}"
            )
    found = {p[len(folder.rstrip("/")) + 1 :] for p in storage.files(folder, "**")}
    extra = sorted(found - set(manifest["files"]) - {manifests.NAME})
    extra = [path for path in extra if not left_by_use(path, manifest["files"])]
    if extra:
        raise VerifyError(f"{folder}: not in the manifest: {', '.join(extra[:5])}")
    here = len(manifest["files"]) - len(release.withheld)
    told = f"{here} files have the sizes and hashes of the manifest, and there are no others"
    return f"{told}; the tail was withheld ({len(release.withheld)} files)" if release.withheld else told


def _documents(release: ReleaseFiles) -> str:
    """Card, Croissant and gates say what the manifest says."""
    folder, manifest = release.folder, release.manifest
    written, here = manifest["identity"]["code"], code_version()
    # Another version may word a card otherwise; what the gates found has one form.
    gates = {GATES: storage.readable_json(manifest["gates"])}
    made = documents(manifest) if written == here else gates
    for name in sorted(made):
        if name not in manifest["files"]:
            raise VerifyError(f"{folder}: {name} is missing")
        if storage.read_bytes(storage.join(folder, name)) != made[name]:
            raise VerifyError(f"{storage.join(folder, name)}: does not follow from the manifest")
    other = "" if written == here else f"; the others were worded by code {written} and are not compared"
    return f"{', '.join(name for name in sorted(made) if '/' not in name)} say what the manifest says{other}"


def _tables(release: ReleaseFiles) -> str:
    """Every table has its rows and its record's schema, and none is empty."""
    manifest = release.manifest
    rows = 0
    for path, facts in manifest["files"].items():
        if not path.endswith(".parquet") or path in release.withheld:
            continue
        record = RECORDS.get(path.split("/")[0])
        if record is None:
            raise VerifyError(f"{path}: no view of a release; there are: {', '.join(RECORDS)}")
        if facts["schema"] != record.digest:
            raise VerifyError(
                f"{path}: schema {facts['schema'][:12]}, this code's {record.name} is {record.digest[:12]}; "
                f"verify with the code that wrote it: {manifest['identity']['code']}"
            )
        table = release.read(path, record)
        if "split" in record.names and set(table["split"].to_pylist()) != {path.rsplit("/", 1)[-1].split("-")[0]}:
            raise VerifyError(f"{path}: holds rows of another split than its name says")
        if table.num_rows != facts["rows"] or not table.num_rows:
            raise VerifyError(f"{path}: {table.num_rows} rows, the manifest says {facts['rows']}")
        rows += table.num_rows
    return f"{rows:,} rows have the schemas of their records"


def _closing(release: ReleaseFiles) -> str:
    """Each stage's counts close."""
    manifest = release.manifest
    for stage, closing in manifest["closing"].items():
        told = {k: manifest["counts"][stage].get(k) for k in closing}
        if told != closing:
            raise VerifyError(f"stage {stage}: the counts say {told}, the sum that closes says {closing}")
        came_out = sum(v for k, v in closing.items() if k != "in")
        if came_out != closing.get("in", 0):
            raise VerifyError(f"stage {stage}: {closing.get('in', 0)} rows in, {came_out} accounted for")
    return f"the counts of {len(manifest['closing'])} stages close"


def _counts(release: ReleaseFiles) -> str:
    """Each stage's counts close, and hand on to the next."""
    manifest, closed = release.manifest, _closing(release)
    kept = manifest["closing"]["ingest"].get("kept", 0)
    for stage in ("signals", "label", "curate"):
        if manifest["closing"][stage].get("in", 0) != kept:
            raise VerifyError(f"stage {stage}: {manifest['closing'][stage].get('in', 0)} rows in, ingest kept {kept}")
    release = manifest["closing"]["release"]
    went_in, made = release.get("in", 0), manifest["closing"]["curate"].get("kept", 0)
    if went_in != made:
        raise VerifyError(f"stage release: {went_in} examples in, curate kept {made}")
    written = view_rows(manifest["counts"]["release"]) | {
        "lineage": release.get("kept", 0) + manifest["counts"]["release"].get("carried", 0),
        "dead_letters": manifest["closing"]["ingest"].get("dead_lettered", 0),
        "left_out": sum(manifest["closing"]["curate"].get(reason, 0) for reason in LeftOutReason),
    }
    for view, expected in written.items():
        rows = sum(f["rows"] for p, f in manifest["files"].items() if p.startswith(f"{view}/data/"))
        if rows != expected:
            raise VerifyError(f"{view}: {rows} rows written, {expected} counted by the stage that made them")
    return closed


def _gates(release: ReleaseFiles) -> str:
    """Every gate ran and held; what quarantine leaves out is not there."""
    folder, manifest = release.folder, release.manifest
    files = [{"path": path, **facts} for path, facts in manifest["files"].items()]
    wished = manifest["identity"]["config"]["gates"]["sample_rows"]
    proof = prove_gates(manifest, sampled_rows(files, wished))
    wanted = manifest["quarantine"]["domains"]
    lineage = release.lineage if wanted else EXAMPLE.empty()
    prove_quarantine(folder, manifest, lineage)
    return proof


def _examples(release: ReleaseFiles) -> str:
    """Lineage: unique ids, support is met, what is said follows from what stands behind, no turn is in two splits."""
    manifest, lineage = release.manifest, release.lineage
    if pc.count_distinct(lineage["example_id"]).as_py() != lineage.num_rows:
        raise VerifyError("lineage: an example id occurs twice")
    prove_support(manifest["identity"]["config"]["curate"], lineage)
    prove_evidence(manifest, lineage)
    told = {k: n for k, n in manifest["counts"]["release"].items() if k.startswith((LICENCE, NO_LICENCE)) and n}
    # Releases of code that did not count them say nothing.
    if told and told != count_licences(lineage):
        raise VerifyError(f"lineage: licences {count_licences(lineage)}, the counts say {told}")
    turn = _turn_in_two_splits(lineage)
    if turn is not None:
        raise VerifyError(f"lineage: turn {turn} stands in two splits")
    return f"{lineage.num_rows:,} examples are unique, traceable, supported, and no turn is on two sides of the split"


def _turn_in_two_splits(lineage: pa.Table) -> str | None:
    """The first turn by id that is behind an example, or stands before one, in more than one split."""
    behind = flat(pc.struct_field(flat(lineage["provenance"]), "turn_ids"))
    before = flat(lineage["context"])
    turns = pa.concat_arrays([behind.flatten(), before.flatten().field("turn_id")])
    many = pa.concat_arrays([pc.list_value_length(lists) for lists in (behind, before)])
    twice = on_two_sides(turns, many, pa.chunked_array([*lineage["split"].chunks, *lineage["split"].chunks]))[1]
    return pc.min(twice).as_py() if len(twice) else None


def _split(release: ReleaseFiles) -> str:
    """The two sides of the split have no user and no near-duplicate in common."""
    return prove_split(release.manifest, release.lineage)


def _left_out(release: ReleaseFiles) -> str:
    """What curate left out is listed."""
    return prove_left_out(release.manifest, release.left_out, release.lineage)


def _tail(release: ReleaseFiles) -> str:
    """What is handed to the next run is what the configuration says."""
    if release.withheld:
        return _tail_withheld(release.manifest)
    carried = release.manifest["quarantine"]["carried_from"]
    behind = pa.array([], pa.string())
    if carried is None:
        # Examples that were carried over from the parent may be of sessions that a late event has opened again.
        behind = pc.struct_field(release.lineage["provenance"], "turn_ids").combine_chunks().flatten()
    return prove_tail(release.manifest, lambda path: release.read(path, RECORDS[path.split("/")[0]]), behind)


def _tail_withheld(manifest: dict[str, Any]) -> str:
    """Of a tail that is not there, what the manifest says."""
    if made_of(manifest) != manifest.get("made_of"):
        raise VerifyError(f"manifest: made_of says {manifest.get('made_of')}, the rest says {made_of(manifest)}")
    return "the tail was withheld: what is handed to the next run is not here, and was not looked at"


def _rows(release: ReleaseFiles) -> str:
    """Every table has its rows."""
    rows = 0
    for path, facts in release.manifest["files"].items():
        if path.endswith(".parquet"):
            try:
                with storage.open_parquet(storage.join(release.folder, path)) as file:
                    found = file.metadata.num_rows
            except (pa.ArrowInvalid, OSError) as error:
                raise VerifyError(f"{path}: cannot be read as Parquet ({error})") from None
            if found != facts["rows"]:
                raise VerifyError(f"{path}: {found} rows, the manifest says {facts['rows']}")
            rows += found
    return f"{rows:,} rows are there"


def _unproved(release: ReleaseFiles) -> str:
    """What is not looked at of a release of other code."""
    code, names = release.manifest["identity"]["code"], ", ".join(_other_schemas(release.manifest))
    return (
        f"this much; what the tables hold was left out, as the release is of code {code}, and of {names} this code "
        f"({code_version()}) has other schemas. The code that wrote it proves all of it by `afterword verify`"
    )


def _answers(release: ReleaseFiles) -> str:
    """No answer is learned from a turn that may be defective, nothing else is rejected, and contexts are in bounds."""
    return prove_answers(release.manifest, release.lineage)


PROOFS: Final[tuple[Callable[[ReleaseFiles], str], ...]] = (
    _identity,
    _files,
    _tables,
    _counts,
    _gates,
    _examples,
    _split,
    _left_out,
    _tail,
    _answers,
    prove_views,
    _documents,
)

# What can be proved of a release whose records are not this code's.
OTHER_CODE: Final[tuple[Callable[[ReleaseFiles], str], ...]] = (
    _identity,
    _files,
    _rows,
    _closing,
    _documents,
    _unproved,
)
