from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.transforms.shards import ShardPlan, plan, text_bytes
from schemas import EXAMPLE


@pytest.mark.parametrize(
    ("rows", "size", "shards"),
    [
        (0, 0, 0),
        (1, 10, 1),
        (49, 10**9, 1),
        (100, 10**9, 2),
        (1000, 1000, 1),
        (1000, 1001, 2),
        (1000, 5000, 5),
    ],
)
def test_shards_follow_from_size_and_none_stays_empty(rows: int, size: int, shards: int):
    assert plan({"train": rows, "test": 0}, {"train": size}, 1000).shards == {"train": shards, "test": 0}


def test_a_shard_is_named_by_its_split_and_number():
    shards = ShardPlan({"train": 2, "test": 1})
    assert [shards.name(k) for k in range(3)] == [
        "train-00000-of-00002.parquet",
        "train-00001-of-00002.parquet",
        "test-00000-of-00001.parquet",
    ]
    assert ShardPlan({"train": 0, "test": 1}).name(0) == "test-00000-of-00001.parquet"


@given(st.lists(st.sampled_from(["train", "test"]), min_size=1, max_size=50), st.integers(1, 4))
def test_every_example_lies_in_a_shard_of_its_split(splits: list[str], shards: int):
    planned = ShardPlan({s: shards if s in splits else 0 for s in ("train", "test")})
    table = pa.table({"example_id": [str(k) for k in range(len(splits))], "split": splits})
    for number, name in zip(planned(table).tolist(), splits, strict=True):
        assert planned.name(number).startswith(f"{name}-")


def test_the_shard_of_an_example_is_pinned():
    table = pa.table({"example_id": [f"{k:032x}" for k in range(6)], "split": ["train"] * 6})
    assert ShardPlan({"train": 4, "test": 0})(table).tolist() == [1, 1, 3, 1, 0, 3]


def example(text: str, turns: int) -> dict[str, object]:
    return {
        "example_id": text,
        "utterance": text,
        "intent": "i",
        "kind": "confirmation",
        "blame": "none",
        "confidence": 1.0,
        "support": turns,
        "agreement": 1.0,
        "certified": False,
        "split": "train",
        "weight": 1.0,
        "provenance": {"turn_ids": [str(k) for k in range(turns)], "supporting_turns": [], "policies": []},
    }


def test_size_follows_from_the_examples_not_from_how_they_lie():
    rows = [example("go" * k, k) for k in range(1, 20)]
    whole = pa.Table.from_pylist(rows, schema=EXAMPLE.schema)
    parts = [whole.slice(0, 3), whole.slice(3, 10), whole.slice(13)]
    assert text_bytes(whole) == sum(text_bytes(p) for p in parts) == sum(text_bytes(p.combine_chunks()) for p in parts)
    assert text_bytes(whole.slice(0, 0)) == 0
    assert text_bytes(pa.concat_tables([whole, whole])) == 2 * text_bytes(whole)
    assert np.isclose(text_bytes(whole) / whole.num_rows, 256, atol=100)


def test_the_texts_of_an_answer_count():
    plain = example("go", 1)
    before = {"turn_id": "t" * 10, "utterance": "u" * 100, "response": "r" * 1000, "tool": "x", "p_defect": 0.0}
    before["arguments"] = [{"name": "a", "value": "v" * 10_000}]
    rows = [plain, plain | {"response": "s" * 7}, plain | {"context": [before]}]
    sizes = [text_bytes(pa.Table.from_pylist([r], schema=EXAMPLE.schema)) for r in rows]
    assert [s - sizes[0] for s in sizes] == [0, 14, 2 * 11_110]
