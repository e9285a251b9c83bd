from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline import workspace as module
from pipeline.errors import StageError
from pipeline.lifecycle.stages import clear_stale
from pipeline.stages import STAGES
from pipeline.workspace import Workspace
from schemas import COUNT


def whole(tmp_path: Path, *stages: str) -> Workspace:
    """A workspace in which these stages have been run."""
    space = Workspace(str(tmp_path / "out"))
    for stage in stages:
        space.begin(stage)
        space.finish(stage, {"stage": stage})
    return space


def test_a_stage_whose_upstream_was_not_run_names_the_command(tmp_path: Path):
    with pytest.raises(StageError, match="run `afterword ingest` first"):
        whole(tmp_path).begin("signals")
    with pytest.raises(StageError, match="run `afterword signals` first"):
        whole(tmp_path, "ingest").begin("train")


def test_stages_in_order_are_accepted_and_leave_their_facts(tmp_path: Path):
    space = whole(tmp_path, *STAGES)
    assert space.facts("label") == {"stage": "label"}


@pytest.mark.parametrize(
    ("changed", "next_stage", "command"),
    [
        ("ingest", "train", "signals"),
        ("signals", "label", "train"),
        ("train", "curate", "label"),
        ("label", "release", "curate"),
    ],
)
def test_a_stage_made_from_another_run_of_its_upstream_is_refused(
    tmp_path: Path, changed: str, next_stage: str, command: str
):
    space = whole(tmp_path, "ingest", "signals", "train", "label", "curate")
    marker = Path(space.stage(changed)) / "stage.json"
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"facts": {"kept": 1}}))
    with pytest.raises(StageError, match=f"another run of {changed}; run `afterword {command}`"):
        space.begin(next_stage)


def test_the_same_again_leaves_what_follows_valid(tmp_path: Path):
    space = whole(tmp_path, "ingest", "signals", "train")
    space.begin("ingest")
    space.finish("ingest", {"stage": "ingest"})
    space.require("label")


def test_a_stage_of_other_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    space = whole(tmp_path, "ingest")
    monkeypatch.setattr(module, "code_version", lambda: "9.9.9+other")
    with pytest.raises(StageError, match=r"this is 9\.9\.9\+other; run `afterword ingest`"):
        space.begin("signals")


def test_to_begin_a_stage_clears_it_marker_first_and_its_shuffle_files(tmp_path: Path):
    space = whole(tmp_path, "ingest")
    for folder in (space.table("ingest", "turns"), space.spill("ingest")):
        Path(folder).mkdir(parents=True)
        (Path(folder) / "old").write_text("x")
    space.begin("ingest")
    assert list(Path(space.stage("ingest")).iterdir()) == [] and not Path(space.spill("ingest")).exists()
    with pytest.raises(StageError, match="no whole run of stage ingest"):
        space.facts("ingest")


def test_a_refused_begin_clears_nothing(tmp_path: Path):
    space = whole(tmp_path, "ingest", "signals")
    (Path(space.stage("ingest")) / "stage.json").unlink()
    with pytest.raises(StageError):
        space.begin("signals")
    assert (Path(space.stage("signals")) / "stage.json").exists()


def test_a_table_of_no_buckets_is_empty(tmp_path: Path):
    space = whole(tmp_path, "ingest")
    assert space.read("ingest", "gold", COUNT).equals(COUNT.empty())
    assert space.read("ingest", "gold", COUNT, ["rows"]).column_names == ["rows"]
    assert space.buckets("ingest", "gold") == []


def test_buckets_are_told_the_largest_first(tmp_path: Path):
    space = Workspace(str(tmp_path))
    folder = Path(space.table("ingest", "turns"))
    folder.mkdir(parents=True)
    for number, size in ((0, 5), (1, 50), (2, 5), (3, 500)):
        (folder / f"bucket-{number:05d}.parquet").write_bytes(b"x" * size)
    assert space.buckets("ingest", "turns") == [3, 1, 0, 2]


def test_a_stage_that_broke_off_leaves_no_turns_in_its_shuffle(tmp_path: Path):
    space = whole(tmp_path, "ingest", "signals", "train")
    space.begin("label")
    for stage in ("signals", "label"):
        (Path(space.spill(stage))).mkdir(parents=True)
        (Path(space.spill(stage)) / "00000-left.arrow").write_bytes(b"turns")
    Path(space.stage("label"), "half.parquet").write_bytes(b"turns")
    assert clear_stale(space) == [space.stage("label")]
    assert not Path(space.spill("label")).exists() and space.whole("signals")
