"""Marks that stand for what was taken out of a text: ours, and those that a platform set before us."""

from __future__ import annotations

import re
from typing import Final

# `<PHONE>`, `[NAME]`, `{full_name}`, `{{ name }}`. Angle and square brackets want capitals, as `<b>` and `[laughter]`
# are no marks. RE2 reads the same pattern.
PATTERN: Final = (
    r"<[A-Z][A-Z0-9_ -]{1,40}>|\[[A-Z][A-Z0-9_ -]{1,40}\]|\{\{ ?[A-Za-z][A-Za-z0-9_.-]{1,40} ?\}\}"
    r"|\{[A-Za-z][A-Za-z0-9_.-]{1,40}\}"
)
_MARK: Final = re.compile(PATTERN)
# What a type's name looks like, so that its mark is one by the pattern.
TYPE_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{1,40}")
# Neither a word's letter nor white space nor punctuation of any number: nothing is found across it.
_FILLER: Final = "\ufffc"


def mark(type: str) -> str:
    """What stands for a value of a type."""
    return f"<{type}>"


def spans(text: str) -> list[tuple[int, int]]:
    """Where a text holds marks, in code points, in order."""
    return [m.span() for m in _MARK.finditer(text)]


def blanked(text: str, held: list[tuple[int, int]]) -> str:
    """The text with its marks filled over, in the same length."""
    for start, end in held:
        text = text[:start] + _FILLER * (end - start) + text[end:]
    return text


def outside(start: int, end: int, held: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts of a span that lie in no mark."""
    parts = []
    for first, last in held:
        if last <= start or first >= end:
            continue
        if first > start:
            parts.append((start, first))
        start = max(start, last)
    if start < end:
        parts.append((start, end))
    return parts
