"""What trainers read a release with, on its files: datasets, pandas, polars, chat templates, and TRL's rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
import yaml

from pipeline.writers.views import VIEWS
from schemas import DEAD_LETTER, EXAMPLE, Record

RECORDS: dict[str, Record] = {name: view.record for name, view in VIEWS.items()} | {
    "lineage": EXAMPLE,
    "dead_letters": DEAD_LETTER,
}
# As chat templates of tool users are written.
TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>"
    "{% if m.tool_call_id %}[{{ m.tool_call_id }}]{% endif %}"
    "{% if m.content %}{{ m.content }}{% endif %}"
    "{% if m.tool_calls %}{% for c in m.tool_calls %}"
    "<call {{ c.id }} {{ c.function.name }} {{ c.function.arguments }}>{% endfor %}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def configs(release: Path) -> dict[str, dict[str, str]]:
    """View to split to pattern, by the card's front matter."""
    front = yaml.safe_load((release / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    return {c["config_name"]: {d["split"]: d["path"] for d in c["data_files"]} for c in front["configs"]}


def rows(release: Path, view: str, split: str = "train") -> list[dict[str, Any]]:
    """All rows, by pyarrow alone."""
    paths = sorted((release / view / "data").glob(f"{split}-*"))
    return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]


def every_view_loads(release: Path, cache: Path) -> None:
    """`datasets.load_dataset` of the folder, by config and split, as a whole and as a stream."""
    from datasets import load_dataset

    held = configs(release)
    assert set(held) == {p.parent.name for p in release.glob("*/data")}
    for view, splits in held.items():
        for split in splits:
            wanted = rows(release, view, split)
            loaded = load_dataset(str(release), view, split=split, cache_dir=str(cache))
            assert loaded.column_names == list(RECORDS[view].names)
            assert len(loaded) == len(wanted)
            streamed = list(load_dataset(str(release), view, split=split, streaming=True))
            key = RECORDS[view].key[0]
            assert [r[key] for r in streamed] == [r[key] for r in loaded] == [r[key] for r in wanted]
            if view in VIEWS:
                assert streamed == list(loaded) == wanted


def test_datasets_loads_every_view_and_split(made_up: Path, tmp_path: Path):
    assert set(configs(made_up)) == {*VIEWS, "lineage"}
    assert all(set(splits) == {"train", "test"} for splits in configs(made_up).values())
    every_view_loads(made_up, tmp_path)


@pytest.mark.long
def test_datasets_loads_a_release_of_a_whole_run(whole: Path, tmp_path: Path):
    assert {"nlu", "sft", "rl", "verl", "lineage", "dead_letters"} <= set(configs(whole))
    every_view_loads(whole, tmp_path)


def test_the_default_config_is_nlu(made_up: Path, tmp_path: Path):
    from datasets import load_dataset

    assert load_dataset(str(made_up), split="test", cache_dir=str(tmp_path)).column_names == list(RECORDS["nlu"].names)


def test_pandas_and_polars_read_every_shard(made_up: Path):
    paths = sorted(made_up.glob("*/data/*.parquet"))
    assert len(paths) > 2 * (len(VIEWS) + 1)
    for path in paths:
        record = RECORDS[path.parent.parent.name]
        names, key, n = list(record.names), record.key[0], pq.read_metadata(path).num_rows
        by_pandas, by_polars = pd.read_parquet(path), pl.read_parquet(path)
        assert list(by_pandas.columns) == by_polars.columns == names
        assert len(by_pandas) == by_polars.height == n > 0
        assert by_pandas[key].tolist() == by_polars[key].to_list()


def test_files_have_what_trainers_ask_of_them(made_up: Path):
    for path in made_up.glob("*/data/*.parquet"):
        held = pq.read_metadata(path)
        assert not held.metadata and {held.row_group(0).column(k).compression for k in range(held.num_columns)} == {
            "ZSTD"
        }
        assert held.row_group(0).column(0).has_offset_index and held.row_group(0).column(0).has_column_index
    for view in VIEWS:
        schemas = {str(pq.read_schema(p)) for p in (made_up / view / "data").iterdir()}
        assert len(schemas) == 1 and "null" not in {
            str(f.type) for f in pq.read_schema(next(made_up.glob(f"{view}/data/*")))
        }


def tokenizer() -> Any:
    """A tokenizer of no words, which has the template."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"?": 0}, unk_token="?")), unk_token="?")
    words.chat_template = TEMPLATE
    return words


def test_a_chat_template_renders_the_messages(made_up: Path):
    render = tokenizer().apply_chat_template
    texts = {row["id"]: render(row["messages"], tokenize=False) for row in rows(made_up, "sft")}
    assert all(text.rfind("<|assistant|>") > text.rfind("<|user|>") for text in texts.values())
    assert texts["tool after words train 0"].startswith(
        "<|user|>hello<|assistant|>hello, what can I do<|user|>buy eggs"
    )
    assert texts["tool after words train 0"].endswith('buy {"item":["eggs","milk"],"times":"2"}>')
    words = texts["in words train 0"]
    call = words.split("<call ")[1].split(" ")[0]
    assert f"<|tool|>[{call}]it is sunny in rome<|user|>" in words and words.endswith("<|assistant|>a light coat")
    for row in rows(made_up, "kto"):
        prompt = render(row["prompt"], tokenize=False, add_generation_prompt=True)
        assert render(row["prompt"] + row["completion"], tokenize=False).startswith(prompt)


def test_no_context_of_a_mask_by_role_holds_a_turn_that_is_not_to_be_learned(made_up: Path):
    """Every assistant message but the last is of a context, which has no defective turn."""
    contexts = {e["example_id"]: e["context"] or [] for e in rows(made_up, "lineage")}
    for row in rows(made_up, "sft"):
        said = [m["content"] for m in row["messages"][:-1] if m["role"] == "assistant" and m["content"]]
        assert said == [t["response"] for t in contexts[row["id"]] if t["tool"] is None]


def test_preference_is_what_trl_calls_conversational(made_up: Path):
    held = rows(made_up, "preference")
    assert held
    for row in held:
        for name in ("prompt", "chosen", "rejected"):
            assert row[name] and all({"role", "content"} <= message.keys() for message in row[name])
        assert (
            row["prompt"][-1]["role"] == "user"
            and row["chosen"][0]["role"] == row["rejected"][0]["role"] == "assistant"
        )
        assert row["chosen"] != row["rejected"] and -1.0 <= row["margin"] <= 1.0


def test_kto_has_both_labels_in_every_split(made_up: Path):
    for split in ("train", "test"):
        held = rows(made_up, "kto", split)
        assert {row["label"] for row in held} == {True, False}
        assert all(row["prompt"][-1]["role"] == "user" and len(row["completion"]) == 1 for row in held)


def test_tool_calls_are_json_objects(made_up: Path):
    for view, column in (("sft", "messages"), ("kto", "completion"), ("preference", "rejected")):
        calls = [c["function"] for r in rows(made_up, view) for m in r[column] for c in m["tool_calls"] or []]
        assert calls and all(isinstance(json.loads(c["arguments"]), dict) and c["name"] for c in calls)


def test_verl_finds_its_columns(made_up: Path):
    for row in rows(made_up, "verl"):
        assert {"prompt", "data_source", "reward_model", "ability", "extra_info"} <= row.keys()
        assert [m["role"] for m in row["prompt"]] == ["system", "user"] and row["reward_model"]["style"] == "rule"
        assert json.loads(row["reward_model"]["ground_truth"]).keys() == {"domain", "intent", "slots"}
        assert isinstance(row["extra_info"]["index"], int) and row["extra_info"]["split"] == "train"
    indices = [row["extra_info"]["index"] for split in ("train", "test") for row in rows(made_up, "verl", split)]
    assert len(set(indices)) == len(indices)
