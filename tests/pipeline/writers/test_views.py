"""What holds for every view."""

from __future__ import annotations

import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from golden_views import FOLDER, answer, example, examples, table, text

from pipeline import storage
from pipeline.transforms.shards import ShardPlan, WriteShard, examples_by_kind
from pipeline.writers.views import VIEWS, view_rows
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
    rows = examples().select(["kind", "domain"]).to_pylist()
    assert made.num_rows == sum(r["kind"] in held.kinds and (held.tool_calls or r["domain"] != "tool") for r in rows)
    assert held(EXAMPLE.empty()).schema.equals(held.record.schema)


def test_the_rows_of_each_view_follow_from_the_counts_of_the_examples():
    held = pa.concat_tables([examples(), table(example("test", split="test", domain="tool"), example("other"))])
    assert view_rows(examples_by_kind(held)) == {name: view(held).num_rows for name, view in VIEWS.items()}
    assert view_rows(examples_by_kind(EXAMPLE.empty())) == dict.fromkeys(VIEWS, 0)
    assert view_rows({"tool_calls": 7, "examples.train.correction": 3, "bytes.train": 9}) == dict.fromkeys(VIEWS, 3)


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
        files = [f for t in shard.process((number, table(*rows))) for f in t.to_pylist()]
        views = [f["path"].split("/")[0] for f in files]
        assert views == (["sft", "lineage"] if rows is answers else ["nlu", "sft", "rl", "lineage"])
        assert all(f["rows"] for f in files)
    for view in ("nlu", "sft", "rl"):
        schemas = {str(pq.read_schema(p)) for p in (tmp_path / view / "data").iterdir()}
        assert len(schemas) == 1, view


def test_what_a_view_cannot_hold_stops_the_shard(tmp_path):
    shard = WriteShard(str(tmp_path), ShardPlan({"train": 1, "test": 0}))
    with pytest.raises(Exception, match="example bad: message 2 of role assistant holds nothing"):
        list(shard.process((0, table(answer("bad", "hi", None)))))
    assert not (tmp_path / "sft").exists()


def test_the_texts_are_as_logged_not_escaped():
    held = json.dumps([VIEWS[v](examples()).to_pylist() for v in VIEWS], ensure_ascii=False)
    assert "caf\u00e9 \U0001f600" in held and "\\\\u" not in held
