"""Views of right and wrong replies: preference, kto, review; and verl, which has the prompts of rl."""

from __future__ import annotations

import json
from typing import Any

import pytest
from golden_views import answer, context_turn, example, preference, rejection, slot, table, wrong
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import GateError
from pipeline.writers.chat import INSTRUCTION
from pipeline.writers.verl import ABILITY, DATA_SOURCE
from pipeline.writers.views import VIEWS, count_rows


def row(view: str, held: dict[str, Any]) -> dict[str, Any]:
    (made,) = VIEWS[view](table(held)).to_pylist()
    return made


def reply(messages: list[dict[str, Any]]) -> Any:
    """What the only message says, or calls."""
    (message,) = messages
    return message["content"] or message["tool_calls"][0]["function"]


def test_a_correction_is_preferred_to_what_was_executed():
    held = example(
        "e", slots=[slot("to", "rome", 3, 7)], rejected=wrong("travel", "stay", slot("b", "2"), slot("a", "1"))
    )
    made = row("preference", held)
    taught = row("sft", held)["messages"]
    assert made["prompt"] == taught[:-1] and made["chosen"] == taught[-1:]
    assert reply(made["rejected"]) == (
        '{"domain":"travel","intent":"stay","slots":[{"name":"a","value":"1"},{"name":"b","value":"2"}]}'
    )
    assert (made["margin"], made["kind"]) == (0.5, "correction")


TWO = [slot("a", "1", 0, 2), slot("b", "2")]


@pytest.mark.parametrize(
    "held",
    [
        example("e"),
        # The same slots in another order, with other spans, are the same reply.
        example("e", slots=TWO, rejected=wrong("travel", "go", slot("b", "2"), slot("a", "1"))),
        preference("e", "yes", wrong(response="yes")),
        preference("e", "yes", None),
        preference("e", None, wrong("tool", "play"), domain="tool", intent="play"),
        answer("e", "hi", "hello", rejected=wrong(response="no")),
        rejection("e", wrong("d", "i")),
    ],
)
def test_what_has_no_other_reply_is_no_preference(held: dict[str, Any]):
    assert VIEWS["preference"](table(held)).num_rows == 0
    assert not any(key.endswith("preference") for key in count_rows(table(held)))


def test_a_preference_stands_behind_its_context():
    before = [context_turn("hi", "hello")]
    made = row(
        "preference", preference("e", "the home team", wrong("tool", "scores", slot("day", "1")), context=before)
    )
    assert [m["content"] for m in made["prompt"]] == ["hi", "hello", "who won"] and made["margin"] == 0.8
    assert (reply(made["chosen"]), reply(made["rejected"])) == (
        "the home team",
        {"name": "scores", "arguments": '{"day":"1"}'},
    )


def test_a_reading_without_a_response_is_preferred_as_json():
    held = preference("e", None, wrong("d", "j"), domain="d", intent="i")
    made = row("preference", held)
    assert made["prompt"][0]["content"] == INSTRUCTION
    assert [json.loads(reply(made[side]))["intent"] for side in ("chosen", "rejected")] == ["i", "j"]


@pytest.mark.parametrize("nothing", [wrong(response=" "), wrong(), wrong("d"), wrong("tool", None), wrong("tool", "")])
def test_what_holds_nothing_is_no_reply_to_learn_from(nothing: dict[str, Any]):
    held = table(preference("a", "yes", nothing), rejection("b", nothing), example("c", rejected=wrong(response="hm")))
    assert VIEWS["preference"](held).num_rows == 0
    assert VIEWS["kto"](held)["id"].to_pylist() == ["c"] and VIEWS["review"](held)["id"].to_pylist() == ["b"]


def test_a_right_reply_of_nothing_is_refused_with_the_example():
    with pytest.raises(GateError, match="preference: example e7: message 1 of role assistant holds nothing"):
        VIEWS["preference"](table(preference("e7", " ", wrong(response="no"))))
    with pytest.raises(GateError, match="kto: example e7: message 1 of role assistant holds nothing"):
        VIEWS["kto"](table(answer("e7", "hi", None)))
    with pytest.raises(GateError, match="kto: example e7: message 1 holds a malformed tool call"):
        VIEWS["kto"](table(answer("e7", "hi", None, domain="tool")))


