"""Forgetting a user (hard input 34): what is left of the examples, and that nothing is left of the user."""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from leaver import (
    ALIKE,
    KEPT,
    LEAVER,
    MARKS,
    PLAIN,
    SECRET,
    SETTINGS,
    SHARED,
    SHOUTED,
    TURNS,
    current,
    forget,
    lineage,
    manifest,
    traces,
)
from synthetic import afterword, copy, tree

from pipeline.verify import PROOFS, verify


@pytest.fixture(scope="module")
def forgotten(held: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder after the user was forgotten. Copy it before changing it."""
    out = copy(held, tmp_path_factory.mktemp("forgotten") / "out")
    assert forget(out) == 0
    return out


def test_the_user_is_everywhere_before(held: Path):
    found = traces(held)
    places = {name.split("/")[0] for name in found}
    assert {"releases", "stages", "audits", "gold", "runs"} <= places
    assert set(MARKS) == {mark for hit in found.values() for mark in hit}


def test_nothing_of_the_user_is_left_but_the_keyed_hash(forgotten: Path):
    assert traces(forgotten) == {}
    key = bytes.fromhex((forgotten / "tombstones" / "key").read_text())
    mac = hmac.new(key, LEAVER.encode(), hashlib.sha256).hexdigest()
    told = json.loads((forgotten / "tombstones" / "macs.json").read_text())
    assert [t["subject"] for t in told["tombstones"]] == [mac]
    assert stat.S_IMODE((forgotten / "tombstones" / "key").stat().st_mode) == 0o600
    assert manifest(forgotten)["identity"]["tombstones"] == [mac]
    assert manifest(forgotten)["identity"]["withdrawn"] == [mac]


def test_what_others_support_stays_without_the_users_votes_and_wording(held: Path, forgotten: Path):
    before, after = lineage(held), lineage(forgotten)
    assert before[PLAIN]["utterance"] == SHOUTED and before[PLAIN]["support"] == 3
    assert after[PLAIN]["utterance"] == PLAIN and after[PLAIN]["support"] == 2
    assert sorted(after[PLAIN]["provenance"]["turn_ids"]) == ["o1", "o2"]
    assert len(after[PLAIN]["provenance"]["subjects"]) == 2


def test_what_falls_under_the_minimum_is_withdrawn(held: Path, forgotten: Path):
    assert lineage(held)[SHARED]["support"] == 2 and SHARED not in lineage(forgotten)
    assert SECRET in lineage(held, (held / "first").read_text())


def test_a_duplicate_that_survives_takes_the_place_of_what_is_withdrawn(held: Path, forgotten: Path):
    before, after = lineage(held), lineage(forgotten)
    assert KEPT in before and ALIKE not in before
    folder = held / "releases" / current(held) / "left_out" / "data"
    gone = {r["of"]: r for r in pq.read_table(folder).to_pylist()}
    assert gone[before[KEPT]["example_id"]]["reason"] == "near_duplicate"
    assert KEPT not in after and after[ALIKE]["support"] == 2


def test_the_releases_that_held_the_user_are_gone_and_the_new_one_is_proved(held: Path, forgotten: Path):
    gone = {p.name for p in (held / "releases").iterdir()}
    assert {p.name for p in (forgotten / "releases").iterdir()} == {current(forgotten)}
    assert current(forgotten) not in gone
    assert len(verify(str(forgotten / "releases" / current(forgotten)))) == len(PROOFS)
    closing = manifest(forgotten)["closing"]["ingest"]
    assert closing["forgotten"] == len(TURNS)
    assert closing["kept"] == manifest(held)["closing"]["ingest"]["kept"] - len(TURNS)


def test_the_models_are_fitted_anew_and_those_that_learned_from_the_user_are_named(held: Path, forgotten: Path):
    old, new = (manifest(out)["identity"]["models"] for out in (held, forgotten))
    assert old["file"] != new["file"]
    record = json.loads((forgotten / "forgotten" / "00001.json").read_text())
    assert record["done"] and {m["defect"] for m in record["models"]} == {old["defect"]}
    assert [m["refit"] for m in record["models"] if m["release_id"] == current(held)] == [True]
    assert record["remains"]


def test_labels_of_others_stay(forgotten: Path):
    rows = [json.loads(line) for line in (forgotten / "gold" / "a.jsonl").read_text().splitlines()]
    assert [r["turn_id"] for r in rows] == ["u001-0", "u002-0"]
    assert (forgotten / "gold" / "b.csv").read_text().splitlines()[1:] == ["u003-0,breakdown,0,people"]


@pytest.mark.long
def test_a_backfill_reads_the_user_no_more(leaver_log: Path, forgotten: Path, tmp_path: Path):
    out = copy(forgotten, tmp_path / "out")
    assert afterword("run", "--input", leaver_log, *SETTINGS, "--out", out) == 0
    assert traces(out) == {}
    again = manifest(out)
    assert again["closing"]["ingest"]["forgotten"] == len(TURNS)
    assert again["identity"]["tombstones"] == manifest(forgotten)["identity"]["tombstones"]
    assert "withdrawn" not in again["identity"] and again["release_id"] != current(forgotten)
    # What was made by taking the user out is what is made by never reading the user.
    for view in ("lineage", "nlu", "sft", "rl"):
        folders = [folder / "releases" / current(folder) / view for folder in (out, forgotten)]
        assert tree(folders[0]) == tree(folders[1]) != {}


def test_once_more_changes_nothing(forgotten: Path, tmp_path: Path, capsys: Any):
    out = copy(forgotten, tmp_path / "out")
    assert forget(out) == 0
    assert tree(out / "releases") == tree(forgotten / "releases") and current(out) == current(forgotten)
    assert afterword("forget", "--out", out, "--json") == 0
    told = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))
    assert told["examples"] == {} and told["turns"] == 0


def test_a_dry_run_says_it_all_and_changes_nothing(held: Path, capsys: Any):
    before = tree(held)
    assert forget(held, "--dry-run", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dry_run"] and told["path"] == "recompute" and told["turns"] == len(TURNS)
    assert set(told["examples"]) == {p.name for p in (held / "releases").iterdir()}
    assert {n: d for n, d in tree(held).items() if not n.endswith(".lock")} == {
        n: d for n, d in before.items() if not n.endswith(".lock")
    }
    assert LEAVER not in json.dumps(told)


@pytest.mark.long
def test_a_pinned_release_is_not_taken_away_unasked(held: Path, tmp_path: Path, capsys: Any):
    out = copy(held, tmp_path / "out")
    first = (out / "first").read_text()
    assert afterword("pin", "--out", out, "trainer", current(out)) == 0
    assert afterword("pin", "--out", out, "old", first[:8]) == 0
    before = tree(out)
    assert forget(out) == 2
    assert "pinned releases hold the user: old" in capsys.readouterr().err
    assert tree(out) == before
    assert forget(out, "--dry-run") == 0
    told = capsys.readouterr().out
    assert "pinned       old: " in told and "would be removed" in told and "nothing was changed" in told
    assert {n: d for n, d in tree(out).items() if not n.endswith(".lock")} == {
        n: d for n, d in before.items() if not n.endswith(".lock")
    }
    assert forget(out, "--force") == 0
    assert (out / "pins" / "trainer").read_text().strip() == current(out)
    assert not (out / "pins" / "old").exists() and traces(out) == {}


@pytest.mark.long
def test_models_may_be_kept_and_are_named(held: Path, tmp_path: Path):
    out = copy(held, tmp_path / "out")
    assert forget(out, "--keep-models") == 0
    assert traces(out) == {}
    assert manifest(out)["identity"]["models"] == manifest(held)["identity"]["models"]
    assert lineage(out)[PLAIN]["support"] == 2 and SHARED not in lineage(out)
    record = json.loads((out / "forgotten" / "00001.json").read_text())
    assert record["models"] and not any(m["refit"] for m in record["models"])


def test_without_the_stages_every_example_of_the_user_is_withdrawn(held: Path, tmp_path: Path):
    import shutil

    out = copy(held, tmp_path / "out")
    shutil.rmtree(out / "stages")
    assert forget(out) == 0
    assert traces(out) == {}
    before, after = lineage(held), lineage(out)
    assert {PLAIN, SHARED} <= set(before) - set(after)
    gone = [w for w in before if w not in after]
    assert manifest(out)["closing"]["release"]["forgotten"] == len(gone)
    assert manifest(out)["identity"]["replaces"] == current(held)
    assert len(verify(str(out / "releases" / current(out)))) == len(PROOFS)
    assert json.loads((out / "forgotten" / "00001.json").read_text())["path"] == "withdraw"


@pytest.mark.long
def test_a_conversation_is_forgotten_with_all_its_turns(held: Path, tmp_path: Path):
    out = copy(held, tmp_path / "out")
    assert afterword("forget", "--out", out, "--conversation", f"talk-{LEAVER}") == 0
    assert traces(out) == {}
    assert lineage(out)[PLAIN]["support"] == 2 and SHARED not in lineage(out)


def test_stages_of_another_run_are_cleared_and_their_release_is_cleaned_by_itself(held: Path, tmp_path: Path):
    out = copy(held, tmp_path / "out")
    # A later run that broke off after its first stages.
    assert afterword("ingest", "--input", held.parents[1] / "none.jsonl", "--format", "canonical", "--out", out) == 3
    (out / "stages" / "release" / "stage.json").unlink()
    assert forget(out) == 0
    assert traces(out) == {} and PLAIN not in lineage(out)
    assert json.loads((out / "forgotten" / "00001.json").read_text())["reason"]
