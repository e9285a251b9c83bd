from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
from build import interpretation, turns
from hypothesis import given
from hypothesis import strategies as st

from features.interpretation import flatten, hex_id
from features.text import flat
from pipeline.ontology.govern import Governed, govern, with_names_now
from pipeline.ontology.labels import Fate, Ontology
from pipeline.ontology.named import named, usable
from pipeline.ontology.parse import parse
from schemas import DEAD_LETTER, GOLD, TURN

TOOL = "tool"
ONTOLOGY = parse(
    {
        "domains": {"d": {"intents": {"go": ["city"], "stop": []}}},
        "renamed": [
            {"domain": "old", "to": "d"},
            {"intent": "navigate", "to": "go"},
            {"slot": "town", "to": "city"},
        ],
        "split": [{"intent": "move", "into": ["go", "stop"]}, {"slot": "place", "into": ["city", "street"]}],
        "retired": [{"intent": "fly"}, {"slot": "gate"}],
    },
    "o",
)


def one(*nbest: dict[str, Any] | None, executed: int | None = 0, **fields: Any) -> Governed:
    return govern(turns({"nbest": list(nbest), "executed": executed} | fields), ONTOLOGY)


def labels(found: Governed) -> list[list[str]]:
    """Each turn's labels as domain/intent(slot,...)."""
    return [
        [f"{i['domain']}/{i['intent']}({','.join(s['name'] for s in i['slots'] or [])})" for i in nbest]
        for nbest in found.turns["interpretations"].to_pylist()
    ]


def test_allowed_labels_pass_as_they_are():
    table = turns({"nbest": [interpretation("go", city="rome"), interpretation("stop")], "executed": 0}, {})
    found = govern(table, ONTOLOGY)
    assert found.turns.equals(table) and not found.dead.num_rows and found.counts == {}


def test_renamed_labels_have_their_new_names_in_all_of_the_list():
    found = one(
        interpretation("navigate", 0.9, "old", town="rome", city="oslo"), interpretation("navigate", 0.5, town="oslo")
    )
    assert labels(found) == [["d/go(city,city)", "d/go(city)"]]
    first = found.turns["interpretations"].to_pylist()[0][0]
    assert [s["value"] for s in first["slots"]] == ["rome", "oslo"] and first["score"] == 0.9
    assert found.counts == {"labels_renamed": 2} and found.turns.schema.equals(TURN.schema)


def test_an_unknown_executed_label_is_a_dead_letter_that_names_it_and_quotes_no_words():
    table = turns(
        {"nbest": [interpretation("go")], "executed": 0},
        {
            "nbest": [interpretation("sing", song="secret words"), interpretation("go")],
            "executed": 0,
            "utterance": "x y",
        },
        {"nbest": [interpretation("go", street="secret words")], "executed": 0},
        {"nbest": [interpretation("my secret words")], "executed": 0},
    )
    found = govern(table, ONTOLOGY)
    assert found.turns["turn_id"].to_pylist() == ["t000"]
    assert found.dead.schema.equals(DEAD_LETTER.schema)
    assert set(found.dead["reason"].to_pylist()) == {"unknown_label"}
    details = found.dead["detail"].to_pylist()
    assert "executed, d/sing;" in details[0] and "d/go slot street;" in details[1] and "<text of 17>;" in details[2]
    assert all(d.startswith("t.jsonl:0: interpretations: ") for d in details)
    assert "secret" not in json.dumps(found.dead.to_pylist()) and found.counts == {}
    assert {f for f in found.dead["field"].to_pylist()} == {"interpretations"}


def test_unknown_split_and_retired_labels_leave_the_rest_of_the_list_and_are_counted():
    found = one(
        interpretation("go"),
        interpretation("sing"),
        interpretation("stop"),
        interpretation("move"),
        interpretation("fly"),
        interpretation("go", place="x"),
    )
    assert labels(found) == [["d/go()", "d/stop()"]]
    assert found.counts == {"labels_dropped.unknown": 1, "labels_dropped.split": 2, "labels_dropped.retired": 1}


def test_an_executed_split_or_retired_label_stays_as_history():
    found = govern(
        turns(
            {"nbest": [interpretation("move"), interpretation("go")], "executed": 0},
            {"nbest": [interpretation("fly"), interpretation("move")], "executed": 0},
        ),
        ONTOLOGY,
    )
    assert labels(found) == [["d/move()", "d/go()"], ["d/fly()"]] and not found.dead.num_rows
    assert found.counts == {"labels_dropped.split": 1, "labels_history.split": 1, "labels_history.retired": 1}


def test_history_is_counted_where_nothing_else_changes():
    table = turns({"nbest": [interpretation("fly"), interpretation("go")], "executed": 0})
    found = govern(table, ONTOLOGY)
    assert found.turns.equals(table) and found.counts == {"labels_history.retired": 1}


def test_a_retired_slot_is_taken_out_of_its_label():
    found = one(interpretation("go", city="rome", gate="7"), interpretation("stop", gate="8"))
    assert labels(found) == [["d/go(city)", "d/stop()"]] and found.counts == {"labels_renamed": 2}


