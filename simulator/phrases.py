"""The phrase book: what users may want, and several ways to say each of it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.grammar import Filling, Frame, Grammar
from simulator.lists import Lists

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# Ways to say one wish that are looked for, and walks spent on it.
PHRASINGS: Final = 6
_WALKS: Final = 24
# Walks spent on a domain for each wish that it should have: some have fewer wishes than that.
_TRIES: Final = 6
# A second and a third slot each make a sentence so much rarer.
_BRIEF: Final = 0.3
# Zipf exponents of wishes within a domain and of phrasings within a wish: the same words come from many users.
_WISH_ZIPF: Final = 0.8
_PHRASING_ZIPF: Final = 1.2
# Share of sentences with a word of courtesy.
_COURTEOUS: Final = 0.15
_OFTEN: Final = frozenset({"HassStartTimer", "HassTurnOn", "HassTurnOff", "HassMediaSearchAndPlay"})
TALK: Final = "conversation"


class Reading(NamedTuple):
    """What a sentence means: slots are sorted by name."""

    domain: str
    intent: str
    slots: tuple[tuple[str, str], ...]


class Sentence(NamedTuple):
    """One way to say a wish; slots as spoken, in the order of the words."""

    text: str
    slots: tuple[Filling, ...]
    template: int


# Numbers that stand for no template of the package.
ACT: Final = -1
CORRECTION: Final = -2


@dataclass(frozen=True)
class PhraseBook:
    """Wishes and their sentences, flat.

    Attributes
    ----------
    wishes : list of Reading
        What a request may mean, then what the acts of the dialog mean.
    sentences : list of Sentence
        Grouped by wish, the most usual phrasing first, a correction last.
    offsets : numpy.ndarray of int64, shape (wishes + 1,)
        Wish i has the sentences offsets[i] .. offsets[i + 1].
    requests : int
        Wishes before this one are requests, the others acts.
    popularity : numpy.ndarray, shape (wishes,)
        How often a wish is had; 0 for acts.
    fixed : list
        Slots of each wish that no word says.
    """

    wishes: list[Reading]
    sentences: list[Sentence]
    offsets: I64
    requests: int
    popularity: F64
    fixed: list[tuple[tuple[str, str], ...]]

    @cached_property
    def wish(self) -> I64:
        """Wish of each sentence."""
        return np.repeat(np.arange(len(self.wishes)), np.diff(self.offsets))

    def acts(self, intent: str) -> int:
        """Wish that stands for an act of the dialog."""
        return self.wishes.index(Reading(TALK, intent, ()))


def phrase_book(grammar: Grammar, lists: Lists, wishes: int, seed: int) -> PhraseBook:
    """Sample a phrase book.

    Parameters
    ----------
    grammar : Grammar
    lists : Lists
    wishes : int
        Distinct wishes to look for; a domain that has fewer gives what it has.
    seed : int
    """
    draw = random.Random(f"phrases/{seed}")
    said: dict[Reading, list[Sentence]] = {}
    popularity: list[float] = []
    fixed: dict[Reading, tuple[tuple[str, str], ...]] = {}
    quota = {d: n**0.5 for d, n in lists.popularity.items()}
    for domain, weight in lists.popularity.items():
        frames = [f for f in grammar.frames if f.domain == domain]
        wanted = max(1, round(wishes * quota[domain] / sum(quota.values())))
        found = _wishes(grammar, lists, frames, wanted, draw)
        share = np.arange(1, len(found) + 1) ** -_WISH_ZIPF
        popularity += (weight * share / share.sum()).tolist()
        for (reading, frame), sentences in found.items():
            said[reading], fixed[reading] = sentences, frame
    requests = len(said)
    said |= _acts(grammar, lists)
    popularity += [0.0] * (len(said) - requests)
    return PhraseBook(
        wishes=list(said),
        sentences=[s for group in said.values() for s in group],
        offsets=np.cumsum([0, *map(len, said.values())]),
        requests=requests,
        popularity=np.array(popularity) / sum(popularity),
        fixed=[fixed.get(reading, ()) for reading in said],
    )


def _wishes(
    grammar: Grammar, lists: Lists, frames: list[Frame], wanted: int, draw: random.Random
) -> dict[tuple[Reading, tuple[tuple[str, str], ...]], list[Sentence]]:
    """So many wishes of a domain, each with its sentences."""
    intents = sorted({f.intent for f in frames})
    weights = [4.0 if i in _OFTEN else 1.0 for i in intents]
    by_intent = {i: [(f, _BRIEF ** _spoken(grammar, f, draw)) for f in frames if f.intent == i] for i in intents}
    found: dict[tuple[Reading, tuple[tuple[str, str], ...]], list[Sentence]] = {}
    for _ in range(_TRIES * wanted):
        if len(found) >= wanted:
            break
        choices, brief = zip(*by_intent[draw.choices(intents, weights)[0]], strict=True)
        frame = draw.choices(choices, brief)[0]
        walked = grammar.walk(frame, draw)
        if walked is None:
            continue
        reading = _reading(frame, walked[2])
        if (reading, frame.fixed) not in found:
            found[reading, frame.fixed] = _phrasings(grammar, lists, frames, frame, walked, draw)
    return found


def _spoken(grammar: Grammar, frame: Frame, draw: random.Random) -> int:
    """Slots beyond the first that a frame speaks."""
    walked = grammar.walk(frame, draw)
    return max(0, len(walked[2]) - 1) if walked else 0


def _reading(frame: Frame, slots: Iterable[Filling]) -> Reading:
    held = dict(frame.fixed) | {s.name: s.value for s in slots}
    return Reading(frame.domain, frame.intent, tuple(sorted(held.items())))


def _phrasings(
    grammar: Grammar,
    lists: Lists,
    frames: list[Frame],
    first: Frame,
    heard: tuple[int, str, tuple[Filling, ...]],
    draw: random.Random,
) -> list[Sentence]:
    """Sentences of the wish of one that was heard, brief ones first, and one that corrects a misreading of it."""
    reading = _reading(first, heard[2])
    alike = [f for f in frames if f.intent == first.intent and f.fixed == first.fixed]
    names = [name for name, _ in reading.slots]
    found: dict[str, Sentence] = {}
    for walk in range(_WALKS):
        if len(found) >= PHRASINGS:
            break
        # Another block may say the same: now and then it is asked, and mostly it has other slots.
        frame = first if walk % 3 else draw.choice(alike)
        walked = grammar.walk(frame, draw, dict(reading.slots))
        if walked is None or sorted({*dict(frame.fixed), *(s.name for s in walked[2])}) != names:
            continue
        template, text, slots = walked
        if draw.random() < _COURTEOUS:
            text, slots = _courteous(text, slots, lists, draw)
        found.setdefault(text, Sentence(text, slots, template))
    if not found:
        # Of templates with many optional slots hardly a walk speaks just these again: the one that was heard did.
        found[heard[1]] = Sentence(heard[1], heard[2], heard[0])
    ordered = sorted(found.values(), key=lambda s: len(s.text) * draw.uniform(0.7, 1.3))
    plain, opening = ordered[0], draw.choice(lists.speech["corrects"]) + " "
    return [*ordered, Sentence(opening + plain.text, moved(plain.slots, len(opening)), CORRECTION)]


def moved(slots: Sequence[Filling], by: int) -> tuple[Filling, ...]:
    """Slots of a sentence that begins so many characters later."""
    return tuple(Filling(s.name, s.value, s.start + by, s.end + by, s.source) for s in slots)


def _courteous(
    text: str, slots: tuple[Filling, ...], lists: Lists, draw: random.Random
) -> tuple[str, tuple[Filling, ...]]:
    if draw.random() < 0.5:
        return f"{text} {draw.choice(lists.speech['after'])}", slots
    before = draw.choice(lists.speech["before"]) + " "
    return before + text, moved(slots, len(before))


def _acts(grammar: Grammar, lists: Lists) -> dict[Reading, list[Sentence]]:
    """What users say about the dialog itself. Calling off has templates of its own in the package."""
    draw = random.Random("acts")
    off = [f for f in grammar.frames if f.intent == "HassNevermind"]
    called_off = {walked[1] for f in off for _ in range(_WALKS) if (walked := grammar.walk(f, draw))}
    texts = lists.acts | {"cancel": [*sorted(called_off), *lists.acts["cancel"]]}
    return {Reading(TALK, intent, ()): [Sentence(t, (), ACT) for t in said] for intent, said in texts.items()}


def phrasing_weights(book: PhraseBook) -> F64:
    """How usual each sentence is within its wish, shape (sentences,); 0 for corrections, which are said on purpose."""
    rank = np.arange(len(book.sentences)) - book.offsets[book.wish]
    weight = (rank + 1.0) ** -_PHRASING_ZIPF
    weight[[s.template == CORRECTION for s in book.sentences]] = 0.0
    return np.asarray(weight / np.bincount(book.wish, weight)[book.wish], dtype=np.float64)
