"""A slot finder of a simple kind: lists of known values, and the words around the values it was trained on."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from rapidfuzz import fuzz, process

from simulator.grammar import Filling
from simulator.phrases import Sentence

# (domain, intent, fixed slots): what the intent model tells apart.
Label = tuple[str, str, tuple[tuple[str, str], ...]]

# A slot's value and where it is spoken.
Slot = tuple[str, str, int, int]


class Fill(NamedTuple):
    """Slots of one reading, and how much the finder believes in them."""

    weight: float
    slots: tuple[Slot, ...]


class Match(NamedTuple):
    """A known value or a number in a text."""

    start: int
    end: int
    values: tuple[tuple[str, str], ...]


NUMBER: Final = "number"
# Where a known value and the words themselves disagree, the finder trusts what it knows.
_KNOWN: Final = 0.6
# An unknown value is taken for a known one this much alike (rapidfuzz's ratio, 0 to 100).
_NEAR: Final = 60.0
_LITERAL: Final = 0.85
# A second choice for a number, and slots that never came together in training.
_SECOND: Final = 0.35
_STRANGE: Final = 0.3
_MISSING: Final = 0.5
# What a reading leaves unexplained of the known values and numbers of a text counts against it, each so much.
_UNEXPLAINED: Final = 0.4
# A word beside a slot counts from this share of its occurrences on.
_CONTEXT: Final = 0.01
# A word of the templates is no part of an unknown device's name; it is one from so many occurrences on.
_TEMPLATE_WORD: Final = 3
_ARTICLES: Final = re.compile(r"^(?:the|my|our)\s+")
_DIGITS: Final = re.compile(r"\d+")


class SlotFinder:
    """Finds slots for a label.

    Parameters
    ----------
    known : dict
        Values by source (a list's name; `name:<domain>` for devices), each with the texts that say it.
    open_sources : set of str
        Sources whose values are not all known.
    multipliers : dict
        Factor of the numbers of a source.
    """

    def __init__(self, known: dict[str, dict[str, list[str]]], open_sources: set[str], factors: dict[str, int]) -> None:
        self._known, self._open, self._factors = known, open_sources, factors
        by_text: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
        for source, values in known.items():
            for value, texts in values.items():
                for text in texts:
                    by_text[text][source, value] = None
        self._by_text = {text: tuple(held) for text, held in by_text.items()}
        self._long = _alternatives(by_text)
        self._short = _alternatives(t for s in ("area", "floor") for v in known.get(s, {}).values() for t in v)
        self._combinations: dict[Label, Counter[frozenset[str]]] = defaultdict(Counter)
        self._sources: dict[Label, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
        self._before: dict[tuple[Label, str], Counter[str]] = defaultdict(Counter)
        self._after: dict[tuple[Label, str], Counter[str]] = defaultdict(Counter)
        self._numbers: dict[tuple[object, ...], Counter[tuple[str, str]]] = defaultdict(Counter)
        self._words: Counter[str] = Counter()
        self._captures: dict[tuple[Label, str], re.Pattern[str] | None] = {}

    def fit(self, sentences: Iterable[tuple[Label, Sentence]]) -> SlotFinder:
        """Learn from sentences which slots a label has, and between which words they stand."""
        for label, sentence in sentences:
            self._combinations[label][frozenset(s.name for s in sentence.slots)] += 1
            self._words.update(_outside(sentence))
            for slot in sentence.slots:
                source = source_of(label[0], slot)
                before, after = _around(sentence.text, slot.start, slot.end)
                if _DIGITS.fullmatch(sentence.text[slot.start : slot.end]):
                    for key in ((label, before, after), (label, after), (label,)):
                        self._numbers[key][slot.name, source] += 1
                    continue
                self._sources[label][slot.name][source] = None
                self._before[label, slot.name][before] += 1
                self._after[label, slot.name][after] += 1
        return self

    def matches(self, text: str) -> list[Match]:
        """Known values and numbers of a text, longest first. Places are found within longer values as well."""
        spans = {m.span() for pattern in (self._long, self._short) for m in pattern.finditer(text)}
        found = [Match(a, b, self._by_text[text[a:b]]) for a, b in spans]
        found += [Match(*m.span(), ((NUMBER, m.group()),)) for m in _DIGITS.finditer(text)]
        return sorted(found, key=lambda m: (m.start - m.end, m.start))

    def fills(self, text: str, label: Label, matches: Sequence[Match]) -> list[Fill]:
        """Ways to fill a label's slots, the likeliest first."""
        choices: dict[str, list[tuple[float, Slot]]] = {}
        taken: list[tuple[int, int]] = []
        for name, sources in self._sources[label].items() if label in self._sources else ():
            options = self._options(text, label, name, sources, matches)
            if options:
                choices[name] = options
        for name in sorted(choices, key=lambda n: choices[n][0][1][2] - choices[n][0][1][3]):
            free = [o for o in choices[name] if not _overlaps(o[1][2:], taken)]
            if not free:
                del choices[name]
                continue
            choices[name] = free
            taken.append(free[0][1][2:])
        self._place_numbers(text, label, matches, taken, choices)
        return [self._explained(fill, matches) for fill in self._combined(label, choices)]

    def _explained(self, fill: Fill, matches: Sequence[Match]) -> Fill:
        """The fill, less belief for what it leaves unexplained."""
        spans = [slot[2:] for slot in fill.slots]
        left: list[tuple[int, int]] = []
        for match in matches:
            if not _overlaps(match[:2], [*spans, *left]):
                left.append(match[:2])
        return Fill(fill.weight * _UNEXPLAINED ** len(left), fill.slots)

    def _options(
        self, text: str, label: Label, name: str, sources: dict[str, None], matches: Sequence[Match]
    ) -> list[tuple[float, Slot]]:
        """Values for one slot, each with its weight; at most two."""
        known = next(
            ((name, value, m.start, m.end) for m in matches for source, value in m.values if source in sources), None
        )
        opened = [s for s in sources if s in self._open]
        captured = self._capture(text, label, name) if opened else None
        if captured and not self._may_be(text[slice(*captured)], opened[0], captured, sources, matches):
            captured = None
        if captured is None:
            return [(1.0, known)] if known else []
        start, end = captured
        literal: Slot = (name, text[start:end], start, end)
        if known is None:
            nearest = process.extractOne(
                literal[1], list(self._known[opened[0]]), scorer=fuzz.ratio, score_cutoff=_NEAR
            )
            if nearest is None:
                return [(_LITERAL, literal)]
            known = (name, str(nearest[0]), start, end)
        return [(1.0, known)] if known[1] == literal[1] else [(_KNOWN, known), (1.0 - _KNOWN, literal)]

    def _may_be(
        self, text: str, source: str, span: tuple[int, int], sources: dict[str, None], matches: Sequence[Match]
    ) -> bool:
        """Whether words may be an unknown value: no number; a device is named by no words of templates or places."""
        if _DIGITS.search(text):
            return False
        if not source.startswith("name:"):
            return True
        if any(self._words[word] >= _TEMPLATE_WORD for word in re.findall(r"\w+", text)):
            return False
        foreign = [m[:2] for m in matches if not any(s in sources for s, _ in m.values)]
        return not _overlaps(span, foreign)

    def _capture(self, text: str, label: Label, name: str) -> tuple[int, int] | None:
        """Span between the words that a slot stood between in training."""
        key = (label, name)
        if key not in self._captures:
            self._captures[key] = _between(_usual(self._before[key]), _usual(self._after[key]))
        pattern = self._captures[key]
        found = pattern.search(text) if pattern else None
        if not found:
            return None
        start, end = found.span(1)
        article = _ARTICLES.match(text[start:end])
        return (start + article.end(), end) if article else (start, end)

    def _place_numbers(
        self,
        text: str,
        label: Label,
        matches: Sequence[Match],
        taken: list[tuple[int, int]],
        choices: dict[str, list[tuple[float, Slot]]],
    ) -> None:
        """Give each free number the slot that numbers between such words had in training."""
        for match in sorted(matches):
            if match.values[0][0] != NUMBER or _overlaps((match.start, match.end), taken):
                continue
            before, after = _around(text, match.start, match.end)
            keys = ((label, before, after), (label, after), (label,))
            counts = next((self._numbers[k] for k in keys if k in self._numbers), Counter())
            ranked = [c for c, _ in counts.most_common(2) if c[0] not in choices]
            for rank, (name, source) in enumerate(ranked):
                value = str(int(match.values[0][1]) * self._factors.get(source, 1))
                weight = 1.0 if len(ranked) == 1 else (1.0 - _SECOND, _SECOND)[rank]
                choices.setdefault(name, []).append((weight, (name, value, match.start, match.end)))
                if rank and name != ranked[0][0]:
                    # The same number in another slot: a reading of its own, made when the fills are combined.
                    choices[name][-1] = (-weight, choices[name][-1][1])

    def _combined(self, label: Label, choices: dict[str, list[tuple[float, Slot]]]) -> list[Fill]:
        """The best choice for every slot, and each second choice with the best of the others."""
        best = {name: options[0] for name, options in choices.items() if options[0][0] > 0}
        fills = [self._fill(label, best)]
        for name, options in choices.items():
            for weight, slot in options[1 if name in best else 0 :]:
                others = {n: o for n, o in best.items() if not _overlaps(o[1][2:], [slot[2:]]) and n != name}
                fills.append(self._fill(label, {**others, name: (abs(weight), slot)}))
        seen = self._combinations.get(label, ())
        for name in best if len(best) > 1 else ():
            others = {n: o for n, o in best.items() if n != name}
            if frozenset(others) in seen:
                fills.append(self._fill(label, others))
        return fills

    def _fill(self, label: Label, chosen: dict[str, tuple[float, Slot]]) -> Fill:
        weight = 1.0
        for part, _ in chosen.values():
            weight *= part
        seen = self._combinations.get(label, Counter())
        names = frozenset(chosen)
        if names not in seen:
            weight *= _STRANGE if any(names > held for held in seen) else _MISSING
        return Fill(weight, tuple(sorted((slot for _, slot in chosen.values()), key=lambda s: s[2])))

    @cached_property
    def values(self) -> int:
        """How many values are known."""
        return sum(map(len, self._known.values()))


def source_of(domain: str, slot: Filling) -> str:
    """Where a slot's value comes from: its list, for devices that of the domain."""
    return f"name:{domain}" if slot.source == "name" else slot.source


def _outside(sentence: Sentence) -> list[str]:
    """Words of a sentence that are in no slot."""
    text = sentence.text
    for slot in sentence.slots:
        text = text[: slot.start] + " " * (slot.end - slot.start) + text[slot.end :]
    return re.findall(r"\w+", text)


def _alternatives(texts: Iterable[str]) -> re.Pattern[str]:
    """Any of the texts as whole words, the longest first."""
    ordered = sorted(set(texts), key=lambda t: (-len(t), t))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, ordered)) or '(?!)'})(?!\w)")


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """The words before and after a span; `^` and `$` at the ends."""
    before = re.findall(r"\w+", text[:start])
    after = re.search(r"\w+|%", text[end:])
    return (before[-1] if before else "^"), (after.group() if after else "$")


def _usual(words: Counter[str]) -> list[str]:
    least = _CONTEXT * words.total()
    return sorted(word for word, count in words.items() if count >= least)


def _between(before: list[str], after: list[str]) -> re.Pattern[str] | None:
    if not before or not after:
        return None
    left = "|".join(r"^" if w == "^" else rf"\b{re.escape(w)}\s+" for w in before)
    right = "|".join(r"\s*$" if w == "$" else rf"\s+{re.escape(w)}\b" for w in after)
    return re.compile(rf"(?:{left})(\S.*?)(?={right})")


def _overlaps(span: Sequence[int], taken: Iterable[Sequence[int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in taken)