def test_a_list_that_was_not_acted_on_never_becomes_empty_as_an_answer_in_words_has_none():
    found = one(interpretation("sing"), interpretation("fly"), executed=None)
    assert labels(found) == [["d/sing()"]] and not found.dead.num_rows
    assert found.counts == {"labels_dropped.retired": 1, "labels_history.unknown": 1}
    assert labels(one(interpretation("sing"), interpretation("go"), executed=None)) == [["d/go()"]]


def test_what_is_no_label_and_tool_calls_that_are_not_governed_pass():
    calls = [interpretation("rm", domain=TOOL, path="x"), interpretation(" ", domain="x"), {"domain": None}]
    found = one(*calls)
    assert [i["intent"] for i in found.turns["interpretations"].to_pylist()[0]] == ["rm", " ", None]


def test_null_and_empty_lists_stay_apart():
    table = turns(
        {"interpretations": None},
        {"nbest": []},
        {"nbest": [interpretation("navigate") | {"slots": None}], "executed": 0},
    )
    found = govern(table, ONTOLOGY).turns["interpretations"].to_pylist()
    assert found[:2] == [None, []] and found[2][0]["intent"] == "go" and found[2][0]["slots"] is None
    assert govern(TURN.empty(), ONTOLOGY).turns.num_rows == 0


def test_usable_labels_are_those_with_the_names_of_now():
    given = [
        interpretation("go", city="x"),
        interpretation("navigate"),
        interpretation("go", town="x"),
        interpretation("go", gate="x"),
        interpretation("move"),
        interpretation("sing"),
    ]
    table = turns({"nbest": given})
    entries = flat(table["interpretations"]).flatten()
    assert usable(entries, ONTOLOGY).tolist() == [True, False, False, False, False, False]
    assert usable(entries, None).all()


def test_labels_of_people_follow_their_candidate_to_its_new_name():
    table = turns(
        {"nbest": [interpretation("go"), interpretation("navigate", town="rome")], "executed": 0},
        {"nbest": [interpretation("navigate")], "executed": 0},
    )
    before = hex_id(flatten(table["interpretations"]).candidate_id)
    found = govern(table, ONTOLOGY, pa.array(["t000", "elsewhere"]))
    now = hex_id(flatten(found.turns["interpretations"]).candidate_id)
    assert found.renamed.to_pylist() == [{"turn_id": "t000", "before": before[1], "now": now[1]}]
    row = {"definition": "right_interpretation", "value": 1.0, "source": "reviewer/a"}
    gold = pa.Table.from_pylist(
        [
            row | {"turn_id": "t000", "candidate_id": before[1]},
            row | {"turn_id": "t000", "candidate_id": before[0]},
            row | {"turn_id": "t001", "candidate_id": before[1]},
            {"turn_id": "t000", "definition": "breakdown", "value": 1.0, "source": "a", "candidate_id": None},
        ],
        schema=GOLD.schema,
    )
    mapped = with_names_now(gold, found.renamed)
    assert mapped["candidate_id"].to_pylist() == [now[1], before[0], before[1], None]
    assert mapped.schema.equals(gold.schema)


NAMES = st.sampled_from(["go", "stop", "navigate", "sing", "move", "fly", "", "\x1f"])
SLOTS = st.lists(st.sampled_from(["city", "town", "gate", "place", "street", ""]), max_size=3)


@given(
    st.lists(
        st.tuples(
            st.none() | st.lists(st.tuples(st.sampled_from(["d", "old", None, "tool", "x"]), NAMES, SLOTS), max_size=4),
            st.booleans(),
        ),
        max_size=6,
    )
)
def test_nothing_is_lost_and_what_stays_is_allowed_or_history(given):
    rows = []
    for nbest, acted in given:
        held = None
        if nbest is not None:
            held = [
                {"domain": d, "intent": i, "slots": [{"name": n, "value": "v"} for n in slots], "score": None}
                for d, i, slots in nbest
            ]
        rows.append({"interpretations": held, "executed": 0 if acted and nbest else None})
    table = turns(*rows) if rows else TURN.empty()
    found = govern(table, ONTOLOGY)
    assert found.turns.num_rows + found.dead.num_rows == table.num_rows
    again = govern(found.turns, ONTOLOGY)
    assert again.turns.equals(found.turns) and not again.dead.num_rows
    for nbest, executed in zip(*(found.turns[n].to_pylist() for n in ("interpretations", "executed")), strict=True):
        for at, entry in enumerate(nbest or []):
            fate = by_hand(entry, ONTOLOGY)
            assert fate <= Fate.FREE or (at == 0 and (fate != Fate.UNKNOWN or executed is None))
    before = flat(found.turns["interpretations"]).flatten()
    if len(before):
        fates = named(before, ONTOLOGY).fate
        assert fates.tolist() == [by_hand(e, ONTOLOGY) for e in before.to_pylist()] and fates.dtype == np.int8


def by_hand(entry: dict[str, Any], ontology: Ontology) -> Fate:
    fate, domain, intent = ontology.label(entry["domain"] or "", entry["intent"] or "")
    if fate != Fate.ALLOWED:
        return fate
    slots = [ontology.slot(domain, intent, s["name"] or "")[0] for s in entry["slots"] or []]
    return next((f for f in (Fate.UNKNOWN, Fate.SPLIT) if f in slots), Fate.ALLOWED)
