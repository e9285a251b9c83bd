"""Curation in a whole run: what was left out is released, counted, proved and explained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from synthetic import afterword, copy
from test_verify import edit, put, refused, rewrite

from pipeline import storage
from pipeline.verify import verify
from schemas import EXAMPLE, LEFT_OUT

LONG = "please bring me to rome and to oslo and to lima"


@pytest.fixture(scope="module")
def sifted(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release again, with an evaluation set, a cap and sampling."""
    folder = tmp_path_factory.mktemp("sifted")
    out = copy(released, folder / "out")
    (folder / "set.csv").write_text(f"text,label\nGo to Rome!,x\n{LONG},y\n")
    settings = {
        "decontaminate": f'"{folder / "set.csv"}"',
        "max_per_intent": 60,
        "duplicate_letters": 1,
        "duplicate_likeness": 0.6,
        "replay_power": 0.5,
        "replay_floor": 30,
        "confirm_below": 1.0,
    }
    options = [part for k, v in settings.items() for part in ("--set", f"curate.{k}={v}")]
    assert afterword("run", "--from", "curate", "--out", out, *options) == 0
    return out


def release_of(out: Path) -> Path:
    return out / "releases" / (out / "CURRENT").read_text().strip()


def left_out(out: Path) -> list[dict[str, Any]]:
    files = sorted((release_of(out) / "left_out" / "data").glob("*.parquet"))
    return [row for f in files for row in pq.read_table(f).to_pylist()]


def test_counts_close_over_what_was_left_out(sifted: Path):
    manifest = json.loads((release_of(sifted) / "manifest.json").read_text())
    curate, rows = manifest["counts"]["curate"], left_out(sifted)
    reasons = {r["reason"] for r in rows}
    assert {"contaminated", "not_sampled", "near_duplicate"} <= reasons
    assert curate["pooled"] == curate["kept"] + len(rows)
    assert all(curate[reason] == sum(r["reason"] == reason for r in rows) for reason in reasons)
    assert [f["uri"] for f in manifest["identity"]["curation"]] == ["set.csv"]
    assert "decontaminate" not in manifest["identity"]["config"]["curate"]
    assert {r["of"] for r in rows if r["reason"] == "contaminated"} == {"set.csv:1"}
    assert any("were left out" in proof for proof in verify(str(release_of(sifted))))
    assert "## What was left out" in (release_of(sifted) / "README.md").read_text()


def test_the_same_inputs_give_the_same_release(sifted: Path, tmp_path: Path):
    again = copy(sifted, tmp_path / "out")
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / "set.csv").write_text(f"text,label\nGo to Rome!,x\n{LONG},y\n")
    options = (
        "max_per_intent=60",
        "duplicate_letters=1",
        "duplicate_likeness=0.6",
        "replay_power=0.5",
        "replay_floor=30",
        "confirm_below=1.0",
    )
    moved = f'decontaminate="{tmp_path / "moved" / "set.csv"}"'
    arguments = [part for option in (*options, moved) for part in ("--set", f"curate.{option}")]
    assert afterword("run", "--from", "curate", "--out", again, *arguments) == 0
    assert release_of(again).name == release_of(sifted).name


@pytest.mark.parametrize("reason", ["near_duplicate", "contaminated", "not_sampled"])
def test_explain_tells_why_an_example_was_left_out(sifted: Path, reason: str, capsys: Any):
    row = next(r for r in left_out(sifted) if r["reason"] == reason)
    for name in (row["example_id"], row["example_id"][:12], row["provenance"]["turn_ids"][0]):
        assert afterword("explain", name, "--out", sifted, "--json") == 0
        told = json.loads(capsys.readouterr().out)
        left = told["left_out"] if told["kind"] == "left_out" else told["became"]["left_out"]
        assert {k: left[k] for k in ("example_id", "reason", "of")} == {
            k: row[k] for k in ("example_id", "reason", "of")
        }
        assert told["kind"] == "left_out" or told["became"]["outcome"] == reason
        assert afterword("explain", name, "--out", sifted, "--turns") == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"example {row['example_id']} was left out: " in said and (row["of"] or "") in said


