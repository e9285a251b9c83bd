from __future__ import annotations

import hashlib
import hmac
import io
import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from build import turns
from leaver import traces
from synthetic import lines, record

from features.hashing import pseudonyms
from pipeline.config import load
from pipeline.errors import ConfigError
from pipeline.filters.tombstones import KEY_VARIABLE, Tombstones, drop_forgotten, tombstone_files
from pipeline.gates.counts import by_outcome
from pipeline.jobs import ingest
from pipeline.jobs.context import Context
from pipeline.progress import Progress
from pipeline.workspace import Workspace
from schemas import GOLD, TURN


def read(folder: Path, out: Path, *gold: str, overrides: tuple[str, ...] = ()) -> tuple[list[dict[str, Any]], dict]:
    context = Context(Workspace(str(out)), load(None, list(overrides)), progress=Progress(io.StringIO()))
    ingest.run(context, str(folder), "canonical", gold)
    return context.workspace.read("ingest", "turns", TURN).to_pylist(), by_outcome(context.workspace.counts("ingest"))


def test_a_tombstone_is_the_hmac_of_the_subject_id_under_a_key_of_its_own(tmp_path: Path):
    files = tombstone_files(str(tmp_path), None)
    assert files.load() is None and not (tmp_path / "tombstones").exists()
    found = files.add(["u1", "ü2"])
    key = bytes.fromhex((tmp_path / "tombstones" / "key").read_text())
    assert len(key) == 32 and stat.S_IMODE((tmp_path / "tombstones" / "key").stat().st_mode) == 0o600
    assert found.macs == sorted(hmac.new(key, s.encode(), hashlib.sha256).hexdigest() for s in ("u1", "ü2"))
    assert files.add(["u1"]).macs == found.macs and files.load() == found
    assert "u1" not in (tmp_path / "tombstones" / "macs.json").read_text()
    assert "key" not in repr(found).replace("key_check", "")


def test_two_keys_give_two_hashes():
    one, other = (Tombstones(bytes([k]) * 32, {}).mac("u") for k in (1, 2))
    assert one != other


def test_subjects_and_pseudonyms_are_told_and_nobody_is_taken_for_another():
    blank = Tombstones(b"k" * 32, {})
    held = Tombstones(b"k" * 32, blank.mark(["u1"]))
    name = str(pseudonyms(np.array(["u1"], dtype=object))[0])
    subjects = pa.array(["u1", "u11", None, "", name, "u1"])
    assert held.is_forgotten(subjects).tolist() == [True, False, False, False, False, True]
    assert held.is_forgotten_pseudonym(pa.array([name, "u1", None])).tolist() == [True, False, False]
    assert blank.is_forgotten(subjects).sum() == 0 and not len(held.is_forgotten(pa.array([], pa.string())))


def test_turns_of_users_and_of_conversations_go_and_their_labels_too():
    blank = Tombstones(b"k" * 32, {})
    held = Tombstones(b"k" * 32, blank.mark(["u1", "conv:c9"]))
    table = turns(
        {"subject_id": "u1", "user_id": "u1", "conversation_id": "c1"},
        {"subject_id": "u2", "user_id": "u2", "conversation_id": "c9"},
        {"subject_id": "conv:c9", "user_known": False, "conversation_id": "c9"},
        {"subject_id": "u2", "user_id": "u2", "conversation_id": None},
    )
    label = {"definition": "breakdown", "value": 1.0, "source": "s"}
    gold = pa.Table.from_pylist(
        [dict.fromkeys(GOLD.names) | label | {"turn_id": f"t{k:03d}"} for k in range(4)], schema=GOLD.schema
    )
    kept, labels, gone = drop_forgotten(table, gold, held)
    assert kept["turn_id"].to_pylist() == labels["turn_id"].to_pylist() == ["t003"] and gone == 3
    assert drop_forgotten(table, gold, None) == (table, gold, 0)


def test_a_missing_or_another_key_stops_the_run_before_anything_is_read(tmp_path: Path):
    out, log = tmp_path / "out", tmp_path / "log"
    log.mkdir()
    (log / "a.jsonl").write_bytes(lines(record()))
    tombstone_files(str(out), None).add(["gone"])
    key = out / "tombstones" / "key"
    held = key.read_text()
    key.write_text("ab" * 32)
    with pytest.raises(ConfigError, match="not the key"):
        read(log, out)
    key.write_text("short")
    with pytest.raises(ConfigError, match="32 bytes"):
        read(log, out)
    key.unlink()
    with pytest.raises(ConfigError, match="key of the tombstones is missing"):
        read(log, out)
    assert not (out / "stages").exists()
    (tmp_path / "elsewhere").write_text(held)
    assert len(read(log, out, overrides=(f"forget.key={tmp_path / 'elsewhere'}",))[0]) == 1


def test_the_environment_may_name_the_key_and_no_release_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "k" / "key"))
    tombstone_files(str(tmp_path / "out"), None).add(["u"])
    assert (tmp_path / "k" / "key").exists() and not (tmp_path / "out" / "tombstones" / "key").exists()
    assert tombstone_files("out", "named").key == "named"
    assert "forget" not in load(None, ["forget.key=secret"]).resolved()


def test_a_forgotten_user_is_dropped_at_ingest_and_counted(tmp_path: Path):
    out, log = tmp_path / "out", tmp_path / "log"
    log.mkdir()
    label = {"definition": "breakdown", "value": 1.0, "source": "people"}
    (log / "a.jsonl").write_bytes(
        lines(
            record(turn_id="keep-1", user_id="stays"),
            record(turn_id="gone-1", user_id="leaves", utterance="a pelican"),
            record(turn_id="gone-1", user_id="leaves", utterance="a pelican again"),
            record(turn_id="gone-2", user_id=None, conversation_id="talk", utterance="a pelican"),
            record(turn_id="bad", user_id="leaves", utterance=" "),
        )
    )
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(json.dumps(label | {"turn_id": t}) + "\n" for t in ("keep-1", "gone-1")))
    tombstone_files(str(out), None).add(["leaves", "conv:talk"])
    rows, outcomes = read(log, out, str(gold))
    assert [r["turn_id"] for r in rows] == ["keep-1"]
    assert {k: outcomes[k] for k in ("in", "kept", "forgotten", "dead_lettered")} == {
        "in": 5,
        "kept": 1,
        "forgotten": 3,
        "dead_lettered": 1,
    }
    assert traces(out, ("leaves", "pelican", "gone-1", "gone-2")) == {}
    held = pq.read_table(out / "stages" / "ingest" / "gold").to_pylist()
    assert [r["turn_id"] for r in held] == ["keep-1"]


def test_nobody_forgotten_leaves_the_counts_as_they_were(tmp_path: Path):
    log = tmp_path / "log"
    log.mkdir()
    (log / "a.jsonl").write_bytes(lines(record()))
    _, outcomes = read(log, tmp_path / "out")
    assert "forgotten" not in outcomes
