"""The reward of the taskset, and its rows; neither needs verifiers."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipeline.export.package as packaged

PACKAGE = Path(packaged.__file__).parent / "taskset" / "nlu_repair"


def module(name: str) -> ModuleType:
    """A module of the package by its file, as verl loads it."""
    spec = importlib.util.spec_from_file_location(f"nlu_repair_{name}", PACKAGE / f"{name}.py")
    held = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(held)
    return held


REWARD, ROWS = module("reward"), module("rows")


def said(domain: Any = "d", intent: Any = "i", **slots: Any) -> str:
    return json.dumps(
        {"domain": domain, "intent": intent, "slots": [{"name": n, "value": v} for n, v in slots.items()]}
    )


@pytest.mark.parametrize(
    ("reply", "answer", "reward"),
    [
        (said(a="1", b="2"), said(a="1", b="2"), 1.0),
        (said(b="2", a="1"), said(a="1", b="2"), 1.0),
        (said(), said(), 1.0),
        (said(a="1"), said(a="1", b="2"), 0.5 + 0.5 * 2 / 3),
        (said(a="9"), said(a="1"), 0.5),
        (said(), said(a="1"), 0.5),
        (said(a="1"), said(), 0.5),
        (said(intent="j", a="1"), said(a="1"), 0.5),
        (said(domain=None, a="1"), said(a="1"), 0.5),
        # No slots where none are wanted tell nothing of a wrong intent.
        (said(intent="j"), said(), 0.0),
        (said(intent="j"), said(a="1"), 0.0),
        (said(a=None), said(a=None), 1.0),
    ],
)
def test_a_part_of_the_meaning_earns_a_part(reply: str, answer: str, reward: float):
    assert REWARD.score(reply, answer) == pytest.approx(reward)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "go to rome",
        "[]",
        "null",
        f"```json\n{said()}\n```",
        f"{said()} I think",
        f"{said()}{said()}",
        '{"domain":"d","intent":"i"}',
        '{"domain":"d","intent":"i","slots":[],"more":1}',
        '{"domain":"d","intent":"i","intent":"i","slots":[]}',
        '{"domain":"d","intent":["i"],"slots":[]}',
        '{"domain":"d","intent":"i","slots":{}}',
        '{"domain":"d","intent":"i","slots":[{"name":"a"}]}',
        '{"domain":"d","intent":"i","slots":[{"name":"a","value":1}]}',
        '{"domain":"d","intent":"i","slots":[{"name":"a","value":NaN}]}',
        "[" * 100_000,
    ],
)
def test_a_reply_of_another_form_earns_nothing(reply: str):
    assert REWARD.score(reply, said()) == 0.0 and REWARD.parse(reply) is None


def test_an_answer_that_is_none_is_an_error():
    with pytest.raises(ValueError, match="no interpretation"):
        REWARD.score(said(), "rome")


NAMES = st.sampled_from(["a", "b", None])
PAIRS = st.lists(st.tuples(NAMES, NAMES), max_size=4)
MEANT = st.builds(
    lambda d, i, pairs: json.dumps(
        {"domain": d, "intent": i, "slots": [{"name": n, "value": v} for n, v in pairs]}, separators=(",", ":")
    ),
    NAMES,
    NAMES,
    PAIRS,
)


@given(MEANT, MEANT)
def test_only_the_right_meaning_earns_all(reply: str, answer: str):
    reward = REWARD.score(reply, answer)
    assert 0.0 <= reward <= 1.0 and (reward == 1.0) == (REWARD.parse(reply) == REWARD.parse(answer))
    assert REWARD.compute_score("afterword/interpretation", reply, answer, extra_info={"index": 1}) == reward
    messages = [[{"role": "assistant", "content": reply}]]
    assert REWARD.grpo_reward([reply], answer=[answer]) == REWARD.grpo_reward(messages, answer=[answer]) == [reward]


def test_every_answer_of_a_release_earns_all_and_keys_are_unique(made_up: Path):
    held = list(ROWS.rows(made_up, "train"))
    assert len(held) == sum(pq.read_metadata(p).num_rows for p in (made_up / "rl" / "data").glob("train-*"))
    assert all(REWARD.score(row["answer"], row["answer"]) == 1.0 for row in held)
    assert len({row["key"] for row in held}) == len(held)


def test_rows_are_those_of_a_release_a_folder_a_file_or_json_lines(made_up: Path, tmp_path: Path):
    held = list(ROWS.rows(made_up, "test"))
    shard = next((made_up / "rl" / "data").glob("test-*"))
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n\n" for row in held))
    for path in (made_up / "rl" / "data", shard, tmp_path, tmp_path / "test.jsonl"):
        assert list(ROWS.rows(path, "test")) == held
    with pytest.raises(FileNotFoundError, match="give a release"):
        ROWS.files(tmp_path, "train")


def test_filters_leave_out_what_is_too_easy_or_not_sure():
    row = {"solve_rate": 0.5, "confidence": 0.8, "support": 3, "domain": "d"}
    plain = {
        "min_solve_rate": 0.0,
        "max_solve_rate": 1.0,
        "unknown_rate": True,
        "min_confidence": 0.0,
        "min_support": 1,
        "domains": [],
    }

    def passes(held: dict[str, Any] = row, **options: Any) -> bool:
        return ROWS.wanted(held, SimpleNamespace(**(plain | options)))

    unknown = row | {"solve_rate": None}
    assert (
        passes() and passes(max_solve_rate=0.5) and not passes(max_solve_rate=0.49) and not passes(min_solve_rate=0.51)
    )
    assert passes(unknown, max_solve_rate=0.1) and not passes(unknown, unknown_rate=False)
    assert passes(min_confidence=0.8, min_support=3) and not passes(min_confidence=0.81) and not passes(min_support=4)
    assert passes(domains=["d"]) and not passes(domains=["e"])


def test_labels_are_those_of_train_whatever_is_asked_for(made_up: Path, tmp_path: Path):
    told = ROWS.labels(made_up)
    answers = [json.loads(row["answer"]) for row in ROWS.rows(made_up, "train")]
    lines = told.splitlines()[1:]
    assert {line.split(" ")[0] for line in lines} == {f"{a['domain'] or ''}/{a['intent']}" for a in answers}
    assert lines == sorted(set(lines)) and ROWS.labels(made_up / "rl" / "data") == told
    (tmp_path / "test.jsonl").write_text(json.dumps({"answer": answers[0]}))
    for path in (tmp_path, tmp_path / "test.jsonl"):
        with pytest.raises(ValueError, match="those of train"):
            ROWS.labels(path)


def test_an_intent_has_the_slots_of_all_its_answers():
    told = ROWS.label_text([said("d", "i", b="1"), said("d", "i", a="2", b="3"), said("d", "a"), said(None, "j")])
    assert told.splitlines()[1:] == ["/j", "d/a", "d/i a, b"]
