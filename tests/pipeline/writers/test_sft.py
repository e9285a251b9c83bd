from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from golden_views import answer, context_turn, example, slot, table
from hypothesis import given
from hypothesis import strategies as st

from features.interpretation import flatten
from pipeline.errors import GateError
from pipeline.writers.chat import INSTRUCTION
from pipeline.writers.check import check
from pipeline.writers.sft import sft
from pipeline.writers.views import VIEWS
from schemas import EXAMPLE, SFT


def chat(row: dict[str, Any]) -> list[dict[str, Any]]:
    """An example's messages."""
    messages: list[dict[str, Any]] = sft(table(row))["messages"][0].as_py()
    return messages


def said(row: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(m["role"], m["content"]) for m in chat(row)]


def test_a_label_is_asked_for_and_given_as_compact_json():
    row = example("e", slots=[slot("to", "rome", 3, 7), slot("from", None)])
    assert said(row) == [
        ("system", INSTRUCTION),
        ("user", "to rome"),
        (
            "assistant",
            '{"domain":"travel","intent":"go","slots":[{"name":"from","value":null},{"name":"to","value":"rome"}]}',
        ),
    ]


def test_one_meaning_is_one_text():
    slots = [slot("b", "2"), slot("a", "1"), slot("b", None), slot(None, "1")]
    texts = [said(example("e", domain=None, intent="i", slots=s))[-1][1] for s in (slots, slots[::-1], [], None)]
    assert texts[0] == texts[1] and texts[2] == texts[3] == '{"domain":null,"intent":"i","slots":[]}'
    pairs = [(s["name"], s["value"]) for s in json.loads(texts[0])["slots"]]
    assert pairs == [(None, "1"), ("a", "1"), ("b", None), ("b", "2")]


def test_an_answer_stands_behind_the_turns_before_it():
    before = [context_turn("hi", "hello"), context_turn("weather", "sunny", "get_weather", slot("city", "rome"))]
    held = chat(answer("e", "thanks", "you are welcome", context=before))
    assert [(m["role"], m["content"]) for m in held] == [
        ("user", "hi"),
        ("assistant", "hello"),
        ("user", "weather"),
        ("assistant", None),
        ("tool", "sunny"),
        ("user", "thanks"),
        ("assistant", "you are welcome"),
    ]
    call = held[3]["tool_calls"][0]
    assert call["type"] == "function" and call["function"] == {"name": "get_weather", "arguments": '{"city":"rome"}'}
    assert held[4]["tool_call_id"] == call["id"] and call["id"].isalnum() and len(call["id"]) == 9


@pytest.mark.parametrize(
    ("slots", "arguments"),
    [
        ([], "{}"),
        ([slot("city", "caf\u00e9")], '{"city":"caf\u00e9"}'),
        ([slot("b", "2"), slot("a", None)], '{"a":null,"b":"2"}'),
        ([slot("item", "eggs"), slot("item", "milk")], '{"item":["eggs","milk"]}'),
    ],
)
def test_a_tool_call_says_nothing_and_its_arguments_are_an_object_as_text(slots: list[Any], arguments: str):
    row = answer("e", "do it", "done", domain="tool", intent="act", slots=slots)
    last = chat(row)[-1]
    assert (last["role"], last["content"]) == ("assistant", None)
    assert last["tool_calls"][0]["function"] == {"name": "act", "arguments": arguments}


def test_a_corrected_tool_call_is_learned_as_a_call():
    held = chat(example("e", domain="tool", intent="act"))
    assert [m["role"] for m in held] == ["user", "assistant"] and held[1]["tool_calls"][0]["function"]["name"] == "act"


USER = {"role": "user", "content": "hi", "tool_calls": None}
CALL = {"name": "act", "arguments": "{}"}


def message(role: str, content: str | None = None, *calls: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "tool_calls": [{"function": c} for c in calls] or None}


