"""Ontology: which labels are allowed, and what became of those that are not any more."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from schemas import TOOL_DOMAIN

# Domain, intent and slot of what an entry speaks of; None = of any, or of all below it.
Key = tuple[str | None, str | None, str | None]
# Intents of a domain with their slots; None = any.
Intents = dict[str, frozenset[str] | None] | None


class Fate(IntEnum):
    """What the ontology says of a label."""

    ALLOWED = 0
    # Nothing to be known: it has no intent, or is a tool call and the ontology names no tools.
    FREE = 1
    UNKNOWN = 2
    SPLIT = 3
    RETIRED = 4


@dataclass(frozen=True)
class Ontology:
    """Labels of an NLU.

    Names are compared as they are, letter case and all; the empty domain is that of interpretations without one.
    Renamings are followed to their end: first the domain's, then the intent's in the domain's new name, then the
    slot's. Entries of a split or retired label speak of its name after that.

    Attributes
    ----------
    domains : dict
        Allowed domains with their intents.
    renamed : dict
        Old key to the new domain, intent or slot; of an intent (domain or None = the same, intent).
    split, retired : frozenset
        Keys.
    """

    domains: dict[str, Intents]
    renamed_domains: dict[str, str] = field(default_factory=dict)
    renamed_intents: dict[tuple[str | None, str], tuple[str | None, str]] = field(default_factory=dict)
    renamed_slots: dict[Key, str] = field(default_factory=dict)
    split: frozenset[Key] = frozenset()
    retired: frozenset[Key] = frozenset()

    @property
    def governs_tools(self) -> bool:
        """Whether tool calls are labels of it."""
        named = {*self.domains, *self.renamed_domains, *(key[0] for key in self.split | self.retired)}
        return TOOL_DOMAIN in named

    def domain(self, name: str) -> str:
        """The name that a domain has now.

        Raises
        ------
        ValueError
            If renamings go in a circle.
        """
        seen = [name]
        while name in self.renamed_domains:
            name = self.renamed_domains[name]
            if name in seen:
                raise ValueError(f"renamings go in a circle: {' -> '.join([*seen, name])}")
            seen.append(name)
        return name

    def intent(self, domain: str, name: str) -> tuple[str, str]:
        """Domain and name that an intent has now.

        Raises
        ------
        ValueError
            If renamings go in a circle.
        """
        at = (self.domain(domain), name)
        seen = [at]
        while (found := self.renamed_intents.get(at) or self.renamed_intents.get((None, at[1]))) is not None:
            at = (self.domain(at[0] if found[0] is None else found[0]), found[1])
            if at in seen:
                raise ValueError(f"renamings go in a circle: {' -> '.join(shown(*p) for p in [*seen, at])}")
            seen.append(at)
        return at

    def label(self, domain: str, intent: str) -> tuple[Fate, str, str]:
        """What is said of a domain and an intent, and the names that they have now."""
        if not intent.strip() or (domain == TOOL_DOMAIN and not self.governs_tools):
            return Fate.FREE, domain, intent
        domain, intent = self.intent(domain, intent)
        keys = ((domain, None, None), (domain, intent, None), (None, intent, None))
        if (gone := self._gone(keys)) is not None:
            return gone, domain, intent
        if domain not in self.domains:
            return Fate.UNKNOWN, domain, intent
        intents = self.domains[domain]
        return Fate.ALLOWED if intents is None or intent in intents else Fate.UNKNOWN, domain, intent

    def slot(self, domain: str, intent: str, name: str) -> tuple[Fate, str]:
        """What is said of a slot of an allowed intent, by its name now, and the name that the slot has now.

        Raises
        ------
        ValueError
            If renamings go in a circle.
        """
        seen = [name]
        while (found := self._renamed_slot(domain, intent, name)) is not None:
            name = found
            if name in seen:
                raise ValueError(f"renamings go in a circle: {' -> '.join([*seen, name])}")
            seen.append(name)
        if (gone := self._gone(_slot_keys(domain, intent, name))) is not None:
            return gone, name
        slots = (self.domains[domain] or {}).get(intent)
        return Fate.ALLOWED if slots is None or name in slots else Fate.UNKNOWN, name

    def _renamed_slot(self, domain: str, intent: str, name: str) -> str | None:
        for key in _slot_keys(domain, intent, name):
            if key in self.renamed_slots:
                return self.renamed_slots[key]
        return None

    def _gone(self, keys: tuple[Key, ...]) -> Fate | None:
        if any(key in self.retired for key in keys):
            return Fate.RETIRED
        return Fate.SPLIT if any(key in self.split for key in keys) else None


def _slot_keys(domain: str, intent: str, name: str) -> tuple[Key, ...]:
    """Keys that speak of a slot, the closest first."""
    return (domain, intent, name), (domain, None, name), (None, intent, name), (None, None, name)


def shown(domain: str | None, intent: str | None = None, slot: str | None = None) -> str:
    """A label as messages name it."""
    text = "/".join(part for part in (domain, intent) if part)
    return text + (f"{' ' if text else ''}slot {slot}" if slot is not None else "")
