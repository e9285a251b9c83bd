"""What a release holds and what it does not, for its card: by domain, by reason, and the limits that its data have."""

from __future__ import annotations

from typing import Any, Final

from pipeline.writers.licences import NO_LICENCE, licences
from pipeline.writers.views import by_label, lacking
from schemas import KINDS, LEAST_USERS, outcome_words
from schemas.outcome import OF_EXAMPLES

# Domains told one by one; the manifest has all.
_DOMAINS: Final = 30
# What is not possible with a view that has no rows in a split.
_LACKING: Final = {"train": "Nothing to learn from", "test": "Nothing to measure on"}
# From so many rows of one label for each of the other the card tells it: trainers want the two to weigh about the same.
_UNEVEN: Final = 3.0
# Why a record is no turn, dead letters apart.
_RECORDS: Final = {
    "superseded": "superseded by a later record of the same turn",
    "opted_out": "its user opted out",
    "forgotten": "its user is forgotten",
    "judged_before": "its session was judged before, and is as it was",
    "left_open": "its session is still open, and left to the next run",
}


def by_domain(manifest: dict[str, Any]) -> list[str]:
    """Turns, defects and corrections of each domain."""
    held = sorted(manifest["domains"].items(), key=lambda d: (-d[1].get("turns", 0), d[0]))
    lines = ["## Domains", "", "| domain | turns | judged defective | corrected |", "|---|---|---|---|"]
    for name, counted in held[:_DOMAINS]:
        turns, defects = counted.get("turns", 0), counted.get("defects", 0)
        share = f" ({defects / turns:.1%})" if turns else ""
        lines.append(f"| {name} | {turns:,} | {defects:,}{share} | {counted.get('corrected', 0):,} |")
    if len(held) > _DOMAINS:
        lines += ["", f"And {len(held) - _DOMAINS} more, in `manifest.json`."]
    return [*lines, ""]


def left_out(manifest: dict[str, Any]) -> list[str]:
    """Records and turns that are in no example, by reason."""
    ingest, curate = manifest["counts"]["ingest"], manifest["closing"]["curate"]
    rows = [(f"dead letter: {k.partition('.')[2]}", n) for k, n in ingest.items() if k.startswith("dead_letter.")]
    rows += [(words, ingest.get(k, 0)) for k, words in _RECORDS.items()]
    rows += [(_words(k), n) for k, n in curate.items() if k not in ("in", "kept")]
    told = [f"| {words} | {n:,} |" for words, n in sorted(rows, key=lambda r: (-r[1], r[0])) if n]
    if not told:
        return []
    listed = ["`left_out/` lists the examples, `dead_letters/` the records.", ""]
    return ["## What was left out", "", *listed, "| why | records, turns or examples |", "|---|---|", *told, ""]


def rights(manifest: dict[str, Any]) -> list[str]:
    """Under which licences the examples are, and what was redacted."""
    released, ingest = manifest["counts"]["release"], manifest["counts"]["ingest"]
    held, none = licences(released), released.get(NO_LICENCE, 0)
    rows = [*(f"| {name} | {n:,} |" for name, n in held.items()), *([f"| none stated | {none:,} |"] if none else [])]
    table = ["| licence of the texts | examples |", "|---|---|", *rows, ""] if rows else []
    if held:
        table += ["An example that rests on texts under several licences is counted under each.", ""]
    types = {k.removeprefix("redacted."): n for k, n in ingest.items() if k.removeprefix("redacted.").isupper()}
    told = ", ".join(f"{name} {n:,}" for name, n in sorted(types.items(), key=lambda t: (-t[1], t[0])))
    turns = ingest.get("redacted.turns", 0)
    line = [f"Redacted, in {turns:,} turns of the log: {told}.", ""] if told else []
    if manifest["identity"]["config"].get("privacy", {}).get("redact") is False:
        line = ["Nothing was redacted: `privacy.redact` was off.", ""]
    return ["## Licences and redaction", "", *table, *line] if table or line else []


def _words(outcome: str) -> str:
    """Why a turn is in no example of its own, or an example in no release."""
    return f"{'example' if outcome in OF_EXAMPLES else 'turn'}: {outcome_words(outcome)}"


def limits(manifest: dict[str, Any]) -> list[str]:
    """Limits that follow from what the data are."""
    released, label = manifest["counts"]["release"], manifest["counts"]["label"]
    options = manifest["identity"]["config"]["curate"]
    made = {k: n for k, n in released.items() if k.startswith("examples.") and n}
    held = []
    if made and not any(k.startswith("examples.test.") for k in made):
        held.append("There is no test split: no test user's words are missing from train.")
    for split, names in lacking(released).items():
        views = ", ".join(f"`{name}`" for name in names)
        verb = "has" if len(names) == 1 else "have"
        held.append(f"{_LACKING[split]}: {views} {verb} no rows in split {split}.")
    held += _uneven(released)
    if not label.get("defects_certified"):
        held.append("No defect is certified, so no correction is: what is wrong is a model's estimate.")
    lone = [kind for kind in KINDS if any(k.endswith(f".{kind}") for k in made) and options[LEAST_USERS[kind]] == 1]
    if lone:
        held.append(f"One user is enough for: {', '.join(lone)}.")
    rejected = sum(n for k, n in made.items() if k.endswith(".rejection"))
    if rejected:
        held.append(f"What is right in place of {rejected:,} rejections is not known; people have to say.")
    return [f"- {text}" for text in held]


def _uneven(released: dict[str, int]) -> list[str]:
    """Views whose rows to train on nearly all have one label."""
    told = []
    for (split, view), (true, false) in by_label(released).items():
        more, fewer = max(true, false), min(true, false)
        if split == "train" and fewer and more >= _UNEVEN * fewer:
            told.append(
                f"`{view}` has {true:,} desirable rows (`label` true) and {false:,} undesirable ones in split train, "
                f"1 to {more / fewer:.1f}: weigh them in training."
            )
    return told
