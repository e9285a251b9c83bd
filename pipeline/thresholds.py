"""The thresholds of a manifest, by domain, and in words."""

from __future__ import annotations

from typing import Any, Final

from schemas import NO_DOMAIN

# What a domain's threshold rests on, in a word or two; see `models.thresholds`.
SHORT: Final = {
    "domain": "proved on its own gold",
    "pooled": "proved on pooled gold",
    "estimated": "estimated",
    "option": "set by an option",
    "abstain": "abstains",
    "unknown": "unknown to training",
}


def of_domain(facts: dict[str, Any], domain: str | None) -> dict[str, Any]:
    """The threshold of a domain; for one that training has not seen the pooled one, never certified.

    Parameters
    ----------
    facts : dict
        The pooled threshold of a manifest, with those of domains under `domains`.
    domain : str or None
        None is `NO_DOMAIN`.
    """
    held: dict[str, Any] = facts.get("domains", {}).get(domain or NO_DOMAIN)
    if held is not None:
        return held
    return facts | ({"basis": "unknown", "certified_at": None} if "domains" in facts else {})


def highest(facts: dict[str, Any]) -> float:
    """The highest threshold of any domain."""
    return max([facts["value"], *(t["value"] for t in facts.get("domains", {}).values())])


def lowest(facts: dict[str, Any]) -> float:
    """The lowest threshold of any domain."""
    return min([facts["value"], *(t["value"] for t in facts.get("domains", {}).values())])


def threshold_words(facts: dict[str, Any], score: str = "p") -> str:
    """A threshold of the manifest in a sentence: its value, what it was chosen for, what is proved of it.

    Parameters
    ----------
    facts : dict
    score : str
        What has to reach it: `p`, or the `lead` of a correction.
    """
    basis, wished = facts.get("basis", "estimated"), f"precision {facts['wished']:.2f}"
    if basis == "abstain":
        return f"abstains: no threshold reaches {wished}, so none is taken; no threshold is certified."
    value = f"{score} >= {facts['value']:.3f}"
    if basis == "unknown":
        return f"{value}, the pooled one, as training has not seen the domain; no threshold is certified."
    if basis == "option":
        return f"{value}, set by an option, as there is too little gold to tell; no threshold is certified."
    used = f"{value}, estimated for {wished}"
    if facts["certified_at"] is None:
        return f"{used}; no threshold is certified."
    whose = {"domain": " of this domain", "pooled": " of several domains"}.get(basis, "")
    return (
        f"{used}; certified from {score} >= {facts['certified_at']:.2f}: {facts['precision']:.3f} on {facts['labels']} "
        f"later gold turns{whose}, one a user, at least {facts['low']:.3f} with 95% confidence."
    )


def summary(facts: dict[str, Any], score: str = "p") -> str:
    """The thresholds of all domains in a sentence or two; parameters as of `threshold_words`."""
    held = facts.get("domains", {})
    if len(held) == 1:
        return threshold_words(next(iter(held.values())), score)
    own = by_basis(facts).get("domain", 0)
    words = threshold_words(facts, score)
    return (
        f"{own} of {len(held)} domains have a threshold certified on their own gold. For the others {words}"
        if own
        else words
    )


def by_basis(facts: dict[str, Any]) -> dict[str, int]:
    """How many domains rest on what, in the order of `SHORT`."""
    held = [t["basis"] for t in facts.get("domains", {}).values()]
    return {basis: held.count(basis) for basis in SHORT if basis in held}


def told_apart(facts: dict[str, Any]) -> bool:
    """Whether domains differ in their thresholds or in what these rest on."""
    return len({(t["value"], t["basis"]) for t in facts.get("domains", {}).values()}) > 1
