"""The ontology's file: read, checked, and told by table and entry where it cannot be right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pipeline.errors import ConfigError
from pipeline.given import Given, entries, only, read_given, table_of, texts
from pipeline.ontology.labels import Fate, Intents, Key, Ontology, shown

OPTION: Final = "ontology.file"
# In place of a list of intents or slots.
ANY: Final = "*"
_TABLES: Final = ("domains", "renamed", "split", "retired")
_NAMES: Final = ("domain", "intent", "slot")


def read_ontology(path: str) -> tuple[Ontology, Given]:
    """The ontology of a file.

    Raises
    ------
    ConfigError
        If the file is not one, with the table and the entry.
    """
    given = read_given(path, OPTION)
    return parse(table_of(given), given.where), given


def parse(held: dict[str, Any], where: str) -> Ontology:
    """An ontology of what its file holds.

    Raises
    ------
    ConfigError
        If it contradicts itself or names what is not there.
    """
    only(held, _TABLES, where)
    domains = _domains(held.get("domains"), where)
    renamed = [(at, *_entry(entry, at, ("to", "to_domain"))) for at, entry in entries(held, "renamed", where)]
    ontology = _renamed(domains, renamed)
    split, retired = (_gone(ontology, held, key, where) for key in ("split", "retired"))
    whole = Ontology(
        ontology.domains, ontology.renamed_domains, ontology.renamed_intents, ontology.renamed_slots, split, retired
    )
    _ends(whole, renamed)
    return whole


def _domains(held: Any, where: str) -> dict[str, Intents]:
    if not isinstance(held, dict) or not held:
        raise ConfigError(f"{where}: no domains; a table [domains.NAME.intents] a domain is wanted, INTENT = [SLOTS]")
    return {name: _intents(domain, f"{where} domains.{name}") for name, domain in held.items()}


def _intents(held: Any, where: str) -> Intents:
    if not isinstance(held, dict) or "intents" not in held:
        raise ConfigError(f'{where}: intents is wanted, a table of them or "{ANY}", found {held!r:.80}')
    only(held, ("intents",), where)
    intents = held["intents"]
    if intents == ANY:
        return None
    if not isinstance(intents, dict):
        raise ConfigError(f'{where}.intents: a table INTENT = [SLOTS] or "{ANY}" is wanted, found {intents!r:.80}')
    return {name: _slots(slots, f"{where}.intents.{name}") for name, slots in intents.items()}


def _slots(held: Any, where: str) -> frozenset[str] | None:
    if held in (ANY, [ANY]):
        return None
    if not isinstance(held, list) or not all(isinstance(name, str) for name in held):
        raise ConfigError(f'{where}: a list of slots or "{ANY}" is wanted, found {held!r:.80}')
    return frozenset(held)


def _entry(entry: dict[str, Any], where: str, more: tuple[str, ...]) -> tuple[Key, dict[str, Any]]:
    """What an entry speaks of, as it is written, and the entry."""
    only(entry, (*_NAMES, *more, "why"), where)
    for name, value in entry.items():
        if name != "into" and not (isinstance(value, str) and (value.strip() or "domain" in name)):
            raise ConfigError(f"{where} {name}: a text is wanted, found {value!r:.80}")
    key = (entry.get("domain"), entry.get("intent"), entry.get("slot"))
    if key == (None, None, None):
        raise ConfigError(f"{where}: which label? domain, intent or slot is wanted")
    return key, entry


def _renamed(domains: dict[str, Intents], renamed: list[tuple[str, Key, dict[str, Any]]]) -> Ontology:
    """An ontology that knows the new names; domains first, as the other entries may name old ones."""
    ontology = Ontology(domains)
    of_domains = [(at, key, entry) for at, key, entry in renamed if key[1] is None and key[2] is None]
    of_intents = [(at, key, entry) for at, key, entry in renamed if key[1] is not None and key[2] is None]
    of_slots = [(at, key, entry) for at, key, entry in renamed if key[2] is not None]
    for at, key, entry in of_domains:
        only(entry, ("domain", "to", "why"), at)
        _put(ontology.renamed_domains, str(key[0]), _to(entry, at), at)
    for at, key, _ in of_domains:
        _resolved(ontology.domain, at, str(key[0]))
        if key[0] in domains:
            raise ConfigError(f"{at}: {key[0]} is among the domains; take it out there, or this entry away")
    for at, key, entry in of_intents:
        intent = str(key[1])
        domain = None if key[0] is None else ontology.domain(key[0])
        target = ontology.domain(entry["to_domain"]) if "to_domain" in entry else None
        _put(ontology.renamed_intents, (domain, intent), (target, _to(entry, at)), at)
    for at, key, _ in of_intents:
        for domain in _domains_of(ontology, key):
            _resolved(ontology.intent, at, domain, str(key[1]))
            if str(key[1]) in (domains.get(ontology.domain(domain)) or {}):
                raise ConfigError(
                    f"{at}: {shown(domain, key[1])} is among the intents; take it out, or this entry away"
                )
    for at, key, entry in of_slots:
        only(entry, (*_NAMES, "to", "why"), at)
        now = _now(ontology, key, at)
        if _is_named(ontology, now):
            raise ConfigError(f"{at}: {shown(*key)} is among the slots; take it out there, or this entry away")
        _put(ontology.renamed_slots, now, _to(entry, at), at)
    return ontology


def _put(held: dict[Any, Any], key: Any, value: Any, where: str) -> None:
    if key in held:
        raise ConfigError(f"{where}: an earlier entry speaks of the same label; one is wanted")
    held[key] = value


def _to(entry: dict[str, Any], where: str) -> str:
    if "to" not in entry:
        raise ConfigError(f"{where}: to is wanted, the new name")
    return str(entry["to"])


def _resolved(resolve: Any, where: str, *names: str) -> Any:
    try:
        return resolve(*names)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None


def _domains_of(ontology: Ontology, key: Key) -> list[str]:
    """Domains that an entry speaks of."""
    return list(ontology.domains) if key[0] is None else [key[0]]


def _now(ontology: Ontology, key: Key, where: str) -> Key:
    """A key with the names of its domain and its intent now; that of the label itself is left."""
    domain, intent, slot = key
    if domain is None or (intent is not None and slot is None):
        return (None if domain is None else ontology.domain(domain)), intent, slot
    if intent is None:
        return ontology.domain(domain), None, slot
    domain, intent = _resolved(ontology.intent, where, domain, intent)
    return domain, intent, slot


def _gone(ontology: Ontology, held: dict[str, Any], table: str, where: str) -> frozenset[Key]:
    """Keys of split or retired labels."""
    out: dict[Key, bool] = {}
    for at, raw in entries(held, table, where):
        key, entry = _entry(raw, at, ("into",) if table == "split" else ())
        if table == "split" and len(texts(entry, "into", at) or ()) < 2:
            raise ConfigError(f"{at}: into is wanted, the two or more that it became")
        now = _now(ontology, key, at)
        if _is_renamed(ontology, now):
            raise ConfigError(f"{at}: {shown(*key)} is renamed too; one of the two is wanted")
        if _is_named(ontology, now):
            raise ConfigError(
                f"{at}: {shown(*key)} is among the allowed ones too. Its labels of before and of now look alike, so "
                "none could be used; give what it is now a new name, or take the entry away"
            )
        _put(out, now, True, at)
    return frozenset(out)


def _is_renamed(ontology: Ontology, key: Key) -> bool:
    """Whether a renaming speaks of exactly what a key does."""
    domain, intent, slot = key
    if slot is not None:
        return key in ontology.renamed_slots
    return domain in ontology.renamed_domains if intent is None else (domain, intent) in ontology.renamed_intents


def _is_named(ontology: Ontology, key: Key) -> bool:
    """Whether the domains list exactly what a key speaks of."""
    domain, intent, slot = key
    if intent is None and slot is None:
        return domain in ontology.domains
    listed = [ontology.domains.get(d) or {} for d in _domains_of(ontology, key)]
    if slot is None:
        return any(intent in intents for intents in listed)
    return any(slot in (intents[i] or ()) for intents in listed for i in intents if intent in (None, i))


def _ends(ontology: Ontology, renamed: list[tuple[str, Key, dict[str, Any]]]) -> None:
    """Every renaming leads to a label that there is, or to one that is said to be split or retired."""
    for at, key, entry in renamed:
        if not any(fate != Fate.UNKNOWN for fate in _fates(ontology, key, at)):
            raise ConfigError(f"{at}: {entry['to']} is not among the domains; add it there, or name another")


def _fates(ontology: Ontology, key: Key, where: str) -> Iterator[Fate]:
    """What becomes of the labels that a renaming speaks of."""
    domain, intent, slot = key
    if intent is None and slot is None:
        now = ontology.domain(str(domain))
        yield Fate.ALLOWED if now in ontology.domains or (now, None, None) in ontology.retired else Fate.UNKNOWN
        return
    if slot is None:
        for each in _domains_of(ontology, key):
            yield ontology.label(each, str(intent))[0]
        return
    for each in _domains_of(ontology, key):
        now = ontology.domain(each)
        intents = ontology.domains.get(now, {})
        names = [""] if intents is None else list(intents)
        wanted = None if intent is None else ontology.intent(each, intent)[1]
        for name in names:
            if intents is None or wanted in (None, name):
                yield _resolved(ontology.slot, where, now, name, slot)[0]
