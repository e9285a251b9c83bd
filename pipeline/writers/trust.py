"""How sure a release is, in words: thresholds by domain, calibration, and the labelling functions beside the model."""

from __future__ import annotations

from typing import Any, Final

from pipeline.thresholds import SHORT, by_basis, summary, told_apart

# Domains told one by one; the rest are counted.
_DOMAINS: Final = 40


def how_sure(manifest: dict[str, Any]) -> list[str]:
    """The card's section."""
    thresholds, training = manifest["thresholds"], manifest["training"]
    label = manifest["counts"]["label"]
    lines = [
        "## How sure",
        "",
        f"- Defects: {summary(thresholds['defect'])}",
        f"- Corrections: {summary(thresholds['correction'], 'lead')}",
        f"- Labels: {training['labels']}; {training['gold_turns']:,} turns with gold.",
        *(f"- {text}" for text in (*votes(training), *calibration(training), *unknown(label))),
        "",
    ]
    for name, score in (("defect", "p"), ("correction", "lead")):
        lines += _by_domain(name, score, thresholds[name])
    return lines + _curve(training)


def votes(training: dict[str, Any]) -> list[str]:
    """The functions' majority vote beside the model."""
    held = training.get("votes")
    if not held:
        return []
    text = f"Labelling functions: {held['functions']} vote, on {held['share'] or 0:.0%} of the turns"
    if held["auc"] is None:
        return [f"{text}; no gold to hold them to."]
    return [f"{text}; AUC of their majority vote {held['auc']:.3f}, of the model {held['model_auc']:.3f}, on gold."]


def calibration(training: dict[str, Any]) -> list[str]:
    """How far the probabilities are from later gold."""
    held = training.get("calibration")
    if not held:
        return []
    if held["ece"] is None:
        return ["Calibration: not measured, as there is no gold later than what was learned from."]
    return [
        f"Calibration: p(defect) is off by {held['ece']:.3f} (ECE) on {held['turns']:,} later gold turns; a perfect "
        f"model would show {held['floor']:.3f} on so many."
    ]


def unknown(label: dict[str, int]) -> list[str]:
    """Turns of domains that training has not seen."""
    turns = label.get("unknown_domain", 0)
    if not turns:
        return []
    return [
        f"Unknown domains: {turns:,} turns are of domains that training has not seen; they are judged by the pooled "
        "threshold and never certified."
    ]


def _by_domain(name: str, score: str, facts: dict[str, Any]) -> list[str]:
    """A table of domains where they differ. Each proof is at 95% for its own domain, not for all of them at once."""
    if not told_apart(facts):
        return []
    held = sorted(facts["domains"].items())
    lines = [f"| domain ({name}) | {score} >= | rests on | certified from | later gold |", "|---|---|---|---|---|"]
    for domain, t in held[:_DOMAINS]:
        proved = "" if t["certified_at"] is None else f"{t['certified_at']:.2f}"
        value = "" if t["basis"] == "abstain" else f"{t['value']:.3f}"
        lines.append(f"| {domain} | {value} | {SHORT[t['basis']]} | {proved} | {t['labels'] or ''} |")
    if len(held) > _DOMAINS:
        counts = ", ".join(f"{n} {SHORT[basis]}" for basis, n in by_basis(facts).items())
        lines += ["", f"{len(held)} domains in all: {counts}; `manifest.json` has them."]
    return [*lines, "", "Each proof holds with 95% confidence for its own domain, not for all of them at once.", ""]


def _curve(training: dict[str, Any]) -> list[str]:
    """The reliability curve."""
    curve = training.get("calibration", {}).get("curve", [])
    if not curve:
        return []
    rows = [f"| {part['p']:.3f} | {part['share']:.3f} | {part['turns']:,} |" for part in curve]
    return ["| mean p(defect) | share that people call defects | later gold turns |", "|---|---|---|", *rows, ""]
