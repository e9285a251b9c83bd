"""Conversations in which users of both sides of the split speak: found, kept out of test, proved and explained."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.testing.util import assert_that, equal_to
from build import START, turns
from hypothesis import given
from hypothesis import strategies as st
from synthetic import SETTINGS, afterword, copy, lines, records, test_users

from features.hashing import conversation_pseudonyms, pseudonyms
from pipeline.curation.conversations import ReadSides, SharedConversations
from pipeline.curation.shuffling import Shuffling
from pipeline.filters.tombstones import subject_of
from pipeline.jobs import curate
from pipeline.transforms.conversations import NONE, SIDE, hashes, in_test, on_both, sides, stands_in
from pipeline.transforms.write import write_bucket
from schemas import TURN

SHARE = 0.3


def encoded(*rows: dict[str, Any]) -> pa.Table:
    """Turns as the pass reads them."""
    table = turns(*rows)
    texts = {name: table[name].dictionary_encode() for name in ("conversation_id", "subject_id")}
    return pa.table(texts | {"event_time": table["event_time"]})


def user(test: bool, number: int = 0) -> str:
    """Some user of a side."""
    names = np.array([f"u{k}" for k in range(100)], dtype=object)
    return str(names[in_test(names, SHARE) == test][number])


def shared(*rows: dict[str, Any], **options: Any) -> set[int]:
    return set(on_both(sides(encoded(*rows), SHARE, options.get("test_from"))).tolist())


def name(conversation: str) -> int:
    return int(hashes(pa.array([conversation]))[0])


def talk(conversation: str | None, *users: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"conversation_id": conversation, "subject_id": u} | fields for u in users]


def test_a_conversation_is_shared_where_users_of_both_sides_speak():
    both = talk("both", user(True), user(False))
    alone = talk("train", user(False), user(False, 1)) + talk("test", user(True), user(True, 1))
    assert shared(*both, *alone) == {name("both")}


@pytest.mark.parametrize("blank", [None, "", " \t"])
def test_what_has_no_id_is_no_conversation(blank: str | None):
    assert shared(*talk(blank, user(True), user(False))) == set()
    ids = pa.array([blank, "x"], pa.string())
    asked = np.ones(2, bool)
    assert stands_in(ids, hashes(pa.array([" \t", "", "x"])), asked).tolist() == [False, True]


def test_turns_beyond_the_cut_in_time_speak_for_no_side():
    late, early = {"at": 200.0}, {"at": 0.0}
    cut = START + timedelta(seconds=100)
    for train, test, found in ((early, late, True), (late, late, False), (early, early, False)):
        rows = talk("c", user(False), **train) + talk("c", user(True), **test)
        assert shared(*rows, test_from=cut) == ({name("c")} if found else set())


def test_only_the_turns_that_are_asked_about_stand_in_a_shared_conversation():
    ids = pa.array(["a", "b", "a", None])
    assert stands_in(ids, hashes(pa.array(["a"])), np.array([True, True, False, True])).tolist() == [True] + [False] * 3
    assert not stands_in(ids, NONE, np.ones(4, bool)).any()


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "", None]), st.integers(0, 9)), max_size=30), st.integers(1, 4))
def test_the_buckets_do_not_matter(said: list[tuple[str | None, int]], parts: int):
    rows = [{"conversation_id": c, "subject_id": f"u{k}"} for c, k in said]
    cut = [sides(encoded(*rows[k::parts]), SHARE, None) for k in range(parts)]
    expected = defaultdict(set)
    for row in rows:
        expected[row["conversation_id"]].add(bool(in_test(np.array([row["subject_id"]], dtype=object), SHARE)[0]))
    wanted = {name(c) for c, held in expected.items() if c and len(held) == 2}
    assert set(on_both(pa.concat_tables([SIDE.empty_table(), *cut])).tolist()) == wanted


def test_users_in_different_buckets_meet(tmp_path: Path):
    for bucket, side in ((0, True), (17, False), (40, False)):
        rows = talk("both" if bucket < 40 else "train", user(side))
        write_bucket(str(tmp_path / "turns"), bucket, turns(*rows).cast(TURN.schema), TURN)
    with TestPipeline(runner="FnApiRunner") as pipeline:
        found = (
            pipeline
            | beam.Create([0, 17, 40])
            | SharedConversations(
                ReadSides(str(tmp_path / "turns"), SHARE, None), Shuffling(41, "spill", str(tmp_path / "spill"))
            )
            | beam.FlatMap(lambda table: table["conversation"].to_pylist())
        )
        assert_that(found, equal_to([name("both")]))


def test_a_conversation_is_named_in_a_lineage_as_the_subject_that_it_may_stand_for():
    ids = np.array(["a", "b"], dtype=object)
    subjects = np.array([subject_of(c) for c in ids], dtype=object)
    assert conversation_pseudonyms(ids).tolist() == pseudonyms(subjects).tolist()


HANDED_OVER = "desk"


@pytest.fixture(scope="module")
def handed_over(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """A release of a log in which three users of test and one of train speak in one conversation; those of test."""
    folder = tmp_path_factory.mktemp("handed_over")
    test = sorted(test_users(240))
    of_test = {f"u{k:03d}" for k in test[:3]}
    of_train = next(f"u{k:03d}" for k in range(1, 240) if k not in test)
    rows = records()
    for row in rows:
        if row["user_id"] in {*of_test, of_train}:
            row["conversation_id"] = HANDED_OVER
    (folder / "log.jsonl").write_bytes(lines(*rows))
    out = folder / "out"
    assert afterword("run", "--input", folder / "log.jsonl", *SETTINGS, "--out", out) == 0
    return out, of_test


def release_of(out: Path) -> Path:
    return out / "releases" / (out / "CURRENT").read_text().strip()


def test_its_turns_of_test_are_in_no_example_and_are_counted(handed_over: tuple[Path, set[str]]):
    out, of_test = handed_over
    release = release_of(out)
    manifest = json.loads((release / "manifest.json").read_text())
    assert manifest["closing"]["curate"]["conversation_in_train"] == 6 * len(of_test)
    lineage = pq.read_table(release / "lineage" / "data").to_pylist()
    desk = conversation_pseudonyms(np.array([HANDED_OVER], dtype=object))[0]
    assert {e["split"] for e in lineage if desk in e["provenance"]["conversations"]} == {"train"}
    behind = {turn for e in lineage for turn in e["provenance"]["turn_ids"]}
    assert not [turn for turn in behind if turn.partition("-")[0] in of_test]
    assert "turn: in a conversation that train has" in (release / "README.md").read_text()
    views = [p for p in release.rglob("*.parquet") if p.parent.parent.name not in ("lineage", "left_out")]
    assert views and not any(
        desk.encode() in json.dumps(pq.read_table(p).to_pylist(), default=str).encode() for p in views
    )


def test_explain_says_so_of_such_a_turn(handed_over: tuple[Path, set[str]], capsys: Any):
    out, of_test = handed_over
    turn = f"{min(of_test)}-0"
    assert afterword("explain", turn, "--out", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["became"]["outcome"] == "conversation_in_train"
    assert afterword("explain", turn, "--out", out) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "users of the train split speak in its conversation too" in said and "make the ids unique" in said


def test_verify_proves_it_from_the_files(
    handed_over: tuple[Path, set[str]], tmp_path: Path, monkeypatch: Any, capsys: Any
):
    """The same run without the pass is refused before anybody is pointed to it."""
    out, _ = handed_over
    again = copy(out, tmp_path / "out")
    # One of the same inputs, with other bytes, would be refused before it is proved.
    shutil.rmtree(release_of(again))
    monkeypatch.setattr(curate, "_share_conversations", lambda *_: None)
    assert afterword("run", "--from", "curate", "--out", again, *SETTINGS[2:]) != 0
    desk = conversation_pseudonyms(np.array([HANDED_OVER], dtype=object))[0]
    assert f"conversation {desk} stands on both sides of the split" in capsys.readouterr().err
    assert release_of(again).name == release_of(out).name
