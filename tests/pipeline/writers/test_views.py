"""What holds for every view."""

from __future__ import annotations

import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from golden_views import FOLDER, answer, example, examples, rejection, table, text, wrong

from pipeline import storage
from pipeline.transforms.shards import HeldBy, ShardPlan, WriteShard, by_plan, examples_by_kind
from pipeline.writers.views import VIEWS, unwritten, view_rows
from schemas import EXAMPLE, KINDS

# Trainers keep these column names for themselves.
RESERVED = {"__subset", "__split", "__index", "reasoning_effort"}


@pytest.mark.parametrize("view", list(VIEWS))
def test_the_rows_are_those_of_the_golden_file(view: str):
    assert text(view) == (FOLDER / f"{view}.json").read_text(encoding="utf-8"), "run `make golden` if it was meant"


def test_there_is_a_golden_file_for_every_view_and_no_other():
    assert sorted(p.stem for p in FOLDER.glob("*")) == sorted(VIEWS)


@pytest.mark.parametrize("view", list(VIEWS))
def test_a_view_is_well_declared(view: str):
    held = VIEWS[view]
    assert held.record.name == view and len(held.record.key) == 1
    assert not RESERVED & set(held.record.names) and set(held.kinds) <= set(KINDS)
    made = held(examples())
    assert made.schema.equals(held.record.schema)
    ids = examples()["example_id"].to_pylist()
    assert made[held.record.key[0]].to_pylist() == [
        i for i, one in zip(ids, held.holds(examples()), strict=True) if one
    ]
    kinds = dict(zip(ids, examples()["kind"].to_pylist(), strict=True))
    assert {kinds[i] for i in made[held.record.key[0]].to_pylist()} == set(held.kinds)
    assert held(EXAMPLE.empty()).schema.equals(held.record.schema)


def test_the_rows_of_each_view_follow_from_the_counts_of_the_examples():
    held = pa.concat_tables([examples(), table(example("test", split="test", domain="tool"), example("other"))])
    counts = examples_by_kind(held)
    rows = {name: view(held).num_rows for name, view in VIEWS.items()}
    # The only row of the test split in kto has one label.
    assert view_rows(counts) == rows | {"kto": rows["kto"] - 1} and unwritten(counts) == {("test", "kto"): 1}
    assert view_rows(examples_by_kind(EXAMPLE.empty())) == dict.fromkeys(VIEWS, 0)
    assert view_rows({"examples.train.correction": 3, "view_rows.test.nlu": 2, "bytes.train": 9})["nlu"] == 2


def test_a_split_of_one_label_is_not_written(tmp_path):
    held = table(
        example("a"), rejection("b", wrong("d", "i")), example("c", split="test"), answer("d", "x", "y", split="test")
    )
    counts = examples_by_kind(held)
    assert unwritten(counts) == {("test", "kto"): 2}
    assert view_rows(counts)["kto"] == 2
    shard = WriteShard(str(tmp_path), ShardPlan({"train": 0, "test": 1}), left_out=frozenset(unwritten(counts)))
    files = [f["path"] for t in shard.work((0, held.slice(2))) for f in t.to_pylist()]
    assert [p.split("/")[0] for p in files] == ["nlu", "sft", "rl", "verl", "lineage"]
    only = table(rejection("b", wrong("d", "i")))
    assert unwritten(examples_by_kind(only)) == {("train", "kto"): 1} and view_rows(examples_by_kind(only))["kto"] == 0


def test_counts_of_parts_add_up_to_those_of_the_whole():
    whole = examples_by_kind(examples())
    parts = [examples_by_kind(examples().slice(k, 1)) for k in range(examples().num_rows)]
    assert whole == {key: sum(p.get(key, 0) for p in parts) for key in whole}


def test_a_view_of_few_rows_has_fewer_shards_than_the_examples():
    rows = {(split, view): 1000 for view in VIEWS for split in ("train", "test")}
    rows |= {("train", "review"): 120, ("test", "review"): 3, ("train", "kto"): 0, ("test", "preference"): 0}
    plans = by_plan(ShardPlan({"train": 8, "test": 2}), rows)
    assert plans == {
        ("lineage", "nlu", "sft", "preference", "kto", "rl", "verl"): ShardPlan({"train": 8, "test": 2}),
        ("review",): ShardPlan({"train": 2, "test": 1}),
    }
    one = by_plan(ShardPlan({"train": 1, "test": 0}), {key: int(key[0] == "train") for key in rows})
    assert list(one.values()) == [ShardPlan({"train": 1, "test": 0})]
    held = table(rejection("a", None), rejection("b", None, split="test"), example("c"))
    kept = next(HeldBy(ShardPlan({"train": 2, "test": 0}), ("review",)).process(held))
    assert kept["example_id"].to_pylist() == ["a"]


@pytest.mark.parametrize("view", list(VIEWS))
def test_a_file_reads_back_the_same_and_says_nothing_of_its_maker(view: str):
    made = VIEWS[view](examples())
    file = pq.ParquetFile(io.BytesIO(storage.encode(made)))
    assert not (file.schema_arrow.metadata or {}) and not any(
        b"huggingface" in k or b"ARROW" in k for k in file.metadata.metadata or {}
    )
    assert storage.encode(made) == storage.encode(pa.concat_tables([made.slice(0, 1), made.slice(1)]))
    assert file.read().cast(VIEWS[view].record.schema).equals(made)
    frame = pd.read_parquet(io.BytesIO(storage.encode(made)))
    assert list(frame.columns) == list(VIEWS[view].record.names) and len(frame) == made.num_rows


def test_all_shards_of_a_view_have_one_schema_and_one_without_rows_is_not_written(tmp_path):
    labels = [example(f"{k:032x}") for k in range(2)]
    answers = [answer(f"{k:032x}", "hi", "hello") for k in range(2, 4)]
    shard = WriteShard(str(tmp_path), ShardPlan({"train": 3, "test": 0}))
    for number, rows in enumerate((labels, answers, labels + answers)):
        files = [f for t in shard.work((number, table(*rows))) for f in t.to_pylist()]
        views = [f["path"].split("/")[0] for f in files]
        assert views == (
            ["sft", "kto", "lineage"] if rows is answers else ["nlu", "sft", "kto", "rl", "verl", "lineage"]
        )
        assert all(f["rows"] for f in files)
    for view in ("nlu", "sft", "kto", "rl", "verl"):
        schemas = {str(pq.read_schema(p)) for p in (tmp_path / view / "data").iterdir()}
        assert len(schemas) == 1, view


def test_what_a_view_cannot_hold_stops_the_shard(tmp_path):
    shard = WriteShard(str(tmp_path), ShardPlan({"train": 1, "test": 0}))
    with pytest.raises(Exception, match="example bad: message 2 of role assistant holds nothing"):
        shard.work((0, table(answer("bad", "hi", None))))
    assert not (tmp_path / "sft").exists()


def test_the_texts_are_as_logged_not_escaped():
    held = json.dumps([VIEWS[v](examples()).to_pylist() for v in VIEWS], ensure_ascii=False)
    assert "caf\u00e9 \U0001f600" in held and "\\\\u" not in held
