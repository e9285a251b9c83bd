"""Inputs that broke others, those of sessions and time: each name holds the input's number and what comes in.

Each goes through the real stages, from a file of the log on.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from synthetic import SETTINGS, afterword, lines, record, tree

from pipeline.config import load
from pipeline.errors import GateError
from pipeline.gates.counts import by_outcome
from pipeline.jobs import ingest, signals
from pipeline.jobs.context import Context
from pipeline.progress import Progress
from pipeline.transforms.shuffle import KeyHash, split
from pipeline.workspace import Workspace
from schemas import DEAD_LETTER, SIGNALS, TURN


class Read:
    """A log through stage ingest: its turns, dead letters, counts, and what the person was told."""

    def __init__(self, folder: Path, *overrides: str, beam: tuple[str, ...] = (), **files: bytes) -> None:
        log = folder / "log"
        log.mkdir(parents=True)
        for name, data in files.items():
            (log / f"{name}.jsonl").write_bytes(data)
        self.told = io.StringIO()
        self.space = Workspace(str(folder / "out"))
        self.context = Context(self.space, load(None, list(overrides)), list(beam), progress=Progress(self.told))
        ingest.run(self.context, str(log), "canonical")
        self.turns = self.space.read("ingest", "turns", TURN).to_pylist()
        self.dead = self.space.read("ingest", "dead_letters", DEAD_LETTER).to_pylist()
        self.counts = by_outcome(self.space.counts("ingest"))

    def of(self, *names: str) -> list[Any]:
        """Columns of the turns, in the total order."""
        return [row[names[0]] if len(names) == 1 else tuple(row[n] for n in names) for row in self.turns]

    def signals(self) -> pa.Table:
        """Stage signals over it."""
        signals.run(self.context)
        return self.space.read("signals", "signals", SIGNALS)


def dialog(rows: int, **fields: Any) -> list[dict[str, Any]]:
    at = "2026-03-01T09:{:02d}:00Z"
    return [
        record(turn_id=f"t{k:02d}", event_time=at.format(k), sequence=k, utterance=f"say {k}", **fields)
        for k in range(rows)
    ]


@pytest.mark.parametrize("ids", [True, False])
def test_07_a_dialog_that_is_replayed_after_each_restart_is_there_once(tmp_path: Path, ids: bool):
    rows = [row if ids else {k: v for k, v in row.items() if k != "turn_id"} for row in dialog(26)]
    read = Read(tmp_path, a=lines(*rows[:4]), b=lines(*rows[:11]), c=lines(*rows))
    assert read.of("utterance") == [f"say {k}" for k in range(26)]
    assert len(set(read.of("turn_id"))) == 26
    assert (read.counts["in"], read.counts["kept"], read.counts["superseded"]) == (41, 26, 15)


def test_08_the_last_session_alone_of_a_conversation_is_not_what_the_source_counted(tmp_path: Path, capsys: Any):
    sessions = [dialog(3, conversation_id="c") for _ in range(3)]
    whole = [row | {"turn_id": f"{n}{row['turn_id']}"} for n, rows in enumerate(sessions) for row in rows]
    counted = tmp_path / "counts.json"
    counted.write_text(json.dumps({"log.jsonl": len(whole)}))
    log = tmp_path / "in"
    log.mkdir()
    run = ("ingest", "--input", log, "--format", "canonical", "--out", tmp_path / "out", "--expect", counted)
    (log / "log.jsonl").write_bytes(lines(*whole[6:]))
    assert afterword(*run) == 8
    assert re.search(r"log\.jsonl: .*9.*3 .*6 lack", capsys.readouterr().err)
    assert not (tmp_path / "out" / "stages" / "ingest" / "stage.json").exists()
    (log / "log.jsonl").write_bytes(lines(*whole))
    assert afterword(*run) == 0
    # Twice as many is no less wrong.
    (log / "log.jsonl").write_bytes(lines(*whole, *whole))
    assert afterword(*run) == 3


def test_09_parents_that_do_not_exist_replies_to_themselves_and_cycles_are_orphans_and_nothing_is_lost(tmp_path: Path):
    parents = {"gone": "nobody", "self": "self", "a": "c", "b": "a", "c": "b", "on": "c", "root": None, "kid": "root"}
    rows = [record(turn_id=turn, parent_id=parent) for turn, parent in parents.items()]
    # The parent of this one is another user's.
    rows.append(record(turn_id="else", parent_id="root", user_id="v"))
    read = Read(tmp_path, a=lines(*rows[::2]), b=lines(*rows[1::2]))
    held = {row["turn_id"]: (row["parent_id"], row["orphan"]) for row in read.turns}
    assert held == {
        "gone": (None, True),
        "self": (None, True),
        "a": (None, True),
        "b": ("a", False),
        "c": ("b", False),
        "on": ("c", False),
        "root": (None, None),
        "kid": ("root", False),
        "else": (None, True),
    }
    assert (read.counts["in"], read.counts["kept"], read.counts["orphans"]) == (9, 9, 4)
    assert "4 turn(s) are orphans" in read.told.getvalue()


def test_10_siblings_without_times_of_their_own_stand_after_their_parent_by_id(tmp_path: Path):
    family = {"z": None, "y": "z", "b": "y", "a": "z", "c": "y"}
    rows = [record(turn_id=turn, parent_id=parent) for turn, parent in family.items()]
    orders = [rows, rows[::-1]]
    for n, order in enumerate(orders):
        assert Read(tmp_path / str(n), a=lines(*order)).of("turn_id") == ["z", "a", "y", "b", "c"]


def test_10_a_turn_without_any_time_is_a_dead_letter(tmp_path: Path):
    read = Read(tmp_path, a=lines(record(), record(turn_id="x", event_time=None, parent_id="t")))
    assert read.of("turn_id") == ["t"] and [d["reason"] for d in read.dead] == ["missing_time"]


def test_11_turns_without_a_conversation_are_their_users_or_dead_letters(tmp_path: Path):
    nobody = [None, "", "  "]
    rows = [record(turn_id=f"u{k}", user_id=f"u{k}", conversation_id=c) for k, c in enumerate(nobody)]
    rows += [record(turn_id=f"n{k}", user_id=c, conversation_id=c) for k, c in enumerate(nobody)]
    rows += [record(turn_id="c", user_id=None, conversation_id="c")]
    read = Read(tmp_path, a=lines(*rows))
    assert sorted(read.of("subject_id", "turn_id")) == [("conv:c", "c"), ("u0", "u0"), ("u1", "u1"), ("u2", "u2")]
    assert [d["reason"] for d in read.dead] == ["missing_subject"] * 3
    assert not [row for row in read.turns if "none" in str(row["subject_id"]).lower()]


def test_12_of_two_records_with_one_id_and_time_the_one_read_last_stays(tmp_path: Path):
    one, two, three = (record(utterance=text, received_time="2026-03-01T10:00:00Z") for text in ("one", "two", "three"))
    fill = [record(turn_id=f"f{k}", user_id=f"f{k}") for k in range(20)]
    for size in (1 << 26, 500):
        read = Read(tmp_path / str(size), f"shuffle.bucket_bytes={size}", a=lines(one, *fill), b=lines(three, two))
        assert [row["utterance"] for row in read.turns if row["turn_id"] == "t"] == ["two"]
    # The order of the files is that of their names, whatever was written first.
    assert "one" in Read(tmp_path / "z", b=lines(one), a=lines(three, two)).of("utterance")


@pytest.mark.parametrize(("zone", "hour"), [("America/New_York", 14), ("Asia/Kolkata", 4)])
def test_13_naive_times_are_of_the_declared_zone_beside_those_with_an_offset(tmp_path: Path, zone: str, hour: int):
    times = {"naive": "2026-03-01T09:30:00", "offset": "2026-03-01T09:30:00+02:00", "utc": "2026-03-01T09:30:00Z"}
    data = lines(*(record(turn_id=k, user_id=k, event_time=t) for k, t in times.items()))
    read = Read(tmp_path, f'ingest.timezone="{zone}"', a=data)
    found = {row["turn_id"]: row["event_time"].isoformat() for row in read.turns}
    assert found == {
        "naive": f"2026-03-01T{hour:02d}:{'30' if hour == 14 else '00'}:00+00:00",
        "offset": "2026-03-01T07:30:00+00:00",
        "utc": "2026-03-01T09:30:00+00:00",
    }
    # Without a zone nobody guesses.
    none = Read(tmp_path / "none", a=data)
    assert none.of("turn_id") == ["offset", "utc"] and [d["reason"] for d in none.dead] == ["naive_time"]


def test_15_a_user_of_50_000_turns_goes_on_in_the_next_segment(tmp_path: Path):
    at = datetime(2026, 3, 1, tzinfo=UTC)
    rows = [
        record(turn_id=f"{k:05d}", event_time=(at + timedelta(seconds=k)).isoformat(), utterance=f"say {k % 7}")
        for k in range(50_000)
    ]
    # The last turn first, over two files: the cut comes after the sort.
    files = {"a": lines(*rows[::-2]), "b": lines(record(turn_id="other", user_id="v"), *rows[-2::-2])}
    read = Read(tmp_path, "signals.session_cap=15000", **files)
    assert read.counts["kept"] == 50_001
    table = read.signals()
    assert table["turn_id"].to_pylist() == [f"{k:05d}" for k in range(50_000)] + ["other"]
    sessions = Counter(table["session_id"].to_pylist())
    assert sessions == {"00000": 15_000, "15000": 15_000, "30000": 15_000, "45000": 5_000, "other": 1}


def test_15_the_text_of_a_session_is_capped_too(tmp_path: Path):
    rows = [row | {"response": "x" * 400} for row in dialog(9)]
    read = Read(tmp_path, "signals.session_bytes=1300", a=lines(*rows))
    assert list(Counter(read.signals()["session_id"].to_pylist()).values()) == [3, 3, 3]


@pytest.mark.parametrize(
    "keys",
    [
        np.array([1.0, 2.0]),
        np.array(["2026-03-01", "2026-03-02"], "datetime64[us]"),
        np.array([True, False]),
        np.array([1, 2], dtype=object),
    ],
)
def test_16_keys_that_runners_would_merge_are_refused(keys: Any):
    with pytest.raises(TypeError, match="integers are wanted as keys"):
        list(split(pa.table({"a": [1, 2]}), keys))


def test_16_keys_are_pythons_own_integers_made_of_text_alone():
    table = pa.table({"id": pa.array(["a", "b"]), "n": pa.array([1, 2]), "at": pa.array([1, 2], pa.timestamp("us"))})
    assert {type(key) for key, _ in split(table, np.array([1, 2], np.uint16))} == {int}
    assert (
        KeyHash("id", 1 << 40)(table).tolist()
        == KeyHash("id", 1 << 40)(table.set_column(0, "id", table["id"].dictionary_encode())).tolist()
    )
    for column in ("n", "at"):
        with pytest.raises(TypeError, match=f"by {column}: a column of text is wanted"):
            KeyHash(column, 3)(table)
    with pytest.raises(ValueError, match="a key a row is wanted"):
        list(split(table, np.array([1])))


@pytest.mark.parametrize(
    ("mode", "data"),
    [*(("in_memory", data) for data in (None, b"", b"\n", b"{bad\n")), ("multi_processing", b"")],
)
def test_17_no_input_rows_are_refused_and_the_last_release_stays(
    tmp_path: Path, released: Path, capsys: Any, mode: str, data: bytes | None
):
    before = tree(released / "releases") | {"CURRENT": (released / "CURRENT").read_bytes()}
    log, out = tmp_path / "log", tmp_path / "out"
    log.mkdir()
    (out / "releases").mkdir(parents=True)
    for name, held in before.items():
        path = out / ("" if name == "CURRENT" else "releases") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(held)
    if data is not None:
        (log / "a.jsonl").write_bytes(data)
    runner = ("--", "--runner=FnApiRunner", f"--direct_running_mode={mode}", "--direct_num_workers=2")
    assert afterword("run", "--input", log, *SETTINGS, "--out", out, *runner) == 3
    said = capsys.readouterr().err
    assert ("no file to read" if data is None else "the input holds no usable turn: 1 file(s)") in said
    assert tree(out / "releases") | {"CURRENT": (out / "CURRENT").read_bytes()} == before


def _many(users: int) -> bytes:
    return lines(*(record(turn_id=f"{u}-{k}", user_id=f"u{u}") for u in range(users) for k in range(3)))


def test_18_what_is_committed_to_hundreds_of_files_is_what_came_in(tmp_path: Path):
    read = Read(tmp_path, "shuffle.bucket_bytes=300", a=_many(300))
    files = list((tmp_path / "out" / "stages" / "ingest" / "turns").glob("bucket-*.parquet"))
    assert len(files) > 150
    assert read.counts["in"] == read.counts["kept"] == 900
    assert sum(pq.read_metadata(f).num_rows for f in files) == 900
    assert len(set(read.of("turn_id"))) == 900


def test_18_a_file_that_was_lost_without_a_word_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # As a rename that failed and was not told: neither the file nor its checksum is there, and the count says it is.
    finish = Workspace.finish

    def lost(space: Workspace, stage: str, facts: dict[str, Any]) -> None:
        if stage == "ingest":
            bucket = sorted((tmp_path / "out" / "stages" / "ingest" / "turns").glob("bucket-*.parquet"))[7]
            for path in bucket.parent.glob(f"*{bucket.name}*"):
                path.unlink()
        finish(space, stage, facts)

    monkeypatch.setattr(Workspace, "finish", lost)
    read = Read(tmp_path, "shuffle.bucket_bytes=3000", a=_many(200))
    assert len(read.turns) < read.counts["kept"] == 600
    with pytest.raises(GateError, match="600 rows were handed on"):
        read.signals()
