"""The sentence templates of home-assistant-intents, parsed by hassil, and random walks through them.

Templates expand to millions of sentences, so they are never enumerated: a walk takes one alternative wherever hassil's
expression has several, and one value for a slot.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from simulator.lists import Lists
from simulator.options import SimulatorError

# Domain of intents whose templates name none.
_DOMAINS: Final = (
    ("HassBroadcast", "announcement"),
    ("HassShoppingList", "shopping_list"),
    ("HassList", "todo"),
    ("HassClimate", "climate"),
    ("HassMedia", "media_player"),
    ("HassSetVolume", "media_player"),
    ("HassGetCurrent", "clock"),
    ("HassGetWeather", "weather"),
    ("HassLawnMower", "lawn_mower"),
    ("HassVacuum", "vacuum"),
    ("HassFan", "fan"),
    ("HassNevermind", "conversation"),
)
# Small talk: one intent whose meanings have no slots to tell them apart.
_SKIPPED: Final = frozenset({"HassRespond"})
# What kind of answer a question about a state asks for; the package keeps it as the key of its response.
_QUESTIONS: Final = frozenset({"any", "all", "which", "how_many"})
# An optional part is spoken so often: people are brief.
_OPTIONAL: Final = 0.35


@dataclass(frozen=True)
class Filling:
    """A slot as spoken at one place of a sentence."""

    name: str
    value: str
    start: int
    end: int
    source: str


@dataclass(frozen=True)
class Frame:
    """Templates of one block of the package, for one domain.

    Attributes
    ----------
    domain, intent : str
    fixed : tuple of (str, str)
        Slots that follow from the block and are not spoken.
    templates : tuple of (int, hassil expression)
        Each with a number that is its own in the whole package.
    """

    domain: str
    intent: str
    fixed: tuple[tuple[str, str], ...]
    templates: tuple[tuple[int, Any], ...]


class Grammar:
    """The templates of a language with the lists that fill them."""

    def __init__(self, lists: Lists, language: str = "en") -> None:
        hassil, package = _packages()
        self._hassil, self._lists = hassil, lists
        self._intents = hassil.Intents.from_dict(package.get_intents(language))
        self._values: dict[tuple[str, str], dict[str, list[Any]]] = {}
        self.frames: tuple[Frame, ...] = tuple(self._frames())

    def _frames(self) -> Iterator[Frame]:
        number = 0
        for name, intent in self._intents.intents.items():
            for block in intent.data:
                templates = tuple(enumerate((s.expression for s in block.sentences), start=number))
                number += len(templates)
                if name in _SKIPPED:
                    continue
                asks = name == "HassGetState" and block.response in _QUESTIONS
                fixed = (("question", block.response),) if asks else ()
                for domain in _domains(name, block):
                    yield Frame(domain, name, fixed, templates)

    def walk(
        self, frame: Frame, draw: random.Random, wanted: dict[str, str] | None = None
    ) -> tuple[int, str, tuple[Filling, ...]] | None:
        """One sentence of a frame: template, text and slots.

        Parameters
        ----------
        frame : Frame
        draw : random.Random
        wanted : dict, optional
            Values by slot; any where it has none.

        Returns
        -------
        tuple or None
            None where the template has no way to say a wanted value.
        """
        template, expression = draw.choice(frame.templates)
        pieces: list[tuple[str, tuple[str, str, str] | None]] = []
        try:
            self._walk(expression, frame.domain, draw, dict(wanted or {}), pieces)
        except LookupError:
            return None
        return template, *_assemble(pieces)

    def _walk(self, node: Any, domain: str, draw: random.Random, wanted: dict[str, str], out: list[Any]) -> None:
        kinds = self._hassil
        if isinstance(node, kinds.TextChunk):
            out.append((node.original_text, None))
        elif isinstance(node, kinds.Alternative):
            self._walk(_choose(node, draw), domain, draw, wanted, out)
        elif isinstance(node, kinds.Permutation):
            for item in draw.sample(node.items, len(node.items)):
                self._walk(item, domain, draw, wanted, out)
        elif isinstance(node, kinds.Group):
            for item in node.items:
                self._walk(item, domain, draw, wanted, out)
        elif isinstance(node, kinds.RuleReference):
            self._walk(self._intents.expansion_rules[node.rule_name].expression, domain, draw, wanted, out)
        else:
            values = self.values(node.list_name, domain)
            value = wanted.get(node.slot_name) or draw.choice(list(values))
            wanted[node.slot_name] = value
            spoken: list[Any] = []
            self._walk(draw.choice(values[value]), domain, draw, {}, spoken)
            out.append(("".join(text for text, _ in spoken).strip(), (node.slot_name, value, node.list_name)))

    def values(self, name: str, domain: str) -> dict[str, list[Any]]:
        """Expressions that say each value of a list. For {name} they depend on the domain.

        Raises
        ------
        LookupError
            If there is no such list, or a domain has no names.
        """
        key = (name, domain if name == "name" else "")
        if key not in self._values:
            self._values[key] = self._list(name, domain)
        return self._values[key]

    def _list(self, name: str, domain: str) -> dict[str, list[Any]]:
        own = self._lists.names[domain] if name == "name" else (self._lists.places | self._lists.free).get(name)
        chunk = self._hassil.TextChunk
        if own is not None:
            return {value: [chunk(value)] for value in own}
        held = self._intents.slot_lists[name]
        if isinstance(held, self._hassil.RangeSlotList):
            kind = name if name in self._lists.numbers else held.type.value
            numbers = [n for n in self._lists.numbers[kind] if held.start <= n <= held.stop]
            factor = int(held.multiplier or 1)
            return {str(n * factor): [chunk(str(n))] for n in numbers}
        if not isinstance(held, self._hassil.TextSlotList):
            raise LookupError(name)
        said: dict[str, list[Any]] = {}
        for value in held.values:
            said.setdefault(str(value.value_out), []).append(value.text_in)
        return said


def _choose(node: Any, draw: random.Random) -> Any:
    """One alternative; of an optional part, whose last alternative is nothing, seldom the part."""
    if node.is_optional and draw.random() >= _OPTIONAL:
        return node.items[-1]
    return draw.choice(node.items[:-1] if node.is_optional else node.items)


def _assemble(pieces: list[tuple[str, tuple[str, str, str] | None]]) -> tuple[str, tuple[Filling, ...]]:
    """Text with white space folded, and where its slots stand."""
    text, slots = "", []
    for piece, slot in pieces:
        folded = re.sub(r"\s+", " ", piece).lower()
        folded = folded.lstrip() if not text or text.endswith(" ") else folded
        start, text = len(text), text + folded
        if slot:
            slots.append(Filling(slot[0], slot[1], start, len(text), slot[2]))
    return text.rstrip(), tuple(slots)


def _domains(intent: str, block: Any) -> list[str]:
    """Domains that a block's sentences are about."""
    if "Timer" in intent:
        return ["timer"]
    held = block.slots.get("domain") or block.requires_context.get("domain")
    if held:
        return [held] if isinstance(held, str) else list(held)
    return [domain for prefix, domain in _DOMAINS if intent.startswith(prefix)][:1]


def _packages() -> tuple[Any, Any]:
    try:
        import hassil
        import home_assistant_intents
    except ImportError as error:
        raise SimulatorError(f"simulate: {error.name} is missing; pip install 'afterword[simulate]'") from None
    return hassil, home_assistant_intents