def test_explain_tells_it_from_the_release_alone(sifted: Path, tmp_path: Path, capsys: Any):
    out = copy(sifted, tmp_path / "out")
    storage.remove(str(out / "stages"))
    row = left_out(out)[0]
    for name in (row["example_id"], row["provenance"]["turn_ids"][0]):
        assert afterword("explain", name, "--out", out, "--json") == 0
        assert json.loads(capsys.readouterr().out)["left_out"]["example_id"] == row["example_id"]


@pytest.fixture
def spoiled(sifted: Path, tmp_path: Path) -> Path:
    """A release folder that a test may spoil."""
    folder = release_of(sifted)
    return copy(folder, tmp_path / folder.name)


@pytest.fixture
def two_sided(released: Path, tmp_path: Path) -> Path:
    """A release with both splits that a test may spoil."""
    folder = release_of(released)
    return copy(folder, tmp_path / folder.name)


def says_as_another(table: pa.Table) -> pa.Table:
    """The first example with the words and the label of the second."""
    changed = table
    for name in ("utterance", "domain", "intent", "slots", "locale", "rejected"):
        changed = put(changed, name, [table[name][1].as_py(), *table[name].to_pylist()[1:]])
    return changed


def test_near_duplicates_in_a_label_are_found(spoiled: Path):
    rewrite(spoiled, "lineage", says_as_another)
    refused(spoiled, r"lineage: \w+ and \w+ are [01]\.\d+ alike")


def test_near_duplicates_on_two_sides_are_found(two_sided: Path):
    said = pq.read_table(next((two_sided / "lineage" / "data").glob("train-*")))["utterance"][0].as_py()
    rewrite(two_sided, "lineage", lambda t: put(t, "utterance", [said, *t["utterance"].to_pylist()[1:]]), "test")
    refused(two_sided, r"lineage: \w+ and \w+ are [01]\.\d+ alike")


@pytest.mark.parametrize(("member", "called"), [("subjects", "user"), ("conversations", "conversation")])
def test_a_user_or_a_conversation_on_two_sides_is_found(two_sided: Path, member: str, called: str):
    held = pq.read_table(next((two_sided / "lineage" / "data").glob("train-*")))["provenance"][0].as_py()

    def spoil(table: pa.Table) -> pa.Table:
        rows = table["provenance"].to_pylist()
        rows[0][member] = held[member]
        return put(table, "provenance", rows)

    rewrite(two_sided, "lineage", spoil, "test")
    refused(two_sided, rf"lineage: {called} \w+ stands on both sides of the split")


def rewrite_left_out(release: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    path = next((release / "left_out" / "data").glob("train-*"))
    data = storage.encode(change(storage.read_table(str(path), LEFT_OUT.schema)))
    path.write_bytes(data)
    name = path.relative_to(release).as_posix()
    edit(release, lambda m: m["files"][name].update(bytes=len(data), sha256=storage.sha256(data)))


def test_another_reason_than_counted_is_found(spoiled: Path):
    def spoil(table: pa.Table) -> pa.Table:
        return put(table, "reason", ["known", *table["reason"].to_pylist()[1:]])

    rewrite_left_out(spoiled, spoil)
    refused(spoiled, r"left_out: \d+ examples are \w+, curate counted \d+")


def test_an_example_that_is_left_out_and_released_is_found(spoiled: Path):
    lineage = storage.read_table(str(next((spoiled / "lineage" / "data").glob("train-*"))), EXAMPLE.schema)
    kept = pc.min(lineage["example_id"]).as_py()
    rewrite_left_out(spoiled, lambda t: put(t, "example_id", [kept, *t["example_id"].to_pylist()[1:]]))
    refused(spoiled, f"left_out: {kept} is said to be left out")
