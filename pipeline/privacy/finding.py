"""A finding, and how overlapping ones become one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Finding(NamedTuple):
    """A span of a text, half-open, in code points, and what it was taken for."""

    start: int
    end: int
    type: str
    score: float


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in order, those that overlap as one that covers all of them: no part of a value may stay.

    It has the type of the highest score, then of the longest, then by name.
    """
    out: list[Finding] = []
    best: Finding | None = None
    for found in sorted(findings):
        if best is None or found.start >= out[-1].end:
            out.append(found)
            best = found
            continue
        best = min(best, found, key=_rank)
        out[-1] = Finding(out[-1].start, max(out[-1].end, found.end), best.type, best.score)
    return out


def _rank(found: Finding) -> tuple[float, int, str]:
    return -found.score, found.start - found.end, found.type
