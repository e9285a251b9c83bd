"""The gates of a release, and its quarantine, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipeline.explain.layout import clean, counted, wrapped
from pipeline.gates.quarantine import reason

# A domain gate may be failed by hundreds.
FAILING_SHOWN: Final = 5
_BOUNDS: Final = {"min_value": "at least", "max_value": "at most", "value_set": "one of"}
# Arguments that say which rows were looked at, and not what was wanted of them.
_WHICH: Final = ("column", "row_condition", "condition_parser")


def gates(held: list[dict[str, Any]], quarantine: dict[str, Any]) -> list[str]:
    """How many of each suite hold; those that do not in full, and what quarantine made of them."""
    suites: dict[str, list[dict[str, Any]]] = {}
    for gate in held:
        if not _counts_evaluated(gate):
            suites.setdefault(gate["gate"].partition(": ")[0], []).append(gate)
    told = [f"{clean(name)}: {sum(g['passed'] for g in rows)} of {len(rows)} hold" for name, rows in suites.items()]
    lines = wrapped("; ".join(told)) if told else []
    for gate in held:
        lines += [] if gate["passed"] and not _unsure(gate) else wrapped(f"failed: {_failed(gate)}", "  ", "    ")
    for name, entry in quarantine["domains"].items():
        lines += wrapped(f"quarantined: {clean(name)}; {_fate(entry, quarantine['carried_from'])}", "  ", "    ")
    return lines


def _counts_evaluated(gate: Mapping[str, Any]) -> bool:
    """Whether it only says that all of its suite were evaluated, and they were."""
    return "configured" in gate and not _unsure(gate)


def _unsure(gate: Mapping[str, Any]) -> bool:
    return bool(gate.get("evaluated") != gate.get("configured"))


def _failed(gate: Mapping[str, Any]) -> str:
    name = clean(gate["gate"])
    if _unsure(gate):
        return f"{name}: {gate['evaluated']} of {gate['configured']} expectations were evaluated"
    observed, arguments = gate.get("observed", {}), gate.get("arguments", {})
    bounds = ", ".join(f"{_BOUNDS.get(k, k)} {v}" for k, v in arguments.items() if k not in _WHICH)
    wanted = f"; wanted: {arguments.get('column', 'table')} {bounds}" if bounds else ""
    return f"{name}: {_found(gate.get('failing', {}), observed)}{wanted}"


def _found(failing: Mapping[str, Any], observed: Mapping[str, Any]) -> str:
    if failing:
        some = [f"{clean(row)} {value}" for row, value in list(failing.items())[:FAILING_SHOWN]]
        return ", ".join(some + [f"{len(failing) - len(some)} more"] * (len(failing) > len(some)))
    if "value" in observed:
        return f"found {observed['value']}"
    return f"{observed['unexpected']:,} of {observed['rows']:,} rows do not" if observed else "does not hold"


def _fate(entry: Mapping[str, Any], source: str | None) -> str:
    kept = f"{entry['carried']:,} carried over from {source[:12]}" if source else "none carried over"
    return f"{counted(entry['withheld'], 'new example')} left out, {kept}"


def carried(quarantine: Mapping[str, Any]) -> str:
    """Of an example of a quarantined domain that stands in the release."""
    source = (quarantine["carried_from"] or "an earlier release")[:12]
    return (
        f"carried over from release {source}, which has it as one of the last good ones of its domain: the domain is "
        f"quarantined in this release: {clean(reason(quarantine['domain'], quarantine))}"
    )


def withheld(quarantine: Mapping[str, Any], stands: str | None) -> str:
    """Of a turn whose example quarantine kept out."""
    text = (
        "its example was withheld, as the domain is quarantined in this release: "
        f"{clean(reason(quarantine['domain'], quarantine))}"
    )
    if stands is None:
        return text
    source = (quarantine["carried_from"] or "an earlier release")[:12]
    return f"{text}. In its place stands the example of the same id of release {source}, from the turns of that one"
