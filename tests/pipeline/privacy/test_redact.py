"""Turns redacted: every text of them, spans on their words, the same everywhere."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from build import turns
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_values import CARD, IBAN, IP, MAIL, PHONE, VALUES, letters, one, reading, redact, slot

from features.interpretation import flatten, hex_id
from pipeline.privacy import PrivacyOptions, Redactor
from pipeline.privacy.edits import Edits
from pipeline.privacy.finding import Finding
from schemas import GOLD, REDACTION, TURN

E = "<EMAIL_ADDRESS>"
REDACTOR = Redactor(PrivacyOptions())


def test_every_text_of_a_turn_is_redacted_alike():
    said = f"mail it to {MAIL} please"
    row = one(
        said,
        prompt=f"is {MAIL} right",
        response=f"sent to {MAIL.upper()}",
        asr=[{"text": said, "confidence": 0.9}, {"text": f"nail it to {MAIL}", "confidence": 0.4}],
        nbest=[
            reading(slot("to", MAIL, 11, 11 + len(MAIL)), slot("polite", "please", 29, 35)),
            reading(slot("address", MAIL), domain="tool", intent="send"),
        ],
        extra=json.dumps({"mail": MAIL, MAIL: 1, "list": [{"x": f"a {MAIL}"}], "n": 1.5}),
    )
    assert row["utterance"] == f"mail it to {E} please" == row["asr"][0]["text"]
    assert (row["prompt"], row["response"]) == (f"is {E} right", f"sent to {E}")
    assert row["asr"][1] == {"text": f"nail it to {E}", "confidence": 0.4}
    assert row["interpretations"][0]["slots"] == [slot("to", E, 11, 26), slot("polite", "please", 27, 33)]
    assert row["interpretations"][1]["slots"] == [slot("address", E)]
    # Keys stay.
    assert json.loads(row["extra"]) == {"mail": E, MAIL: 1, "list": [{"x": f"a {E}"}], "n": 1.5}


def test_what_is_a_value_in_one_text_of_a_turn_is_one_in_all_of_them():
    row = one(
        "my phone is 4155550132",
        response="415-555-0132, noted as 4155550132. Order 14155550132 is another",
        nbest=[reading(slot("digits", "4155550132"))],
        extra='{"seen": 4155550132, "other": 4155550133}',
    )
    p = "<PHONE_NUMBER>"
    assert row["utterance"] == f"my phone is {p}"
    assert row["response"] == f"{p}, noted as {p}. Order 14155550132 is another"
    assert row["interpretations"][0]["slots"][0]["value"] == p
    assert json.loads(row["extra"]) == {"seen": p, "other": 4155550133}


@pytest.mark.parametrize(
    ("start", "end", "moved"),
    [
        (0, 2, "to"),  # before
        (3, 20, E),  # the value itself
        (3, 6, E),  # ends inside
        (7, 20, E),  # starts inside
        (5, 9, E),  # inside
        (0, 6, f"to {E}"),
        (7, 24, f"{E} now"),
        (21, 24, "now"),
    ],
)
def test_spans_cover_the_mark_where_they_held_a_part_of_the_value(start: int, end: int, moved: str):
    text = f"to {MAIL} now"
    row = one(text, nbest=[reading(slot("s", text[start:end], start, end))])
    held = row["interpretations"][0]["slots"][0]
    assert row["utterance"] == f"to {E} now"
    assert (held["value"], row["utterance"][held["start"] : held["end"]]) == (moved, moved)


def test_a_normalised_value_of_what_is_gone_goes_too():
    row = one(f"to {MAIL} now", nbest=[reading(slot("who", "bob k", 3, 20), slot("when", "NOW", 21, 24))])
    assert [s["value"] for s in row["interpretations"][0]["slots"]] == [E, "NOW"]


def test_positions_are_code_points():
    text = f"👍🏽 é {MAIL} 🎉"
    row = one(text, nbest=[reading(slot("party", "🎉", len(text) - 1, len(text)))])
    held = row["interpretations"][0]["slots"][0]
    assert row["utterance"][held["start"] : held["end"]] == "🎉" == held["value"]


def test_tool_arguments_that_are_json_stay_json():
    value = json.dumps({"to": f"\n{MAIL}", "n": 3, "phone": 4155550132})
    row = one("send it", nbest=[reading(slot("args", value), domain="tool")])
    held = json.loads(row["interpretations"][0]["slots"][0]["value"])
    assert held == {"to": f"\n{E}", "n": 3, "phone": "<PHONE_NUMBER>"}


def test_an_escaped_letter_of_a_json_text_hides_nothing():
    for at in ("\\u0040", "\\uff20", "\\uFF20"):
        row = one("hi", extra=f'{{"a": "bob{at}example.org"}}')
        assert json.loads(row["extra"]) == {"a": E}


def test_extra_that_is_no_json_and_missing_texts_are_taken_as_they_are():
    rows = redact({"utterance": "hi", "extra": f"x {MAIL}"}, {"utterance": "hi", "asr": None}, {}).turns.to_pylist()
    assert [r["extra"] for r in rows] == [f"x {E}", None, None]
    assert rows[1]["asr"] is None


def test_what_holds_nothing_is_the_very_table_that_came():
    table = turns({"utterance": "play jazz at 5"}, {"utterance": "61C", "extra": '{"b": 1,  "a": 2}'})
    held = Redactor(PrivacyOptions()).redact(table, GOLD.empty(), [])
    assert held.turns is table and held.counts == {} and held.sample.num_rows == 0


def test_a_value_in_the_form_of_a_mark_is_redacted_and_not_counted_as_a_mark():
    held = redact(
        {"utterance": f"[CC {CARD}] {{full_name}}", "extra": json.dumps({"a": f"<TEL {PHONE}>", "b": "[NAME]"})},
        {"utterance": f"it is {IBAN}", "response": "<ACCOUNT DE89-3704-0044-0532-0130-00> and [NAME]"},
        {"utterance": "[NAME]"},
    )
    first, second, _ = held.turns.to_pylist()
    assert first["utterance"] == "[CC <CREDIT_CARD>] {full_name}"
    assert json.loads(first["extra"]) == {"a": "<TEL <PHONE_NUMBER>>", "b": "[NAME]"}
    assert second["response"] == "<ACCOUNT <IBAN_CODE>> and [NAME]"
    assert held.counts["platform_marks"] == 4


def test_a_value_of_a_turn_is_gone_from_what_has_a_marks_form():
    row = one(f"call {PHONE}", response="[NUMBER 4155550132] [N_4155550132] [NAME]")
    assert row["response"] == "[NUMBER <PHONE_NUMBER>] [N_<PHONE_NUMBER>] [NAME]"


def test_off_is_off():
    held = redact({"utterance": MAIL}, redact=False)
    assert held.turns["utterance"].to_pylist() == [MAIL] and held.counts == {}


def test_rows_keep_their_order_and_counts_say_what_was_done():
    held = redact(
        {"utterance": "a"},
        {"utterance": f"{MAIL} and x@example.org", "response": f"card {CARD}"},
        {"utterance": "{full_name} [NAME]", "response": "[NAME]"},
        {"utterance": MAIL},
        dead=letters(f"logs/{MAIL}/a: bad", "fine"),
    )
    assert held.turns["turn_id"].to_pylist() == ["t000", "t001", "t002", "t003"]
    assert held.counts == {
        "redacted.EMAIL_ADDRESS": 4,
        "redacted.CREDIT_CARD": 1,
        "redacted.turns": 2,
        "redacted.dead_letters": 1,
        "platform_marks": 3,
    }
    assert held.dead[0]["detail"].to_pylist() == [f"logs/{E}/a: bad", "fine"]
    assert held.dead[0]["record"].to_pylist() == ['{"a": "<text of 4>"}'] * 2


def test_the_sample_never_holds_a_value():
    text = f"it is {MAIL}, card {CARD}, {IP}, {PHONE}, {IBAN} and {{name}} " + "word " * 20
    held = redact({"utterance": text, "extra": json.dumps({"k": text})}, dead=letters(MAIL))
    assert held.sample.schema.equals(REDACTION.schema)
    rows = held.sample.to_pylist()
    told = json.dumps(rows)
    assert not [value for value in VALUES if value in told]
    assert {r["type"] for r in rows} == {"EMAIL_ADDRESS", "CREDIT_CARD", "IP_ADDRESS", "PHONE_NUMBER", "IBAN_CODE"}
    assert {r["column"] for r in rows} == {"utterance", "extra", "dead_letter.detail"}
    first = next(r for r in rows if (r["type"], r["column"]) == ("CREDIT_CARD", "utterance"))
    assert first["context"].startswith(f"it is {E}, card <CREDIT_CARD>, <IP_ADDRESS>")
    assert held.turns["utterance"][0].as_py()[first["position"] :].startswith(first["mark"])


def test_the_sample_is_drawn_alike_from_parts_and_from_the_whole():
    from pipeline.privacy.sample import lowest

    rows = [{"turn_id": f"t{k}", "utterance": f"{MAIL} {k}"} for k in range(40)]
    whole = redact(*rows, sample_rows=5).sample
    parts = [redact(*rows[a : a + 13], sample_rows=5).sample for a in range(0, 40, 13)]
    assert whole.num_rows == 5
    assert lowest([lowest(parts[:2], 5), *parts[2:]], 5).equals(whole)
    assert redact(*rows, sample_rows=0).sample.num_rows == 0


def test_labels_of_an_interpretation_follow_it():
    nbest = [reading(slot("to", MAIL)), reading(slot("to", "rome"))]
    table = turns({"utterance": "x", "nbest": nbest})
    ids = hex_id(flatten(table["interpretations"]).candidate_id)
    base = {"definition": "right_interpretation", "value": 1.0, "raters": 1, "source": "s"}
    gold = pa.Table.from_pylist([base | {"turn_id": "t000", "candidate_id": i} for i in [*ids, None]], GOLD.schema)
    held = redact({"utterance": "x", "nbest": nbest}, gold=gold)
    now = hex_id(flatten(held.turns["interpretations"]).candidate_id)
    assert now[0] != ids[0] and now[1] == ids[1]
    assert held.gold["candidate_id"].to_pylist() == [*now, None]


def test_positions_before_in_and_after_what_is_replaced():
    edits = Edits([Finding(2, 4, "AB", 1.0), Finding(4, 9, "C_D", 1.0)])
    assert edits.apply("xx12345678yy") == "xx<AB><C_D>8yy"[:11] + "8yy"
    assert [edits.start(p) for p in (0, 2, 3, 4, 8, 9, 10)] == [0, 2, 2, 6, 6, 11, 12]
    assert [edits.end(p) for p in (0, 2, 3, 4, 8, 9, 10)] == [0, 2, 6, 6, 11, 11, 12]


WORDS = st.sampled_from(
    [*VALUES, "call", "my", "order", "{name}", "[NAME]", "4155550132", "5", "é🎉", "x@", "<", "1.2.3.4"]
)
GLUE = st.sampled_from([" ", "", ", ", "-", ".", "\n", "@", "0"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    return "".join(draw(WORDS) + draw(GLUE) for _ in range(draw(st.integers(1, 7))))


@st.composite
def spoken(draw: st.DrawFn) -> dict:
    text = draw(texts())
    cuts = [sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text))))) for _ in range(3)]
    exact = [slot(draw(st.sampled_from(["s", "phone", "address"])), text[a:b], a, b) for a, b in cuts]
    other = slot("o", draw(texts()), *draw(st.sampled_from([(None, None), (0, 1), (-1, 99)])))
    extra = draw(st.one_of(st.none(), texts().map(lambda t: json.dumps({"k": t, "phone": t, "n": 4155550132}))))
    hypothesis = {"text": draw(st.one_of(st.just(text), texts())), "confidence": 0.5}
    return {
        "utterance": text,
        "response": draw(texts()),
        "nbest": [reading(*exact, other)],
        "extra": extra,
        "asr": [hypothesis],
    }


@settings(max_examples=60, deadline=None)
@given(spoken())
def test_spans_stay_on_their_words_and_a_second_time_changes_nothing(row: dict):
    once = REDACTOR.redact(turns(row), GOLD.empty(), []).turns
    got = once.to_pylist()[0]
    for held in got["interpretations"][0]["slots"][:3]:
        assert got["utterance"][held["start"] : held["end"]] == held["value"]
    if row["asr"][0]["text"] == row["utterance"]:
        assert got["asr"][0]["text"] == got["utterance"]
    again = REDACTOR.redact(once, GOLD.empty(), [])
    assert again.turns.equals(once)
    assert not [k for k in again.counts if k.startswith("redacted")]
    assert once.schema.equals(TURN.schema)


@settings(max_examples=25, deadline=None)
@given(texts())
def test_no_mark_of_a_platform_is_lost(text: str):
    out = redact({"utterance": text}).turns["utterance"][0].as_py()
    assert out.count("{name}") == text.count("{name}") and out.count("[NAME]") == text.count("[NAME]")
