"""Which domains are quarantined, why, and what that means for a release.

Where a domain is quarantined its new examples are left out of the release, and the examples of that domain in the
parent release, its last good ones, are carried over. An example is of the domain of its label, and of those that its
voting turns and the turns of its context were judged in (`pipeline.transforms.withheld`); it is counted for one of
them. It is told in one form, as `quarantine` in the manifest:

    {"domains": {"music": {"checks": [{"gate": "domains: not nearly all turns are defective",
                                       "observed": 0.97, "bound": 0.9}],
                           "turns": 1234, "withheld": 31, "carried": 12, "carried_dropped": 3, "advice": "..."}},
     "carried_from": "<release id of the parent>" or null}

and `domains` alone as `quarantined` in the facts of stage release. What has no domain is of `(none)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from pipeline.errors import GateError
from pipeline.gates.counts import by_domain
from schemas.expectations import DOMAIN, SUITES, WHOLE

_SHIFTS = {
    f"{s.name}: {e.name}" for s in SUITES for e in s.expectations if str(e.kwargs.get("column")).endswith("_shift")
}
_ADVICE = {f"{s.name}: {e.name}": e.advice for s in SUITES for e in s.expectations}


def enforce(gates: Iterable[Mapping[str, Any]]) -> None:
    """Stop where a gate on the whole failed.

    Raises
    ------
    GateError
        With the first that failed: what was looked at, found and wanted, and what to do.
    """
    failed = [g for g in gates if g["scope"] == WHOLE and not g["passed"]]
    if not failed:
        return
    first = failed[0]
    others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    arguments = ", ".join(f"{k} {v}" for k, v in first["arguments"].items())
    raise GateError(
        f"gate {first['gate']}: does not hold{others}: {_told(first)}; wanted: {first['expectation']} of {arguments}. "
        f"Nothing was published; the last release stays current. What to do: {_ADVICE[first['gate']]}. All gates are "
        "in stages/release/gates.json"
    )


def _told(gate: Mapping[str, Any]) -> str:
    observed = gate["observed"]
    if "value" in observed:
        return f"found {observed['value']}"
    return f"{observed['unexpected']:,} of {observed['rows']:,} rows looked at"


def quarantined(gates: Iterable[Mapping[str, Any]], domains: pa.Table) -> dict[str, dict[str, Any]]:
    """Domains that fail a gate of their own, with the checks that they fail.

    Parameters
    ----------
    gates : iterable of dict
        Gate rows of the suite on domains.
    domains : pyarrow.Table
        DOMAIN_SUMMARY rows.
    """
    held = {d["domain"]: d for d in domains.to_pylist()}
    out: dict[str, dict[str, Any]] = {}
    for gate in gates:
        if gate["scope"] != DOMAIN:
            continue
        for domain, observed in gate.get("failing", {}).items():
            entry = out.setdefault(domain, {"checks": [], "turns": held[domain]["turns"]})
            bound = gate["arguments"]["max_value"]
            entry["checks"].append({"gate": gate["gate"], "observed": observed, "bound": bound})
            entry.setdefault("advice", _ADVICE[gate["gate"]])
    return {name: out[name] for name in sorted(out)}


def left(quarantine: Mapping[str, Any], outcomes: Mapping[str, int]) -> dict[str, Any]:
    """The gate row that says that quarantine leaves something to release.

    Parameters
    ----------
    quarantine : mapping
        As `quarantined` gives it.
    outcomes : mapping
        Outcome to examples of stage release.

    Raises
    ------
    GateError
        If there are examples, all withheld: then the run is at fault, not a domain.
    """
    examples, kept = outcomes.get("in", 0), outcomes.get("kept", 0)
    if examples and not kept:
        reasons = "; ".join(reason(domain, entry) for domain, entry in quarantine.items())
        raise GateError(
            f"gate domains: every domain that has examples is quarantined: {reasons}. Nothing was published; the last "
            f"release stays current. What to do: {next(iter(quarantine.values()))['advice']}"
        )
    return {
        "gate": "domains: quarantine leaves examples, where there are any",
        "scope": WHOLE,
        "passed": True,
        "examples": examples,
        "left": kept,
    }


def reason(domain: str, entry: Mapping[str, Any]) -> str:
    """One line that says why a domain is quarantined."""
    checks = (f"{c['gate'].split(': ', 1)[1]}: {_observed(c, entry['turns'])}" for c in entry["checks"])
    return f"{domain} ({'; '.join(checks)})"


def _observed(check: Mapping[str, Any], turns: int) -> str:
    """A share of the domain's turns, or how far it has moved."""
    if check["gate"] in _SHIFTS:
        return f"changed by {check['observed']:.3f}, at most {check['bound']:.3f}"
    return f"{check['observed']:.1%} of {turns:,} turns, at most {check['bound']:.1%}"


def counted(quarantine: Mapping[str, Mapping[str, Any]], counts: pa.Table) -> dict[str, dict[str, Any]]:
    """The domains with what became of their examples.

    Parameters
    ----------
    quarantine : mapping
        As `quarantined` gives it.
    counts : pyarrow.Table
        COUNT rows of stage release.
    """
    told = by_domain(counts)
    names = {"withheld": "quarantined", "carried": "carried", "carried_dropped": "carried_dropped"}
    return {
        domain: {**entry, **{k: told.get(domain, {}).get(outcome, 0) for k, outcome in names.items()}}
        for domain, entry in quarantine.items()
    }