def lists(*chats: list[dict[str, Any]]) -> pa.Array:
    return pa.array(list(chats), SFT.schema.field("messages").type)


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "the last message is not the assistant's"),
        ([USER], "the last message is not the assistant's"),
        ([USER, message("assistant")], "message 2 of role assistant holds nothing"),
        ([USER, message("assistant", " \n")], "message 2 of role assistant holds nothing"),
        ([message("user", ""), message("assistant", "x")], "message 1 of role user holds nothing"),
        ([message("user", "x", CALL), message("assistant", "x")], "message 1 of role user calls a tool"),
        ([USER, message("assistant", None, CALL | {"arguments": "{"})], "message 2 holds a malformed tool call"),
        ([USER, message("assistant", None, CALL | {"arguments": "[]"})], "message 2 holds a malformed tool call"),
        ([USER, message("assistant", None, CALL | {"arguments": None})], "message 2 holds a malformed tool call"),
        ([USER, message("assistant", None, CALL | {"name": ""})], "message 2 holds a malformed tool call"),
        ([USER, message("assistant", None, CALL, CALL | {"name": None})], "message 2 holds a malformed tool call"),
    ],
)
def test_what_cannot_be_learned_is_refused_with_the_example(messages: list[Any], says: str):
    fine = [USER, message("assistant", "x")]
    with pytest.raises(GateError, match=f"sft: example e7: {says}"):
        check("sft", pa.array(["e6", "e7"]), lists(fine, messages))


@pytest.mark.parametrize("response", [None, "", " "])
def test_an_answer_of_nothing_is_refused(response: str | None):
    with pytest.raises(GateError, match="example e9: message 2 of role assistant holds nothing"):
        sft(table(answer("e8", "hi", "hello"), answer("e9", "hi", response)))


def test_messages_that_can_be_learned_pass():
    called = [USER, message("assistant", None, CALL), message("tool", "x"), message("assistant", "y")]
    check("sft", pa.array(["e", "f"]), lists([USER, message("assistant", "x")], called))
    check("kto", pa.array(["e"]), lists([USER]), ends="user")
    check("sft", pa.array([], pa.string()), lists())


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SLOTS = st.lists(st.builds(slot, st.none() | TEXT, st.none() | TEXT), max_size=4)


@given(st.none() | TEXT.filter(lambda d: d != "tool"), TEXT, SLOTS)
def test_the_reply_is_the_label(domain: str | None, intent: str, slots: list[dict[str, Any]]):
    held = json.loads(chat(example("e", domain=domain, intent=intent, slots=slots))[-1]["content"])
    assert (held["domain"], held["intent"]) == (domain, intent)
    # The same key as the label's own: nothing of the meaning is lost.
    found = [{**held, "slots": [s | {"start": None, "end": None} for s in held["slots"]], "score": None}]
    given_label = [{"domain": domain, "intent": intent, "slots": slots, "score": None}]
    keys = [flatten(_lists(label)).candidate_id.tolist() for label in (found, given_label)]
    assert keys[0] == keys[1]


def _lists(label: list[dict[str, Any]]) -> Any:
    from schemas import INTERPRETATION

    return pa.array([label], pa.list_(INTERPRETATION))


@given(st.dictionaries(TEXT.filter(bool), st.none() | TEXT, max_size=4))
def test_the_arguments_are_those_of_the_call(arguments: dict[str, str | None]):
    slots = [slot(k, v) for k, v in arguments.items()]
    last = chat(answer("e", "do it", None, domain="tool", intent="act", slots=slots))[-1]
    assert json.loads(last["tool_calls"][0]["function"]["arguments"]) == arguments


def test_rows_follow_the_examples_and_the_schema():
    made = sft(table(example("b"), example("a")))
    assert made.schema.equals(SFT.schema) and made["id"].to_pylist() == ["b", "a"]
    assert made["tools"].null_count == 2
    assert sft(EXAMPLE.empty()).schema.equals(SFT.schema)
    assert VIEWS["sft"](table(answer("a", "hi", "hello"), example("b")))["kind"].to_pylist() == ["answer", "correction"]
