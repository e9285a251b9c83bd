from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import ConfigError
from pipeline.ontology.labels import Fate, Ontology
from pipeline.ontology.parse import parse, read_ontology

DOMAINS: dict[str, Any] = {
    "travel": {"intents": {"go": ["city", "date"], "weather": ["city"], "chat": "*"}},
    "smalltalk": {"intents": "*"},
}


def ontology(**tables: Any) -> Ontology:
    return parse({"domains": DOMAINS} | tables, "ontology.file o.toml")


@pytest.mark.parametrize(
    ("domain", "intent", "fate"),
    [
        ("travel", "go", Fate.ALLOWED),
        ("travel", "Go", Fate.UNKNOWN),
        ("travel", "fly", Fate.UNKNOWN),
        ("cooking", "go", Fate.UNKNOWN),
        ("", "go", Fate.UNKNOWN),
        ("smalltalk", "anything", Fate.ALLOWED),
        ("cooking", " ", Fate.FREE),
        ("tool", "get_weather", Fate.FREE),
    ],
)
def test_what_is_allowed(domain: str, intent: str, fate: Fate):
    assert ontology().label(domain, intent) == (fate, domain, intent)


@pytest.mark.parametrize(
    ("intent", "slot", "fate"),
    [
        ("go", "city", Fate.ALLOWED),
        ("weather", "date", Fate.UNKNOWN),
        ("go", "", Fate.UNKNOWN),
        ("chat", "x", Fate.ALLOWED),
    ],
)
def test_slots_are_those_of_the_intent(intent: str, slot: str, fate: Fate):
    assert ontology().slot("travel", intent, slot) == (fate, slot)


def test_the_empty_domain_is_that_of_an_nlu_without_domains():
    held = parse({"domains": {"": {"intents": {"go": []}}}}, "o")
    assert held.label("", "go")[0] == Fate.ALLOWED and held.label("", "stop")[0] == Fate.UNKNOWN


def test_tools_are_governed_where_the_ontology_names_them():
    held = parse({"domains": {"tool": {"intents": {"get_weather": ["city"]}}}}, "o")
    assert held.label("tool", "get_weather")[0] == Fate.ALLOWED
    assert held.label("tool", "rm")[0] == Fate.UNKNOWN
    assert ontology(retired=[{"domain": "tool"}]).label("tool", "rm")[0] == Fate.RETIRED


def test_renamings_are_followed_to_their_end_whatever_names_the_entries_use():
    held = ontology(
        renamed=[
            {"domain": "trips", "to": "journeys"},
            {"domain": "journeys", "to": "travel"},
            {"domain": "trips", "intent": "navigate", "to": "route"},
            {"domain": "travel", "intent": "route", "to": "go"},
            {"intent": "forecast", "to": "weather"},
            {"domain": "trips", "intent": "navigate", "slot": "town", "to": "city"},
        ]
    )
    assert held.label("trips", "navigate") == (Fate.ALLOWED, "travel", "go")
    assert held.label("journeys", "route") == (Fate.ALLOWED, "travel", "go")
    assert held.label("travel", "forecast") == (Fate.ALLOWED, "travel", "weather")
    assert held.label("cooking", "forecast")[0] == Fate.UNKNOWN
    assert held.slot("travel", "go", "town") == (Fate.ALLOWED, "city")
    assert held.slot("travel", "weather", "town") == (Fate.UNKNOWN, "town")


def test_an_intent_moves_to_another_domain():
    held = ontology(renamed=[{"domain": "smalltalk", "intent": "trip", "to": "go", "to_domain": "travel"}])
    assert held.label("smalltalk", "trip") == (Fate.ALLOWED, "travel", "go")


