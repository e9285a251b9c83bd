"""Examples that evaluation sets hold."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from golden_views import answer, context_turn, example, table

from pipeline.curation.evaluation import EvaluationSet, inputs, word_runs
from pipeline.errors import InputError

LONG = "please tell me how I can get from Rome to Oslo by train tomorrow"


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """One set of each form."""
    folder = tmp_path / "sets"
    folder.mkdir()
    (folder / "a.jsonl").write_text(
        json.dumps({"text": "To ROME!", "label": "to oslo"}) + "\n\n" + json.dumps({"text": LONG})
    )
    (folder / "b.csv").write_text("id,utterance\n1,play jazz\n2,\n")
    pq.write_table(pa.table({"messages": [[{"role": "user", "content": "deep inside"}]]}), folder / "c.parquet")
    (folder / "d.txt.gz").write_bytes(gzip.compress(b"first line\nsecond line\n"))
    (folder / "e.tsv").write_text("text\tx\nby tab\t1\n")
    return folder


def hits(sets: Path, *rows: dict[str, Any], columns: str | None = None, words: int = 8) -> dict[str, tuple[str, float]]:
    told = EvaluationSet(str(sets), columns, words)(table(*rows)).to_pylist()
    assert all(row["reason"] == "contaminated" for row in told)
    return {row["example_id"]: (row["of"], row["similarity"]) for row in told}


def test_the_same_words_are_found_in_every_form(sets: Path):
    said = ["to rome", "play jazz", "deep inside", "second line", "by tab", "to oslo", "", "rome"]
    found = hits(sets, *(example(text or "empty", utterance=text) for text in said))
    assert found == {
        "to rome": ("a.jsonl:1", 1.0),
        "play jazz": ("b.csv:1", 1.0),
        "deep inside": ("c.parquet:1", 1.0),
        "second line": ("d.txt.gz:2", 1.0),
        "by tab": ("e.tsv:1", 1.0),
    }


def test_named_columns_are_the_ones_that_are_read(sets: Path):
    file = sets / "a.jsonl"
    assert hits(file, example("a", utterance="to oslo"), columns="label") == {"a": ("a.jsonl:1", 1.0)}
    with pytest.raises(InputError, match=r"curate\.decontaminate b\.csv: no column label, found id, utterance"):
        hits(sets, example("a"), columns="label")


def test_a_run_of_words_is_enough_wherever_it_stands(sets: Path):
    eight = "how I can get from Rome to Oslo"
    rows = [
        example("utterance", utterance=f"ok {eight}"),
        example("seven", utterance="how can I get from Rome to Oslo by train"),
        answer("response", "well", f"this is {eight}."),
        answer("before", "well", "no", context=[context_turn(eight, "so")]),
        # The first of the two runs of eight words is not theirs.
        example("half", utterance=f"show {eight}"),
    ]
    found = hits(sets, *rows)
    assert found.keys() == {"utterance", "response", "before", "half"}
    assert found["half"] == ("a.jsonl:3", 0.5) and found["response"] == ("a.jsonl:3", pytest.approx(1 / 4))
    assert hits(sets, *rows, words=7).keys() == found.keys() | {"seven"}
    assert hits(sets, *rows, words=14) == {}


def test_what_cannot_be_read_is_named(sets: Path, tmp_path: Path):
    with pytest.raises(InputError, match=r"curate\.decontaminate .*none: no file to read"):
        inputs(str(tmp_path / "none"), None, 8)
    (sets / "x.jsonl").write_text("{")
    with pytest.raises(InputError, match=r"curate\.decontaminate x\.jsonl:1: not JSON"):
        inputs(str(sets / "*.jsonl"), None, 8)
    (tmp_path / "x.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match=r"x\.parquet: not a Parquet file"):
        inputs(str(tmp_path / "x.parquet"), None, 8)


def test_the_files_are_told_by_content(sets: Path):
    told = inputs(str(sets), None, 9)
    assert [f["uri"] for f in told] == ["a.jsonl", "b.csv", "c.parquet", "d.txt.gz", "e.tsv"]
    assert all(len(f["sha256"]) == 64 and f["bytes"] > 0 for f in told)


def test_a_set_that_has_changed_is_read_anew(tmp_path: Path):
    file = tmp_path / "set.txt"
    file.write_text("one")
    before = inputs(str(file), None, 8)
    file.write_text("to rome")
    assert inputs(str(file), None, 8) != before
    assert hits(file, example("a", utterance="to rome")).keys() == {"a"}


def test_runs_stay_inside_a_text():
    owner, key = word_runs(pa.array(["a b c", "a b", None, "", "b c"]), 2)
    assert owner.tolist() == [0, 0, 1, 4] and key[0] == key[2] and key[1] == key[3] != key[0]
    assert word_runs(pa.array([], pa.string()), 2)[0].tolist() == []
