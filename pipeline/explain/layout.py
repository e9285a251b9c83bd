"""Plain text of a stated width: what every section of an explanation is laid out with."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from schemas import TOOL_DOMAIN, outcome_words

WIDTH: Final = 96
# Of one text in the dialog: four lines. JSON holds it whole.
TEXT_CAP: Final = 320


def clean(text: str | None) -> str:
    """A user's words on one line: white space folded, what a terminal would act on made visible."""
    folded = " ".join((text or "").split())
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in folded)


def short(text: str | None, cap: int = TEXT_CAP) -> str:
    """Clean text, cut at `cap` characters."""
    whole = clean(text)
    return whole if len(whole) <= cap else whole[: cap - 4].rstrip() + " ..."


def wrapped(text: str, first: str = "  ", later: str | None = None) -> list[str]:
    """Lines of at most WIDTH, begun with `first`, then with `later` (as much white space by default)."""
    indent = " " * len(first) if later is None else later
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False) or [
        first.rstrip()
    ]


def section(title: str, lines: Sequence[str]) -> list[str]:
    """A title with what stands under it; nothing where there is nothing."""
    return ["", title, *lines] if lines else []


def reading(interpretation: Mapping[str, Any] | None, score: bool = True) -> str:
    """An interpretation in short: `travel/go city=rome (0.83)`; a tool call is `go(city=rome) (0.83)`."""
    if interpretation is None:
        return "(none)"
    slots = [f"{clean(s['name'])}={clean(s['value'])}" for s in interpretation["slots"] or []]
    intent = clean(interpretation["intent"]) or "(no intent)"
    if interpretation["domain"] == TOOL_DOMAIN:
        words = [f"{intent}({', '.join(slots)})"]
    else:
        words = [f"{clean(interpretation['domain'])}/{intent}" if interpretation["domain"] else intent, *slots]
    if score and interpretation.get("score") is not None:
        words.append(f"({interpretation['score']:.2f})")
    return short(" ".join(words))


def label_words(
    kind: str, label: Mapping[str, Any] | None, response: str | None, rejected: Mapping[str, Any] | None = None
) -> str:
    """What is learned: an interpretation, a tool call, or an answer in words; or what is rejected."""
    if kind in ("preference", "rejection"):
        wrong = "(nothing done)" if rejected is None else label_words("answer", rejected, rejected["response"])
        return f"not {wrong}" if kind == "rejection" else f"{label_words('answer', label, response)}, not {wrong}"
    if kind == "answer" and (label is None or label["intent"] is None):
        return f'answer "{short(response)}"'
    if label is not None and label["domain"] == TOOL_DOMAIN:
        return f"call {reading(label, score=False)}"
    return reading(label, score=False)


def moment(time: str | None) -> str:
    """A time of the JSON to the second: `2026-03-01 09:30:00 UTC`."""
    return f"{datetime.fromisoformat(time):%Y-%m-%d %H:%M:%S} UTC" if time else "no time"


def figure(value: float | None) -> str:
    """A share with two digits; `none` where there is none."""
    return "none" if value is None else f"{value:.2f}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: `1 user`, `2 users`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(counts: Mapping[str, int]) -> str:
    """Counts of outcomes: `12 not sure enough; 3 without words`."""
    return "; ".join(f"{n:,} {outcome_words(name)}" for name, n in counts.items())


def clock(seconds: float) -> str:
    """Seconds with their sign, as `+1:05`."""
    whole = round(abs(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
    return text if not whole else f"{'-' if seconds < 0 else '+'}{text}"
