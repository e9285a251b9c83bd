from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pytest
from golden_views import example, slot, table
from hypothesis import given
from hypothesis import strategies as st

from pipeline.writers.nlu import find, nlu
from schemas import EXAMPLE, NLU


def row(text: str, *slots: dict[str, Any]) -> dict[str, Any]:
    """The view's row of one example."""
    return nlu(table(example("e", utterance=text, slots=list(slots)))).to_pylist()[0]


def tags(text: str, *slots: dict[str, Any]) -> list[str]:
    return row(text, *slots)["ner_tags"]


def locate(text: str, given_slot: dict[str, Any]) -> dict[str, Any]:
    return json.loads(row(text, given_slot)["slots"])[0]


def reference(text: str, slots: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Slots with their spans, and tags, of one text: said once more, a token at a time."""
    located = []
    for s in slots:
        start, end, value = s["start"], s["end"], s["value"] or ""
        if start is None or end is None or not 0 <= start < end <= len(text):
            found = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) if value else None
            start, end = found.span() if found else (None, None)
        located.append(s | {"start": start, "end": end})
    marks, before = [], None
    for token in re.finditer(r"\S+", text):
        tagged = (k for k, s in enumerate(located) if s["name"] and s["start"] is not None)
        hit = next((k for k in tagged if located[k]["start"] < token.end() and located[k]["end"] > token.start()), None)
        marks.append("O" if hit is None else ("I-" if hit == before else "B-") + located[hit]["name"])
        before = hit
    return located, marks


def test_a_slot_of_several_tokens_begins_once():
    assert tags("fly to new york city now", slot("to", "new york city")) == ["O", "O", "B-to", "I-to", "I-to", "O"]


def test_a_logged_span_wins_over_the_first_place_of_the_value():
    assert tags("two for two", slot("n", "two", 8, 11)) == ["O", "O", "B-n"]
    assert tags("two for two", slot("n", "two")) == ["B-n", "O", "O"]


@pytest.mark.parametrize(("start", "end"), [(5, 3), (-1, 2), (0, 99), (3, 3), (None, 3)])
def test_a_span_outside_the_text_is_looked_for_anew(start: int | None, end: int | None):
    assert locate("go to rome", slot("to", "rome", start, end))["start"] == 6


def test_a_value_that_does_not_stand_in_the_text_has_no_span_and_no_tag():
    found = locate("go there", slot("to", "rome"))
    assert (found["start"], found["end"]) == (None, None)
    assert tags("go there", slot("to", "rome")) == ["O", "O"]
    assert locate("go there", slot("to", None))["start"] is None
    assert locate("go there", slot("to", ""))["start"] is None


def test_only_whole_words_count_and_letter_case_does_not():
    assert tags("romeo goes to Rome", slot("to", "rome")) == ["O", "O", "O", "B-to"]


def test_a_value_with_signs_of_patterns_is_text():
    assert tags("c++ (7.5)", slot("a", "c++"), slot("b", "(7.5)")) == ["B-a", "B-b"]


def test_of_overlapping_slots_the_first_has_the_token():
    assert tags("new york city", slot("a", "york city"), slot("b", "new york")) == ["B-b", "B-a", "I-a"]
    assert tags("new york city", slot("b", "new york"), slot("a", "york city")) == ["B-b", "I-b", "B-a"]


def test_a_slot_inside_a_token_tags_it():
    assert tags("7pm-9pm ok", slot("from", None, 0, 3), slot("to", None, 4, 7)) == ["B-from", "O"]


def test_two_slots_of_one_name_side_by_side_both_begin():
    assert tags("eggs milk", slot("item", "eggs"), slot("item", "milk")) == ["B-item", "B-item"]


def test_a_slot_without_a_name_has_no_tag():
    assert tags("to rome", slot(None, "rome")) == ["O", "O"]  # type: ignore[arg-type]


def test_offsets_are_code_points():
    text = "\U0001f600 nai\u0308ve caf\u00e9"
    found = locate(text, slot("x", "caf\u00e9"))
    assert text[found["start"] : found["end"]] == "caf\u00e9" and found["start"] == 9
    assert tags(text, slot("x", "\U0001f600"), slot("y", "nai\u0308ve")) == ["B-x", "B-y", "O"]


TEXTS = st.text(st.sampled_from("aAb_\u0308\U0001f600\u05d0\u017f \t\u2003\x1c."), max_size=12)
SPANS = st.none() | st.integers(-1, 12)
SLOTS = st.lists(
    st.builds(slot, st.none() | st.sampled_from(["x", "y", ""]), st.none() | TEXTS, SPANS, SPANS), max_size=3
)


@given(st.lists(st.tuples(TEXTS, SLOTS), max_size=4))
def test_spans_and_tags_are_those_of_the_reference(rows: list[tuple[str, list[dict[str, Any]]]]):
    held = table(*(example(str(k), utterance=text, slots=slots) for k, (text, slots) in enumerate(rows)))
    for made, (text, slots) in zip(nlu(held).to_pylist(), rows, strict=True):
        located, marks = reference(text, slots)
        assert json.loads(made["slots"]) == located
        assert made["tokens"] == text.split() and made["ner_tags"] == marks


@pytest.mark.parametrize(
    ("text", "value"), [("a\u0308bc", "bc"), ("_rome", "rome"), ("rome2", "rome"), ("\u00e9rome", "rome")]
)
def test_a_part_of_a_word_is_no_place(text: str, value: str):
    assert find(text, value) == (-1, -1) or text[find(text, value)[0] - 1] == "\u0308"
    assert find("x rome", "rome") == (2, 6)


def test_the_view_holds_each_example_in_its_fields():
    example = {
        "example_id": "e",
        "locale": "en",
        "utterance": "to rome",
        "domain": None,
        "intent": "go",
        "kind": "correction",
        "slots": [slot("to", "rome")],
        "blame": "asr",
        "confidence": 0.75,
        "support": 3,
        "agreement": 1.0,
        "certified": True,
        "split": "train",
        "weight": 0.75,
        "provenance": {
            "turn_ids": ["t"],
            "supporting_turns": [],
            "domains": ["(none)"],
            "defect_model_id": "d",
            "correction_model_id": "c",
            "policies": ["ü"],
            "licences": ["CC0-1.0"],
            "subjects": ["s"],
        },
    }
    table = nlu(pa.Table.from_pylist([example, example | {"example_id": "f", "slots": None}], schema=EXAMPLE.schema))
    assert table.schema.equals(NLU.schema)
    first, second = table.to_pylist()
    assert (first["id"], first["text"], first["tokens"], first["ner_tags"]) == (
        "e",
        "to rome",
        ["to", "rome"],
        ["O", "B-to"],
    )
    assert json.loads(first["slots"]) == [{"name": "to", "value": "rome", "start": 3, "end": 7}]
    # Who supports it stays in the lineage.
    shown = {k: v for k, v in example["provenance"].items() if k != "subjects"}
    assert json.loads(first["provenance"]) == shown and "ü" in first["provenance"]
    assert (second["slots"], second["ner_tags"]) == ("[]", ["O", "O"])
    assert nlu(EXAMPLE.empty()).num_rows == 0
