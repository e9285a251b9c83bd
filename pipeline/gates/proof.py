"""Prove from a release's files alone that its gates ran and held, and that quarantine was carried through."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline import manifest as manifests
from pipeline import storage
from pipeline.errors import VerifyError
from pipeline.gates.evaluate import filled
from pipeline.transforms.withheld import withheld_for
from pipeline.version import code_version
from schemas import EXAMPLE
from schemas.expectations import DOMAIN, STAGES_SUMMED, SUITES

# The stage that counts the rows of each table that is sampled.
_STAGES: Final = {"turns": "ingest", "signals": "signals", "judgements": "label", "examples": "curate"}
# What gates observe is rounded to so many places.
_ROUNDING: Final = 1e-6


def prove_gates(manifest: dict[str, Any], views: int) -> str:
    """Every gate is there and was evaluated; those that failed name the domains that are quarantined, and no other.

    Parameters
    ----------
    manifest : dict
    views : int
        Rows of views that their suite was to look at.

    Raises
    ------
    VerifyError
        At the first claim that does not hold.
    """
    held = {g["gate"]: g for g in manifest["gates"]}
    wanted = [f"{s.name}: {e.name}" for s in SUITES for e in s.expectations]
    wanted += [f"counts close: {stage}" for stage in manifest["closing"]]
    failed = [name for name, gate in held.items() if not gate["passed"] and gate["scope"] != DOMAIN]
    missing = [name for name in wanted if name not in held]
    if failed or missing:
        raise VerifyError(f"gates: failed: {failed or 'none'}; did not run: {missing or 'none'}{_other(manifest)}")
    untrue = next((g for g in held.values() if g["passed"] != _holds(g)), None)
    if untrue:
        said = "hold" if untrue["passed"] else "fail"
        raise VerifyError(f"gates: {untrue['gate']} is said to {said}; what it found says otherwise: {untrue}")
    _prove_arguments(manifest, held, views)
    unsure = [g["gate"] for g in held.values() if g.get("evaluated") != g.get("configured")]
    if unsure:
        raise VerifyError(f"gates: {unsure[0]}: {held[unsure[0]]['evaluated']} of {held[unsure[0]]['configured']}")
    named = {d for g in held.values() if g["scope"] == DOMAIN and not g["passed"] for d in g["failing"]}
    told = set(manifest["quarantine"]["domains"])
    if named != told:
        raise VerifyError(f"gates: failed by {sorted(named) or 'no domain'}, quarantined are {sorted(told) or 'none'}")
    return f"{len(wanted)} gates were evaluated and hold" + (
        f", but for {len(told)} quarantined domain(s)" * bool(told)
    )


def _other(manifest: dict[str, Any]) -> str:
    """What to do where other code wrote the release, whose suites may be others."""
    written = manifest["identity"]["code"]
    return f"; it was written by code {written}, verify it with that" if written != code_version() else ""


def _holds(gate: dict[str, Any]) -> bool:
    """Whether what a gate found is what it wanted, worked out from the two anew."""
    if "in" in gate and "out" in gate:
        return bool(gate["in"] == sum(gate["out"].values()))
    observed, wanted = gate.get("observed"), gate.get("arguments", {})
    if observed is None:
        return bool(gate["passed"])
    if "unexpected" in observed:
        least = wanted.get("mostly", 1.0)
        return bool(observed["unexpected"] <= (1.0 - least) * observed["rows"] + _ROUNDING)
    value = observed["value"]
    if "value" in wanted:
        return bool(value == wanted["value"])
    low, high = wanted.get("min_value"), wanted.get("max_value")
    return (low is None or value >= low - _ROUNDING) and (high is None or value <= high + _ROUNDING)


def _prove_arguments(manifest: dict[str, Any], held: dict[str, dict[str, Any]], views: int) -> None:
    """Each gate asked what its suite asks, with the bounds of the configuration and the rows that were counted."""
    settings = manifest["identity"]["config"] | {"rows": _rows(manifest) | {"views": views}}
    for suite in SUITES:
        for expectation in suite.expectations:
            gate = held[f"{suite.name}: {expectation.name}"]
            wanted = filled(expectation.kwargs, settings)
            if gate["expectation"] != expectation.type or gate["arguments"] != wanted:
                raise VerifyError(
                    f"gates: {gate['gate']} asked for {gate['expectation']} of {gate['arguments']}; the configuration "
                    f"and the counts want {expectation.type} of {wanted}{_other(manifest)}"
                )


def _rows(manifest: dict[str, Any]) -> dict[str, int]:
    """Rows that the suites were to find: those of a sample, or of all."""
    wished = manifest["identity"]["config"]["gates"]["sample_rows"]
    kept = {name: manifest["closing"][stage].get("kept", 0) for name, stage in _STAGES.items()}
    return {name: min(rows, wished) for name, rows in kept.items()} | {
        "stages": len(STAGES_SUMMED),
        "judgements_all": kept["judgements"],
    }


def prove_quarantine(folder: str, manifest: dict[str, Any], lineage: pa.Table) -> None:
    """No example that a quarantined domain has part in is there but those carried over, and they are the parent's.

    It has part by the example's label, or by a turn behind it or in its context; see `pipeline.transforms.withheld`.

    Parameters
    ----------
    folder : str
        Release folder. Where the parent's lies beside it, the carried examples are compared with it.
    manifest : dict
    lineage : pyarrow.Table
        EXAMPLE rows of the release.

    Raises
    ------
    VerifyError
        At the first claim that does not hold.
    """
    told, source = manifest["quarantine"]["domains"], manifest["quarantine"]["carried_from"]
    names = withheld_for(lineage, tuple(told))
    rows = {row["values"]: row["counts"] for row in names.value_counts().to_pylist()}
    for domain, entry in told.items():
        if rows.get(domain, 0) != entry["carried"]:
            raise VerifyError(
                f"lineage: {rows.get(domain, 0)} examples of the quarantined domain {domain}, "
                f"{entry['carried']} were carried over"
            )
    counts = manifest["counts"]["release"]
    for outcome, key in (("quarantined", "withheld"), ("carried", "carried"), ("carried_dropped", "carried_dropped")):
        summed = sum(entry[key] for entry in told.values())
        if summed != counts.get(outcome, 0):
            raise VerifyError(f"quarantine: {summed} examples {outcome} by domain, {counts.get(outcome, 0)} in all")
    if source is not None and source != manifest["identity"]["parent"]:
        raise VerifyError(f"quarantine: carried over from {source}, the parent is {manifest['identity']['parent']}")
    if counts.get("carried", 0) and source is None:
        raise VerifyError("quarantine: examples were carried over, but no release is named that they are from")
    if counts.get("carried", 0):
        _compare(folder, source, lineage.filter(pc.is_valid(names)))


def _compare(folder: str, source: str, carried: pa.Table) -> None:
    parent = storage.join(folder.rstrip("/").rpartition("/")[0] or ".", source)
    if not storage.exists(storage.join(parent, manifests.NAME)):
        return
    ids = carried["example_id"].combine_chunks()
    paths = [p for p in manifests.read(parent)["files"] if p.startswith("lineage/data/")]
    tables = [storage.read_table(storage.join(parent, p), EXAMPLE.schema) for p in paths]
    found = [t.filter(pc.is_in(t["example_id"], value_set=ids)) for t in tables]
    if not pa.concat_tables([EXAMPLE.empty(), *found]).sort_by("example_id").equals(carried.sort_by("example_id")):
        raise VerifyError(f"lineage: an example of a quarantined domain is not as {source} has it")