def test_kto_shows_what_is_right_as_true_and_what_was_rejected_as_false():
    held = table(
        example("a", rejected=wrong("travel", "stay")),
        example("b", kind="confirmation"),
        answer("c", "hi", "hello"),
        rejection("d", wrong("travel", "stay", slot("to", "rome", 3, 7), response="staying")),
        rejection("e", wrong(response="I like trains"), context=[context_turn("hi", "hello")]),
        rejection("f", wrong("tool", "buy")),
        rejection("g", None),
        preference("h", "yes", wrong(response="no")),
    )
    made = {r["id"]: r for r in VIEWS["kto"](held).to_pylist()}
    assert {k: r["label"] for k, r in made.items()} == dict.fromkeys("abc", True) | dict.fromkeys("def", False)
    assert json.loads(reply(made["a"]["completion"]))["intent"] == "go"
    assert json.loads(reply(made["d"]["completion"])) == {
        "domain": "travel",
        "intent": "stay",
        "slots": [{"name": "to", "value": "rome"}],
    }
    assert [m["role"] for m in made["d"]["prompt"]] == ["system", "user"]
    assert reply(made["e"]["completion"]) == "I like trains"
    assert [m["content"] for m in made["e"]["prompt"]] == ["hi", "hello", "to rome"]
    assert reply(made["f"]["completion"]) == {"name": "buy", "arguments": "{}"}
    assert [m["role"] for m in made["f"]["prompt"]] == ["user"]


def test_review_shows_what_was_done():
    made = row(
        "review", rejection("e", wrong("travel", "stay", slot("to", "rome", 3, 7), response="staying"), blame="asr")
    )
    assert (made["utterance"], made["domain"], made["intent"], made["response"], made["blame"]) == (
        "to rome",
        "travel",
        "stay",
        "staying",
        "asr",
    )
    assert json.loads(made["slots"]) == [slot("to", "rome", 3, 7)] and made["turn_ids"] == ["e-turn"]
    assert "subjects" not in json.loads(made["provenance"])


def test_verl_has_the_prompts_of_rl():
    held = table(example("a", solve_rate=0.25, split="test"), example("b", slots=[slot("to", "rome")]))
    for mine, other in zip(VIEWS["verl"](held).to_pylist(), VIEWS["rl"](held).to_pylist(), strict=True):
        assert mine["prompt"] == other["prompt"] and mine["id"] == other["key"] == mine["extra_info"]["id"]
        assert mine["reward_model"] == {"style": "rule", "ground_truth": other["answer"]}
        assert (mine["data_source"], mine["ability"]) == (DATA_SOURCE, ABILITY)
        shared = ("domain", "intent", "locale", "kind", "support", "confidence", "solve_rate")
        assert {k: mine["extra_info"][k] for k in shared} == {k: other[k] for k in shared}
    first = row("verl", example("a", solve_rate=0.25, split="test"))["extra_info"]
    # The number does not hang on the shard in which the example lies.
    assert first == VIEWS["verl"](held).to_pylist()[0]["extra_info"] and first["split"] == "test" and first["index"] > 0


TEXT = st.none() | st.text(st.sampled_from('ab"\\\n\u0308\U0001f600'), max_size=4)
NAMED = st.text(st.sampled_from("ab\u05d0"), min_size=1, max_size=2)
SLOTS = st.lists(st.builds(slot, TEXT, TEXT), max_size=3)
DONE = st.builds(lambda d, i, s: wrong(d, i, *s), st.none() | NAMED, NAMED, SLOTS)


@settings(max_examples=15)
@given(st.lists(st.tuples(st.none() | NAMED, NAMED, SLOTS, st.none() | DONE), max_size=4))
def test_a_view_of_several_examples_is_that_of_each(rows: list[Any]):
    held = table(
        *(
            example(f"e{k}", domain=domain, intent=intent, slots=slots, rejected=other)
            for k, (domain, intent, slots, other) in enumerate(rows)
        )
    )
    for name, view in VIEWS.items():
        each = [r for k in range(held.num_rows) for r in view(held.slice(k, 1)).to_pylist()]
        assert view(held).to_pylist() == each, name
    for made in VIEWS["preference"](held).to_pylist():
        assert made["chosen"] != made["rejected"]


@pytest.mark.parametrize(
    ("blame", "learned"), [("intent", 1), ("slots", 1), ("asr", 0), ("action", 0), ("unsupported", 0)]
)
def test_a_reading_that_may_have_been_right_is_no_lesson_for_the_nlu(blame: str, learned: int):
    misread = rejection("a", wrong("d", "i"), blame=blame)
    answer = rejection("b", wrong(response="no"), blame=blame, context=[])
    assert VIEWS["kto"](table(misread)).num_rows == learned
    assert VIEWS["kto"](table(answer)).num_rows == 1 == VIEWS["review"](table(misread)).num_rows
