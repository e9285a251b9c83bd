"""`afterword export` on a release of a whole run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from synthetic import afterword, tree

from pipeline.arguments import EXPORTS
from pipeline.export.package import package


def rows(released: Path, view: str, split: str) -> int:
    folder = released / "releases" / (released / "CURRENT").read_text().strip()
    return sum(pq.read_metadata(p).num_rows for p in (folder / view / "data").glob(f"{split}-*"))


@pytest.mark.parametrize("form", EXPORTS)
def test_every_format_is_written_the_same_each_time(released: Path, tmp_path: Path, capsys: Any, form: str):
    first, second = tmp_path / "first", tmp_path / "second"
    assert afterword("export", "--out", released, "--format", form, "--to", first, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert afterword("export", "--out", released, "--format", form, "--to", second) == 0
    text = capsys.readouterr().out
    assert tree(first) == tree(second) and sorted(tree(first)) == told["files"]
    view = "rl" if form == "verifiers" else "nlu"
    assert told["rows"] == rows(released, view, "train") > 0
    written = told["told"]["rows.written"]
    assert written + sum(n for k, n in told["told"].items() if k in ("rows.twice", "rows.unmarkable")) == told["rows"]
    assert f"export    {written:,} of {told['rows']:,} rows of split train as {form}" in text
    assert told["release"] in text and str(second / told["files"][0]) in text


@pytest.mark.parametrize("form", ["clu", "jointbert", "massive", "hf", "verifiers"])
def test_both_splits_go_into_one_export(released: Path, tmp_path: Path, capsys: Any, form: str):
    told, held = {}, {}
    for split in ("train", "test", "all"):
        to = tmp_path / split
        assert afterword("export", "--out", released, "--format", form, "--to", to, "--split", split, "--json") == 0
        told[split], held[split] = json.loads(capsys.readouterr().out), tree(to)
    assert told["all"]["rows"] == told["train"]["rows"] + told["test"]["rows"]
    assert told["all"]["told"]["rows.written"] == sum(told[s]["told"]["rows.written"] for s in ("train", "test"))
    # What a split writes of its own is the same in both; files of both hold all of it.
    for split in ("train", "test"):
        for name, data in held[split].items():
            if split in name:
                assert held["all"][name] == data
            elif name.endswith((".txt", ".jsonl")):
                assert set(data.splitlines()) <= set(held["all"][name].splitlines())


@pytest.mark.parametrize("form", ["rasa", "lex-v2", "dialogflow-cx"])
def test_a_format_that_knows_no_split_takes_one_at_a_time(released: Path, tmp_path: Path, capsys: Any, form: str):
    to = ("--format", form, "--to", tmp_path / "to", "--split", "all")
    assert afterword("export", "--out", released, *to) == 2
    assert f"{form} has no place to say which split a row is of" in capsys.readouterr().err
    assert not (tmp_path / "to").exists()


def test_verifiers_gets_the_package_and_the_tasks(released: Path, tmp_path: Path):
    args = ("--out", released, "--format", "verifiers", "--split", "test")
    assert afterword("export", *args, "--to", tmp_path) == 0
    held = tree(tmp_path)
    assert {name: held[name] for name in package()} == package()
    tasks = [json.loads(line) for line in held["test.jsonl"].splitlines()]
    assert len(tasks) == rows(released, "rl", "test") and tasks == sorted(tasks, key=lambda t: t["key"])


def test_a_folder_that_holds_something_is_left_alone(released: Path, tmp_path: Path, capsys: Any):
    (tmp_path / "nlu.yml").write_text("mine")
    assert afterword("export", "--out", released, "--format", "rasa", "--to", tmp_path) == 2
    assert "it holds files" in capsys.readouterr().err and (tmp_path / "nlu.yml").read_text() == "mine"


def test_what_is_not_there_is_told(released: Path, tmp_path: Path, capsys: Any):
    to = ("--format", "rasa", "--to", tmp_path / "to")
    assert afterword("export", "--out", released, "--release", "ffffffff", *to) == 2
    assert afterword("export", "--out", tmp_path / "none", *to) == 7
    assert "no release is current" in capsys.readouterr().err


def test_the_package_of_a_release_is_that_of_the_code(released: Path):
    folder = released / "releases" / (released / "CURRENT").read_text().strip() / "taskset"
    assert tree(folder) == package() and set(package()) == {
        "pyproject.toml",
        *(f"nlu_repair/{name}.py" for name in ("__init__", "reward", "rows", "taskset")),
    }