def test_split_and_retired_labels_are_neither_allowed_nor_unknown():
    held = ontology(
        split=[{"domain": "travel", "intent": "move", "into": ["go", "weather"]}],
        retired=[{"domain": "fax"}, {"intent": "teleport"}, {"slot": "terminal"}],
    )
    assert held.label("travel", "move")[0] == Fate.SPLIT
    assert held.label("fax", "send")[0] == Fate.RETIRED
    assert held.label("smalltalk", "teleport")[0] == Fate.RETIRED
    assert held.slot("travel", "go", "terminal") == (Fate.RETIRED, "terminal")


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({"domains": {}}, "no domains"),
        ({"domains": {"travel": ["go"]}}, "domains.travel: intents is wanted"),
        ({"domains": {"travel": {"intents": ["go"]}}}, "domains.travel.intents: a table"),
        ({"domains": {"travel": {"intents": {"go": "city"}}}}, "domains.travel.intents.go: a list of slots"),
        ({"renames": []}, "unknown key 'renames'; there are: domains, renamed, split, retired"),
        ({"renamed": {"a": "b"}}, "renamed: a list of tables is wanted"),
        ({"renamed": [{"to": "go"}]}, r"\[\[renamed\]\] 1: which label"),
        ({"renamed": [{"domain": "a"}]}, r"\[\[renamed\]\] 1: to is wanted"),
        ({"renamed": [{"domain": "a", "to": "nowhere"}]}, "nowhere is not among the domains"),
        ({"renamed": [{"domain": "travel", "intent": "a", "to": "fly"}]}, "fly is not among the domains"),
        ({"renamed": [{"slot": "a", "to": "nothing"}], "domains": {"t": {"intents": {"go": ["x"]}}}}, "nothing is not"),
        ({"renamed": [{"domain": "travel", "to": "smalltalk"}]}, "travel is among the domains"),
        ({"renamed": [{"intent": "go", "to": "weather"}]}, "travel/go is among the intents"),
        ({"renamed": [{"slot": "city", "to": "date"}]}, "slot city is among the slots"),
        ({"renamed": [{"domain": "a", "to": "b"}, {"domain": "b", "to": "a"}]}, "in a circle: a -> b -> a"),
        ({"renamed": [{"intent": "a", "to": "b"}, {"intent": "b", "to": "a"}]}, "in a circle: travel/a -> travel/b"),
        ({"renamed": [{"domain": "a", "to": "travel"}] * 2}, r"\[\[renamed\]\] 2: an earlier entry"),
        ({"renamed": [{"domain": 3, "to": "travel"}]}, r"\[\[renamed\]\] 1 domain: a text is wanted, found 3"),
        ({"split": [{"intent": "move"}]}, r"\[\[split\]\] 1: into is wanted"),
        ({"split": [{"intent": "move", "into": ["go"]}]}, "into is wanted, the two or more"),
        ({"split": [{"intent": "go", "into": ["go", "run"]}]}, "go is among the allowed ones too"),
        ({"retired": [{"domain": "travel", "intent": "go", "slot": "date"}]}, "slot date is among the allowed ones"),
        (
            {"renamed": [{"domain": "fax", "to": "travel"}], "retired": [{"domain": "fax", "intent": "go"}]},
            "fax/go is among the allowed ones",
        ),
        ({"renamed": [{"intent": "a", "to": "go"}], "retired": [{"intent": "a"}]}, "a is renamed too"),
        ({"retired": [{"intent": "x", "reason": "old"}]}, "unknown key 'reason'"),
    ],
)
def test_an_ontology_that_cannot_be_right_says_which_entry(tables: dict[str, Any], says: str):
    with pytest.raises(ConfigError, match=says):
        ontology(**tables)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("o.toml", "[domains\n", "ontology.file o.toml: not TOML .*line 1"),
        ("o.json", '{"domains":\n {', "not JSON .*line 2"),
        ("o.json", '{"domains": {}, "domains": {}}', "the key 'domains' stands twice"),
        ("o.yaml", "domains: 1", "not JSON .*TOML ends in .toml"),
        ("o.json", "[]", "a table of keys is wanted, found a list"),
        ("o.toml", b"[domains.\xff]", "line 1 is not UTF-8"),
    ],
)
def test_a_file_that_is_none_says_where(tmp_path: Path, name: str, text: str | bytes, says: str):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=says):
        read_ontology(str(path))


def test_a_file_that_is_not_there_says_so(tmp_path: Path):
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(ConfigError, match=r"ontology.file = .*: cannot be read"):
            read_ontology(str(path))
