"""A day's log judged by models that were fitted before (`models.file`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from synthetic import SETTINGS, afterword, lines, records, tree

from pipeline.jobs.train import model_file

FORMAT = SETTINGS[:2]
CONFIRM = SETTINGS[2:4]


def manifest(out: Path) -> dict[str, Any]:
    current = (out / "CURRENT").read_text().strip()
    return json.loads((out / "releases" / current / "manifest.json").read_text())


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another log than the one that the models were fitted on."""
    path = tmp_path_factory.mktemp("day") / "day.jsonl"
    path.write_bytes(lines(*records(users=90, seed=11)))
    return path


def run(day: Path, out: Path, models: object) -> int:
    return afterword(
        "run", "--input", day, *FORMAT, *CONFIRM, "--set", f"models.file={json.dumps(str(models))}", "--out", out
    )


def test_the_models_of_another_run_judge_and_none_are_fitted(released: Path, day: Path, tmp_path: Path):
    assert run(day, tmp_path / "out", released) == 0
    before, now = manifest(released), manifest(tmp_path / "out")
    assert now["identity"]["models"] == before["identity"]["models"]
    assert now["thresholds"] == before["thresholds"]
    assert now["identity"]["config"]["train"] == before["identity"]["config"]["train"]
    assert now["identity"]["config"]["train"]["folds"] == 2
    stage = tmp_path / "out" / "stages" / "train"
    assert not (stage / "rows").exists()
    assert (stage / "models.json").read_bytes() == Path(model_file(str(released))).read_bytes()
    assert afterword("verify", tmp_path / "out") == 0


@pytest.mark.long
def test_where_the_file_lies_changes_nothing(released: Path, day: Path, tmp_path: Path):
    copied = tmp_path / "else" / "models.json"
    copied.parent.mkdir()
    copied.write_bytes(Path(model_file(str(released))).read_bytes())
    assert run(day, tmp_path / "one", copied) == 0
    assert run(day, tmp_path / "two", Path(model_file(str(released)))) == 0
    assert tree(tmp_path / "one" / "releases") == tree(tmp_path / "two" / "releases")


@pytest.mark.parametrize("held", [None, b"not json", b'{"format": "afterword-models/1"}', b"{}"])
def test_what_is_no_model_file_is_refused_and_the_release_stays(
    released: Path, day: Path, tmp_path: Path, capsys: Any, held: bytes | None
):
    path = tmp_path / "models.json"
    if held is not None:
        path.write_bytes(held)
    assert run(day, tmp_path / "out", path) == 2
    assert str(path) in capsys.readouterr().err and not (tmp_path / "out" / "CURRENT").exists()
