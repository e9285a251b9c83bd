from __future__ import annotations

import json

from golden_views import answer, example, examples, slot, table

from pipeline.writers.chat import INSTRUCTION
from pipeline.writers.rl import rl
from pipeline.writers.views import VIEWS
from schemas import EXAMPLE, RL


def test_a_prompt_asks_for_the_interpretation_and_the_answer_is_it():
    row = rl(table(example("e", slots=[slot("to", "rome", 3, 7)], solve_rate=0.25, certified=True))).to_pylist()[0]
    assert row["key"] == "e"
    assert row["prompt"] == [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": "to rome"}]
    assert row["answer"] == '{"domain":"travel","intent":"go","slots":[{"name":"to","value":"rome"}]}'
    assert (row["domain"], row["intent"], row["solve_rate"], row["support"]) == ("travel", "go", 0.25, 2)
    info = json.loads(row["info"])
    assert (info["agreement"], info["blame"], info["certified"]) == (1.0, "none", True)
    assert info["provenance"]["turn_ids"] == ["e-turn"]


def test_the_reply_that_is_rewarded_is_the_one_that_sft_teaches():
    labels = table(example("a", slots=[slot("b", "2"), slot("a", "1")]), example("b", kind="confirmation"))
    taught = {r["id"]: r["messages"] for r in VIEWS["sft"](labels).to_pylist()}
    rewarded = VIEWS["rl"](labels).to_pylist()
    assert [row["key"] for row in rewarded] == ["a", "b"]
    for row in rewarded:
        *prompt, reply = taught[row["key"]]
        assert [{k: m[k] for k in ("role", "content")} for m in prompt] == row["prompt"]
        assert reply["content"] == row["answer"]


def test_answers_have_no_reward_that_can_be_checked():
    assert VIEWS["rl"](table(answer("a", "hi", "hello"), example("b")))["key"].to_pylist() == ["b"]


def test_a_tool_call_is_not_rewarded_as_json():
    fixed = [example(k, domain="tool", intent="search", kind=k) for k in ("correction", "confirmation")]
    rows = table(*fixed, example("read"), example("of no domain", domain=None))
    assert VIEWS["rl"](rows)["key"].to_pylist() == ["read", "of no domain"]
    assert all(m[-1]["tool_calls"] for m in VIEWS["sft"](table(*fixed))["messages"].to_pylist())


def test_a_difficulty_that_nobody_knows_is_null():
    assert rl(table(example("e")))["solve_rate"].to_pylist() == [None]


def test_keys_are_unique_and_the_schema_is_the_declared_one():
    made = VIEWS["rl"](examples())
    assert made.schema.equals(RL.schema) and len(set(made["key"].to_pylist())) == made.num_rows == 3
    assert rl(EXAMPLE.empty()).schema.equals(RL.schema)
