"""Inputs that broke other writers of training data, by what is right for each."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from golden_views import answer, example, rejection, slot, table, wrong

from pipeline import storage
from pipeline.errors import GateError
from pipeline.transforms.shards import ShardPlan, WriteShard, by_plan, examples_by_kind, plan
from pipeline.writers.views import VIEWS, rows_by_split, unwritten


def write(folder: Path, *shards: pa.Table) -> None:
    """Shards of one release."""
    transform = WriteShard(str(folder), ShardPlan({"train": len(shards), "test": 0}))
    for number, held in enumerate(shards):
        transform.work((number, held))


def test_1_what_stood_for_a_lone_surrogate_is_written_as_it_is():
    held = table(example("e", utterance="to \ufffd rome", slots=[slot("to", "\ufffd rome", 3, 9)]))
    for view in ("nlu", "sft", "rl", "verl"):
        assert "\ufffd" in json.dumps(VIEWS[view](held).to_pylist(), ensure_ascii=False)
        storage.encode(VIEWS[view](held))
    assert VIEWS["nlu"](held)["ner_tags"].to_pylist() == [["O", "B-to", "I-to"]]


def test_2_arguments_whose_names_differ_from_row_to_row_are_text():
    calls = [[slot("city", "rome")], [slot("day", "1"), slot("day", "2")], []]
    held = table(*(answer(f"e{k}", "do", None, domain="tool", intent="t", slots=s) for k, s in enumerate(calls)))
    made = VIEWS["sft"](held)
    found = [m[-1]["tool_calls"][0]["function"]["arguments"] for m in made["messages"].to_pylist()]
    assert found == ['{"city":"rome"}', '{"day":["1","2"]}', "{}"]


def test_3_a_shard_whose_columns_are_all_null_has_the_schema_of_the_others(tmp_path: Path):
    null = table(example("a", locale=None, domain=None, solve_rate=None), rejection("b", wrong(None, "i")))
    full = table(
        example("c", solve_rate=0.5, slots=[slot("to", "rome", 3, 7)]), rejection("d", wrong("d", "i", slot("a", "1")))
    )
    write(tmp_path, null, full)
    for view in (tmp_path / name for name in ("nlu", "kto", "rl", "verl", "review", "lineage")):
        assert len({str(pq.read_schema(p)) for p in (view / "data").iterdir()}) == 1
        assert pq.read_table(view / "data").num_rows == sum(
            pq.read_metadata(p).num_rows for p in (view / "data").iterdir()
        )


def test_4_what_an_example_does_not_have_is_null():
    bare = example("e", locale=None, domain=None, slots=None)
    (made,) = VIEWS["rl"](table(bare)).to_pylist()
    assert (made["locale"], made["domain"], made["solve_rate"]) == (None, None, None)
    assert made["answer"] == '{"domain":null,"intent":"go","slots":[]}'
    (done,) = VIEWS["review"](table(rejection("e", {"response": "no"}))).to_pylist()
    assert (done["domain"], done["intent"], done["slots"], done["response"]) == (None, None, "[]", "no")


def test_30_shards_follow_from_the_rows_of_a_view_and_none_is_empty(tmp_path: Path):
    # 3 rejections among 3,000 examples, and as many bytes as 60 shards would take.
    rows = [example(f"{k:032x}") for k in range(3000)] + [rejection(f"r{k}", None) for k in range(3)]
    held = table(*rows)
    counts = examples_by_kind(held)
    base = plan({"train": held.num_rows, "test": 0}, {"train": counts["bytes.train"]}, counts["bytes.train"] // 60)
    plans = {view: own for views, own in by_plan(base, rows_by_split(counts)).items() for view in views}
    assert base.shards["train"] >= 60 and plans["nlu"] == base and plans["review"].shards["train"] == 1
    place = base(held)
    for number in range(base.shards["train"]):
        part = held.filter(pa.array(place == number))
        files = [
            f for t in WriteShard(str(tmp_path), base, ("nlu", "lineage")).work((number, part)) for f in t.to_pylist()
        ]
        assert [bool(f["rows"]) for f in files] == [True, True]


def test_31_row_groups_are_sized_by_bytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(storage, "ROW_GROUP_BYTES", 50_000)
    made = VIEWS["sft"](table(*(answer(f"{k:05d}", "hi", "x" * 1000) for k in range(300))))
    file = pq.ParquetFile(io.BytesIO(storage.encode(made)))
    sizes = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
    assert len(sizes) > 5 and len(set(sizes[:-1])) == 1 and 30 < sizes[0] < 50
    small = pq.ParquetFile(io.BytesIO(storage.encode(VIEWS["nlu"](table(*(example(f"{k:05d}") for k in range(100)))))))
    assert small.metadata.num_row_groups == 1


@pytest.mark.parametrize("response", [None, "", " \n\t\u2003"])
def test_35_a_completion_without_a_token_is_refused(response: str | None, tmp_path: Path):
    with pytest.raises(GateError, match="sft: example e: message 2 of role assistant holds nothing"):
        write(tmp_path, table(answer("e", "hi", response)))
    assert not list(tmp_path.rglob("sft/*"))


def test_36_a_tool_call_without_arguments_has_an_empty_object():
    held = table(
        answer("a", "do", None, domain="tool", intent="t", slots=None),
        example("b", domain="tool", intent="t", slots=[], rejected={"domain": "tool", "intent": "u"}),
    )
    sft, other = VIEWS["sft"](held).to_pylist(), VIEWS["preference"](held).to_pylist()
    calls = [
        m["tool_calls"][0]["function"]
        for m in (sft[0]["messages"][-1], sft[1]["messages"][-1], other[0]["rejected"][0])
    ]
    assert [c["arguments"] for c in calls] == ["{}", "{}", "{}"]


def test_kto_of_one_label_is_not_written():
    assert unwritten(examples_by_kind(table(example("a"), answer("b", "hi", "hello")))) == {("train", "kto"): 2}
    assert unwritten(examples_by_kind(table(example("a"), rejection("b", wrong("d", "i"))))) == {}
