"""What an export tells."""

from __future__ import annotations

from typing import Any, Final

_MEANINGS: Final = {
    "rows.unmarkable": "rows left out: their own words look like the format's marks",
    "rows.too_long": "rows left out: longer than the service takes",
    "rows.twice": "rows left out: the same sample utterance again",
    "rows.empty": "rows left out: no token",
    "rows.blanks": "rows in which line ends or control characters became spaces",
    "slots": "slots",
    "slots.no_span": "slots without annotation: they do not stand in the text",
    "slots.no_name": "slots without annotation: no name",
    "slots.overlap": "slots without annotation: another one stands on the same words",
    "slots.twice": "slots without annotation: the format takes a slot once an utterance",
    "slots.unmarkable": "slots without annotation: their words look like the format's marks",
    "slots.renamed": "slot names changed to what the format takes",
    "intents.reserved": "intent names changed: the format has an intent of that name itself",
    "intents.with_domain": "intents with their domain before their name: another domain of the release has one of it",
    "intents.renamed": "intent names changed to what the format takes",
}


def render(told: dict[str, Any], to: str) -> str:
    """Lines for people."""
    counts = told["told"]
    lines = [
        f"export    {counts.get('rows.written', 0):,} of {told['rows']:,} rows of {_which(told['split'])} "
        f"as {told['format']}",
        *(f"{counts[key]:>9,} {meaning}" for key, meaning in _MEANINGS.items() if key in counts),
        f"release   {told['release']}",
        *(f"wrote     {to}/{name}" for name in told["files"][:_SHOWN]),
    ]
    more = len(told["files"]) - _SHOWN
    return "\n".join([*lines, *([f"          and {more:,} more"] if more > 0 else [])])


def _which(split: str) -> str:
    return "all splits" if split == "all" else f"split {split}"


_SHOWN: Final = 10
