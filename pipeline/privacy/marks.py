"""Marks that stand for what was taken out of a text: ours, and those that a platform set before us.

What has a mark's form and holds a value (`[CC 4111 1111 1111 1111]`) is none; `pipeline.privacy.find` looks into them.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable
from typing import Final

from pipeline.privacy.finding import Finding

# `<PHONE>`, `[NAME]`, `{full_name}`, `{{ name }}`. Angle and square brackets want capitals, as `<b>` and `[laughter]`
# are no marks. RE2 reads the same pattern.
PATTERN: Final = (
    r"<[A-Z][A-Z0-9_ -]{1,40}>|\[[A-Z][A-Z0-9_ -]{1,40}\]|\{\{ ?[A-Za-z][A-Za-z0-9_.-]{1,40} ?\}\}"
    r"|\{[A-Za-z][A-Za-z0-9_.-]{1,40}\}"
)
_MARK: Final = re.compile(PATTERN)
# What a type's name looks like, so that its mark is one by the pattern.
TYPE_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{1,40}")
# What ties a value to the word before it inside a mark: `[TEL_415-555-0132]`.
_TIE: Final = re.compile(r"(?<=[A-Za-z])[_.-](?=[+(]?[A-Za-z]{0,2}\d)")
# Neither a word's letter nor white space nor punctuation of any number: nothing is found across it.
_FILLER: Final = "\ufffc"


def mark(type: str) -> str:
    """What stands for a value of a type."""
    return f"<{type}>"


def spans(text: str) -> list[tuple[int, int]]:
    """Where a text holds what has a mark's form, in code points, in order."""
    return [m.span() for m in _MARK.finditer(text)]


def blanked(text: str, held: list[tuple[int, int]]) -> str:
    """The text with its marks filled over, in the same length."""
    return _changed(text, held, lambda mark: _FILLER * len(mark))


def opened(text: str, held: list[tuple[int, int]]) -> str:
    """The text with its marks to be looked into: values stand apart from the words before them, in the same length."""
    return _changed(text, held, lambda mark: _TIE.sub(" ", mark))


def _changed(text: str, held: list[tuple[int, int]], change: Callable[[str], str]) -> str:
    parts, at = [], 0
    for start, end in held:
        parts += [text[at:start], change(text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def holding(held: list[tuple[int, int]], findings: list[Finding]) -> list[tuple[int, int]]:
    """Those of the marks that have a finding between their brackets; findings are in order, none over another."""
    starts = [f.start for f in findings]
    firsts = ((span, bisect.bisect_right(starts, span[0])) for span in held)
    return [span for span, k in firsts if k < len(findings) and findings[k].end < span[1]]


def inside(start: int, end: int, held: list[tuple[int, int]]) -> bool:
    """Whether a span lies between the brackets of a mark."""
    return any(first < start and end < last for first, last in held)


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
