"""Replacing spans of a text, and where other spans of it lie afterwards."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Mapping, Sequence

from pipeline.privacy import marks
from pipeline.privacy.finding import Finding
from pipeline.privacy.options import TYPES

# Types of which the digits count, not what stands between them.
_BY_DIGITS = frozenset({"PHONE_NUMBER", "CREDIT_CARD", "US_SSN", "IBAN_CODE"})
_SPLIT = r"[\s().\-/]*"


class Edits:
    """Replacements of the spans of one text by their types' marks.

    Parameters
    ----------
    findings : sequence of Finding
        In order, none touching another's inside.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = findings
        self._starts = [f.start for f in findings]
        self.places: list[int] = []
        shift = 0
        self._shifts = [0]
        for f in findings:
            self.places.append(f.start + shift)
            shift += len(marks.mark(f.type)) - (f.end - f.start)
            self._shifts.append(shift)

    def apply(self, text: str) -> str:
        """The text with its marks."""
        parts, at = [], 0
        for f in self.findings:
            parts += [text[at : f.start], marks.mark(f.type)]
            at = f.end
        return "".join([*parts, text[at:]])

    def start(self, position: int) -> int:
        """Where the start of a span goes: inside a replaced one, to its mark's start."""
        k = bisect.bisect_right(self._starts, position)
        inside = k and position < self.findings[k - 1].end
        return self.places[k - 1] if inside else position + self._shifts[k]

    def end(self, position: int) -> int:
        """Where the end of a span goes: inside a replaced one, to its mark's end."""
        k = bisect.bisect_left(self._starts, position)
        if k and position < self.findings[k - 1].end:
            return self.places[k - 1] + len(marks.mark(self.findings[k - 1].type))
        return position + self._shifts[k]

    def touch(self, start: int, end: int) -> bool:
        """Whether a span holds any part of what is replaced."""
        return any(f.start < end and start < f.end for f in self.findings)


def elsewhere(text: str, values: Mapping[str, tuple[str, float]]) -> list[Finding]:
    """Other places of values that were found in a turn: what is one in one text of it is one in all.

    Parameters
    ----------
    text : str
    values : mapping
        Value to its type and score.
    """
    out = []
    held = marks.spans(text)
    seen = marks.opened(text, held)
    for value, (type, score) in values.items():
        for match in _literal(value, type).finditer(seen):
            # What holds such a value is no mark; a plug's value may be a word that a mark is made of.
            whole = type in TYPES and marks.inside(*match.span(), held)
            parts = [match.span()] if whole else marks.outside(*match.span(), held)
            out += [Finding(a, b, type, score) for a, b in parts]
    return out


def _literal(value: str, type: str) -> re.Pattern[str]:
    """The value as a word of its own; a number with anything between its digits.

    What a plug found stands in its own letter case, as a name may be a word too; the rest in any.
    """
    if type in _BY_DIGITS:
        # Brackets at its sides are form too.
        letters = [re.escape(c) for c in value if c.isalnum()]
        plus = r"\+?" if type == "PHONE_NUMBER" else ""
        return re.compile(rf"(?<!\w){plus}\(?{_SPLIT.join(letters)}(?!\w)", re.IGNORECASE)
    return re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE if type in TYPES else 0)


def values_of(text: str, findings: Iterable[Finding]) -> dict[str, tuple[str, float]]:
    """The values found in a text, to their types and scores."""
    return {text[f.start : f.end]: (f.type, f.score) for f in findings}
