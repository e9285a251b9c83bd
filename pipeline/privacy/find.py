"""All findings of a text that reach their thresholds, each distinct text looked at once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from pipeline.privacy import marks, plug, screen
from pipeline.privacy.finding import Finding, merged
from pipeline.privacy.options import TYPES, PrivacyOptions
from pipeline.privacy.recognisers import recogniser

# Texts whose findings are kept: prompts and commands repeat from batch to batch.
_HELD: Final = 50_000


class _Seen(NamedTuple):
    """What the patterns find in a text, and the marks in it that hold none of that."""

    findings: list[Finding]
    marks: list[tuple[int, int]]


class Finder:
    """Finds what is to be redacted. Threads may share one."""

    def __init__(self, options: PrivacyOptions) -> None:
        self._options = options
        self._plug = plug.load(options.recogniser) if options.recogniser else None
        self._plugged: dict[str, list[Finding]] = {}
        self._cached = lru_cache(_HELD)(self._find)

    @property
    def sees_all(self) -> bool:
        """Whether a plug has to see every text."""
        return self._plug is not None

    def prepare(self, texts: Iterable[str]) -> None:
        """Give texts to the plug in one call, if there is one."""
        if self._plug is None:
            return
        new = sorted({text for text in texts if text} - self._plugged.keys())
        if new:
            found = plug.findings(self._plug, self._options.recogniser or "", new)
            # Another dictionary, as another thread may be reading this one.
            kept = self._plugged if len(self._plugged) < _HELD else {}
            self._plugged = {**kept, **dict(zip(new, found, strict=True))}

    def find(self, text: str, hint: str = "") -> list[Finding]:
        """Findings in order, none of which touches another or a mark.

        Parameters
        ----------
        text : str
        hint : str
            Name of the field that holds it, which may say what it is.
        """
        seen = self._cached(text, hint)
        if self._plug is None or not text:
            return seen.findings
        plugged = self._plugged.get(text)
        if plugged is None:
            plugged = plug.findings(self._plug, self._options.recogniser or "", [text])[0]
        return self._kept([*seen.findings, *plugged], seen.marks)

    def _find(self, text: str, hint: str) -> _Seen:
        held = marks.spans(text)
        types = [t for t in screen.types_of(text) if self._options.threshold(t) <= 1.0]
        if not types:
            return _Seen([], held)
        # What has a mark's form and may hold a value is looked into first; one that does is no mark.
        none = [span for span in held if screen.types_of(text[slice(*span)])]
        if none:
            rest = set(held).difference(none)
            none = marks.holding(none, self._look(text, hint, types, sorted(rest), none))
            held = sorted(set(held).difference(none))
        return _Seen(self._look(text, hint, types, held, none), held)

    def _look(
        self, text: str, hint: str, types: list[str], held: list[tuple[int, int]], open: list[tuple[int, int]]
    ) -> list[Finding]:
        """What the recognisers find outside the marks `held`; `open` ones are looked into."""
        seen = marks.blanked(marks.opened(text, open), held)
        return self._kept((f for t in types for f in recogniser(t, self._options)(seen, hint)), held)

    def _kept(self, findings: Iterable[Finding], held: list[tuple[int, int]]) -> list[Finding]:
        """Those that reach their threshold, less what lies in a mark, as spans that do not overlap."""
        parts = []
        for found in findings:
            if found.score >= self._options.threshold(found.type):
                parts += [found._replace(start=a, end=b) for a, b in marks.outside(found.start, found.end, held)]
        return merged(parts)


assert set(TYPES) == set(screen.SCREENS)
