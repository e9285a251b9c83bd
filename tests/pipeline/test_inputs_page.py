"""The examples of docs/inputs.md are what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.curation.training_files import read_training_set
from pipeline.filters.opt_out import read_opt_outs
from pipeline.filters.rules import LISTS, read_filters, read_incidents
from pipeline.ontology.labels import Fate
from pipeline.ontology.parse import read_ontology

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "inputs"


def test_the_ontology():
    ontology, _ = read_ontology(str(EXAMPLES / "ontology.toml"))
    assert ontology.label("lamp", "SwitchOn") == (Fate.ALLOWED, "light", "HassTurnOn")
    assert ontology.label("smalltalk", "SetTimer") == (Fate.ALLOWED, "timer", "HassStartTimer")
    assert ontology.slot("light", "HassTurnOff", "room") == (Fate.ALLOWED, "area")
    assert ontology.label("lamp", "Switch")[0] == Fate.SPLIT
    assert ontology.label("fax", "Send")[0] == ontology.slot("light", "HassTurnOn", "scene")[0] == Fate.RETIRED


def test_incidents_and_filters():
    incidents, _ = read_incidents(str(EXAMPLES / "incidents.toml"))
    assert [(rule.name, sorted(rule.lists)) for rule in incidents] == [
        ("gateway-outage", ["regions"]),
        ("build-412", ["app_versions", "channels"]),
        ("canary", ["domains", "policies"]),
    ]
    filters, _ = read_filters(str(EXAMPLES / "filters.toml"))
    assert [rule.name for rule in filters] == ["probe", "test-device", "employee", "bot"]
    assert filters[3].turns_per_minute == 40


def test_opt_outs_and_the_training_set():
    assert read_opt_outs(str(EXAMPLES / "opt_out.txt"))[0].users.to_pylist() == ["user-00017", "user-00042"]
    training, _ = read_training_set(str(EXAMPLES / "training_set.jsonl"))
    assert training.rows["label"].to_pylist()[1]["slots"][0]["value"] == "egg"
    assert training.with_domain and training.with_slots


@pytest.mark.parametrize(
    "key", [*LISTS, "user_hashes", "user_prefixes", "user_pattern", "turns_per_minute", "to_domain"]
)
def test_every_key_is_on_the_page(key: str):
    assert f"`{key}`" in (ROOT / "docs" / "inputs.md").read_text(encoding="utf-8")
