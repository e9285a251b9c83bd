"""Rows of BigQuery as files: the same whatever the streams, whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_bigquery import FakeBigQuery, Held
from synthetic import SETTINGS, afterword, tree

from pipeline.warehouse import pull as job

TABLE = "bq://lake.logs.turns"
AT = ("--snapshot", "2026-03-12T00:00:00Z")


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "FILE_ROWS", 500)


def pulled(to: Path, *options: object, source: str = TABLE) -> dict[str, bytes]:
    assert afterword("pull", source, "--to", to, *AT, *options) == 0
    return tree(to)


def test_the_files_hold_each_row_once_with_their_counts(fake: FakeBigQuery, tmp_path: Path, capsys: Any):
    held = pulled(tmp_path / "to")
    said = capsys.readouterr().out
    assert "1,445 rows of bq://lake.logs.turns as of 2026-03-12T00:00:00+00:00" in said and "--expect" in said
    assert sorted(held) == ["counts.json", *(f"data/part-0000{k}-of-00003.parquet" for k in range(3)), "pulled.json"]
    rows = pa.concat_tables(pq.read_table(p) for p in sorted((tmp_path / "to" / "data").iterdir()))
    wanted = fake.tables["lake.logs.turns"].rows
    assert rows.sort_by("turn_id").cast(wanted.schema).equals(wanted.sort_by("turn_id"))
    counts = json.loads(held["counts.json"])
    assert sum(entry["records"] for entry in counts.values()) == 1445
    assert all(entry["bytes"] == len(held[f"data/{name}"]) for name, entry in counts.items())
    for path in (tmp_path / "to" / "data").iterdir():
        assert (times := pq.read_table(path)["event_time"].to_pylist()) == sorted(times)


def test_the_query_and_the_session_ask_for_the_snapshot(fake: FakeBigQuery, tmp_path: Path):
    pulled(tmp_path / "to", "--streams", 3, "--project", "payer")
    asked = fake.queries[0]
    at = "FOR SYSTEM_TIME AS OF TIMESTAMP '2026-03-12 00:00:00+00:00'"
    assert asked["query"] == f"SELECT COUNT(*) AS records FROM `lake.logs.turns` {at}"
    assert asked["useQueryCache"] is False and asked["useLegacySql"] is False
    session = fake.sessions[0]
    assert session.parent == "projects/payer" and session.max_stream_count == 3
    assert session.read_session.table == "projects/lake/datasets/logs/tables/turns"
    assert session.read_session.table_modifiers.snapshot_time.isoformat() == "2026-03-12T00:00:00+00:00"
    assert session.read_session.data_format.name == "ARROW"


def test_streams_their_number_their_order_and_breaks_change_no_byte(fake: FakeBigQuery, tmp_path: Path):
    wanted = pulled(tmp_path / "one", "--streams", 1)
    fake.seed, fake.breaks_at = 5, 100
    assert pulled(tmp_path / "seven", "--streams", 7) == wanted
    assert fake.broken
    fake.breaks_at = None
    fake.tables["lake.logs.turns"].rows = fake.tables["lake.logs.turns"].rows.sort_by([("utterance", "descending")])
    assert pulled(tmp_path / "two", "--streams", 2) == wanted


def test_a_partition_is_a_condition_of_query_and_session_alike(fake: FakeBigQuery, tmp_path: Path):
    held = pulled(tmp_path / "to", source=f"{TABLE}$20260302")
    where = (
        "`event_time` >= CAST('2026-03-02 00:00:00+00:00' AS TIMESTAMP) AND "
        "`event_time` < CAST('2026-03-03 00:00:00+00:00' AS TIMESTAMP)"
    )
    assert fake.queries[0]["query"].endswith(f" WHERE {where}")
    assert fake.sessions[0].read_session.read_options.row_restriction == where
    assert fake.sessions[0].read_session.table == "projects/lake/datasets/logs/tables/turns"
    assert json.loads(held["pulled.json"])["records"] == 144
    days = pq.read_table(tmp_path / "to" / "data")["event_time"]
    assert {t.date().isoformat() for t in days.to_pylist()} == {"2026-03-02"}


def test_a_table_cut_by_arrival(fake: FakeBigQuery, tmp_path: Path, synthetic_turns: pa.Table):
    rows = synthetic_turns.append_column("_PARTITIONTIME", synthetic_turns["event_time"])
    fake.tables["lake.logs.arrived"] = Held(rows, partitioning={"type": "HOUR"})
    held = pulled(tmp_path / "to", source="bq://lake.logs.arrived$2026030210")
    assert json.loads(held["pulled.json"])["records"] == 6
    assert "_PARTITIONTIME >= CAST('2026-03-02 10:00:00+00:00' AS TIMESTAMP)" in fake.queries[0]["query"]


@pytest.mark.long
def test_a_run_over_pulled_files_is_the_run_over_the_log(fake: FakeBigQuery, tmp_path: Path):
    for name, streams in (("a", 1), ("b", 5)):
        fake.seed += 1
        to = tmp_path / name
        pulled(to, "--streams", streams)
        read = ("--input", to / "data", "--expect", to / "counts.json")
        assert afterword("run", *read, *SETTINGS, "--out", to / "out") == 0
    releases = tree(tmp_path / "a" / "out" / "releases")
    assert tree(tmp_path / "b" / "out" / "releases") == releases
    manifest = json.loads(next(data for name, data in releases.items() if name.endswith("manifest.json")))
    assert manifest["closing"]["ingest"]["kept"] == 1445 and "dead_lettered" not in manifest["closing"]["ingest"]


def test_a_query_is_read_from_where_its_answer_lies(fake: FakeBigQuery, tmp_path: Path, synthetic_turns: pa.Table):
    sql = "SELECT * FROM `lake.logs.raw` FOR SYSTEM_TIME AS OF @snapshot"
    (tmp_path / "q.sql").write_text(f"{sql};\n")
    asked = "SELECT * FROM `lake.logs.raw` FOR SYSTEM_TIME AS OF TIMESTAMP '2026-03-12 00:00:00+00:00'"
    fake.answers[asked] = synthetic_turns.slice(0, 60)
    source = f"bq+query:{tmp_path / 'q.sql'}"
    held = pulled(tmp_path / "to", source=source)
    assert fake.queries[0]["query"] == asked
    session = fake.sessions[0].read_session
    assert session.table == "projects/lake/datasets/_answers/tables/1" and not session.read_options.row_restriction
    assert "snapshot_time" not in session.table_modifiers
    assert json.loads(held["pulled.json"])["records"] == 60


def test_pulled_again_it_is_there_already_and_another_time_is_refused(fake: FakeBigQuery, tmp_path: Path, capsys: Any):
    wanted = pulled(tmp_path / "to")
    assert pulled(tmp_path / "to") == wanted and len(fake.sessions) == 1
    assert "were there already" in capsys.readouterr().out
    assert afterword("pull", TABLE, "--to", tmp_path / "to", "--snapshot", "2026-03-13T00:00:00Z") == 2
    assert "it holds bq://lake.logs.turns as of 2026-03-12" in capsys.readouterr().err
    assert afterword("pull", f"{TABLE}$20260302", "--to", tmp_path / "to", *AT) == 2
    assert afterword("pull", TABLE, "--to", tmp_path / "to") == 2
    next((tmp_path / "to" / "data").iterdir()).write_bytes(b"")
    assert afterword("pull", TABLE, "--to", tmp_path / "to", *AT) == 2
    assert "remove" in capsys.readouterr().err


def test_a_pull_that_was_stopped_is_begun_again(fake: FakeBigQuery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wanted = pulled(tmp_path / "whole")
    encode, made = job.storage.encode, []

    def stops(table: pa.Table) -> bytes:
        if len(made) == 2:
            raise OSError(28, "No space left on device")
        made.append(table.num_rows)
        return encode(table)

    with monkeypatch.context() as patch:
        patch.setattr(job.storage, "encode", stops)
        assert afterword("pull", TABLE, "--to", tmp_path / "to", *AT) == 1
    assert not (tmp_path / "to" / "pulled.json").exists() and not (tmp_path / "to" / "counts.json").exists()
    (tmp_path / "to" / "data" / "part-00009-of-00010.parquet").write_bytes(b"of other rows")
    assert pulled(tmp_path / "to") == wanted


def test_rows_that_are_lost_on_the_way_are_noticed(fake: FakeBigQuery, tmp_path: Path, capsys: Any):
    fake.lost_rows = 1
    assert afterword("pull", TABLE, "--to", tmp_path / "to", *AT) == 4
    assert "1,445 rows were counted, 1,444 were read" in capsys.readouterr().err
    assert not (tmp_path / "to" / "pulled.json").exists()


@pytest.mark.parametrize(
    ("source", "options", "code", "said"),
    [
        ("bq://lake.logs.none", AT, 8, "Not found: Table lake.logs.none"),
        (f"{TABLE}$20250101", AT, 8, "no rows as of 2026-03-12"),
        (f"{TABLE}$2026", AT, 2, "a partition a day; $20261101 is wanted"),
        (f"{TABLE}$202603021", AT, 2, "a partition a day"),
        (f"{TABLE}$__NULL__", AT, 2, "a partition a day"),
        ("bq://lake.logs.flat$20260301", AT, 2, "not partitioned by time"),
        ("bq://lake.logs.view", AT, 2, "a view, which no read session opens"),
        ("bq://turns", AT, 2, "bq://project.dataset.table"),
        ("lake.logs.turns", AT, 2, "bq://project.dataset.table"),
        ("bq+query:none.sql", AT, 2, "cannot be read"),
        (TABLE, ("--snapshot", "2026-03-12"), 2, "a time with an offset"),
        (TABLE, ("--snapshot", "now"), 2, "a time with an offset"),
    ],
)
def test_what_cannot_be_pulled(
    fake: FakeBigQuery, tmp_path: Path, capsys: Any, source: str, options: tuple[str, ...], code: int, said: str
):
    fake.tables["lake.logs.view"] = Held(pa.table({}), "VIEW")
    fake.tables["lake.logs.flat"] = Held(pa.table({}))
    assert afterword("pull", source, "--to", tmp_path / "to", *options) == code
    assert said in capsys.readouterr().err and not (tmp_path / "to").exists()


def test_a_query_that_is_wrong(fake: FakeBigQuery, tmp_path: Path, capsys: Any):
    (tmp_path / "q.sql").write_text("syntax error")
    assert afterword("pull", f"bq+query:{tmp_path / 'q.sql'}", "--to", tmp_path / "to") == 2
    assert "BigQuery refuses (400: " in capsys.readouterr().err


def test_a_folder_of_others_is_not_touched(fake: FakeBigQuery, tmp_path: Path, capsys: Any):
    (tmp_path / "to" / "data").mkdir(parents=True)
    (tmp_path / "to" / "data" / "mine.parquet").write_bytes(b"mine")
    assert afterword("pull", TABLE, "--to", tmp_path / "to", *AT) == 2
    assert tree(tmp_path / "to") == {"data/mine.parquet": b"mine"}


def test_a_table_is_no_input_and_the_message_says_what_to_do(tmp_path: Path, capsys: Any):
    assert afterword("ingest", "--input", TABLE, "--format", "canonical", "--out", tmp_path / "out") == 2
    assert f"afterword pull {TABLE} --to FOLDER" in capsys.readouterr().err


def test_without_credentials(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch):
    for name in ("BIGQUERY_EMULATOR_HOST", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", os.fspath(tmp_path / "none.json"))
    assert afterword("pull", TABLE, "--to", tmp_path / "to") == 2
    assert "no credentials" in capsys.readouterr().err


def test_the_warehouse_says_how_many_records_files_must_have(fake: FakeBigQuery, tmp_path: Path, capsys: Any):
    day = f"{TABLE}$20260302"
    pulled(tmp_path / "to", source=day)
    look = ("ready", "--input", tmp_path / "to" / "data", "--format", "canonical", "--expect")
    read = ("ingest", *look[1:-1], "--out", tmp_path / "out", "--expect")
    assert afterword(*look, day) == 0 and afterword(*read, day) == 0
    assert afterword(*read, f"{TABLE}$20260303") == 0
    assert afterword(*read, TABLE) == 8
    assert "1,445 records expected, 144 there" in capsys.readouterr().err
    sql = tmp_path / "counts.sql"
    sql.write_text("SELECT path, records FROM x")
    fake.answers["SELECT path, records FROM x"] = pa.table({"path": ["part-*"], "records": [144]})
    assert afterword(*read, f"bq+query:{sql}") == 0
    fake.answers["SELECT path, records FROM x"] = pa.table({"path": ["part-*", "q"], "records": [144, 1]})
    assert afterword(*look, f"bq+query:{sql}") == 8
    assert "q: no file (1 records expected)" in capsys.readouterr().err


def test_who_pays_where_the_warehouse_is_asked(fake: FakeBigQuery, tmp_path: Path):
    day, pays = f"{TABLE}$2026-03-02", ("--project", "payer")
    pulled(tmp_path / "to", source=day)
    files = ("--input", tmp_path / "to" / "data", "--format", "canonical")
    sql = tmp_path / "counts.sql"
    sql.write_text("SELECT path, records FROM x")
    fake.answers["SELECT path, records FROM x"] = pa.table({"path": ["part-*"], "records": [144]})
    asked = [
        ("ready", "--input", day, "--format", "canonical"),
        ("ready", *files, "--expect", day),
        ("ready", *files, "--expect", f"bq+query:{sql}"),
        ("ingest", *files, "--out", tmp_path / "out", "--expect", day),
    ]
    for command in asked:
        fake.payers.clear()
        assert afterword(*command) == 0 and set(fake.payers) == {"lake"}
        fake.payers.clear()
        assert afterword(*command, *pays) == 0 and set(fake.payers) == {"payer"}
    # It is refused by what is there, before a run does anything.
    fake.payers.clear()
    run = ("run", *files, "--out", tmp_path / "run", "--expect", TABLE, *pays)
    assert afterword(*run) == 8 and fake.payers == ["payer"]


def test_a_run_over_a_table_is_planned_from_its_metadata(fake: FakeBigQuery, tmp_path: Path, capsys: Any):
    plan = ("plan", "--format", "canonical", "--json", "--project", "payer", "--input")
    assert afterword(*plan, f"{TABLE}$2026-03-02") == 0
    day = json.loads(capsys.readouterr().out)
    assert afterword(*plan, TABLE) == 0
    whole = json.loads(capsys.readouterr().out)
    assert (day["turns"], whole["turns"], day["files"]) == (144, 1445, 1)
    held = fake.tables["lake.logs.turns"].rows
    assert whole["bytes"] == held.nbytes and day["bytes"] == round(held.nbytes / 1445 * 144)
    assert whole["turn_bytes"] == round(held.nbytes / 1445, 1) and "afterword pull" in whole["notes"][-1]
    assert fake.payers == ["payer", "payer"] and not fake.sessions
    # Whose rows only a run of it could count.
    (tmp_path / "q.sql").write_text("SELECT 1")
    assert afterword(*plan, f"bq+query:{tmp_path / 'q.sql'}") == 2 and len(fake.queries) == 2
    assert afterword(*plan, "bq://lake.logs.none") == 8


def test_a_sensor_may_look_at_the_table_itself(fake: FakeBigQuery, tmp_path: Path, capsys: Any):
    look = ("ready", "--format", "canonical", "--input")
    day = f"{TABLE}$20260302"
    assert afterword(*look, day) == 0 and "144 rows" in capsys.readouterr().out and not fake.sessions
    assert afterword(*look, f"{TABLE}$20250101") == 8 and afterword(*look, "bq://lake.logs.none") == 8
    counts = tmp_path / "counts.json"
    for records, code in ((144, 0), (145, 8), (143, 3)):
        counts.write_text(json.dumps({".": records}))
        assert afterword(*look, day, "--expect", counts) == code
    assert afterword(*look, day, "--marker", "_SUCCESS") == 2
