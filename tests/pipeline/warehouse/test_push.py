"""What a run concluded, into date partitions: each day whole, once, however often."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from fake_bigquery import FakeBigQuery, Held
from in_a_row import LATE, OVER, run, write_days
from synthetic import SETTINGS, afterword, copy

from pipeline.warehouse import loading
from pipeline.warehouse import push as job
from pipeline.warehouse.pushed_tables import TABLES
from pipeline.workspace import Workspace
from schemas import CORRECTION, JUDGEMENT, SIGNALS

TO = "bq://lake.talk"


def push(out: Path, *options: object, code: int = 0) -> None:
    assert afterword("push", "--out", out, "--to", TO, *options) == code


def loaded(fake: FakeBigQuery, table: str) -> dict[str, pa.Table]:
    """Rows of each partition."""
    begin = f"lake.talk.{table}$"
    held = {k.removeprefix(begin): v for k, v in fake.uploads.items() if k.startswith(begin)}
    return {day: pq.read_table(io.BytesIO(data)) for day, data in sorted(held.items())}


@pytest.fixture
def out(repaired: Path, tmp_path: Path) -> Path:
    """An output folder with accepted corrections, that a test may spoil."""
    return copy(repaired, tmp_path / "out")


def test_each_row_is_in_the_partition_of_its_day(fake: FakeBigQuery, out: Path, capsys: Any):
    push(out)
    release = (out / "CURRENT").read_text().strip()
    assert f"pushed    release {release[:12]} to bq://lake.talk" in capsys.readouterr().out
    days = {name: loaded(fake, name) for name in ("signals", "judgements", "corrections")}
    assert [*days["signals"]] == [*days["judgements"]] == [*days["corrections"]] and len(days["signals"]) > 3
    space = Workspace(str(out))
    stages = (("signals", SIGNALS), ("label", JUDGEMENT), ("label", CORRECTION))
    for (stage, record), (name, parts) in zip(stages, days.items(), strict=True):
        for day, rows in parts.items():
            assert set(pc.strftime(rows["event_time"], "%Y%m%d").to_pylist()) <= {day}
            assert set(rows["release_id"].to_pylist()) <= {release}
        rows = pa.concat_tables(parts.values())
        wanted = space.read(stage, name, record).cast(pa.schema([pa.field(f.name, f.type) for f in record.schema]))
        order = [(key, "ascending") for key in record.key]
        assert rows.num_rows == wanted.num_rows > 0
        assert rows.sort_by(order).select(wanted.column_names).cast(wanted.schema).equals(wanted.sort_by(order))
    times = {r["turn_id"]: r["event_time"] for p in days["judgements"].values() for r in p.to_pylist()}
    for rows in days["corrections"].values():
        assert [times[r["turn_id"]] for r in rows.to_pylist()] == rows["event_time"].to_pylist()


def test_the_tables_and_the_load_jobs(fake: FakeBigQuery, out: Path):
    push(out)
    assert [t["tableReference"]["tableId"] for t in fake.created] == ["signals", "judgements", "corrections"]
    judgements = fake.created[1]
    assert judgements["timePartitioning"] == {"type": "DAY", "field": "log_date"}
    assert judgements["description"] == JUDGEMENT.meaning
    kinds = {f["name"]: (f["type"], f["mode"]) for f in judgements["schema"]["fields"]}
    assert kinds["release_id"] == ("STRING", "NULLABLE") and kinds["p_defect"] == ("FLOAT", "NULLABLE")
    assert kinds["is_defect"] == ("BOOLEAN", "NULLABLE") and kinds["event_time"] == ("TIMESTAMP", "NULLABLE")
    assert kinds["log_date"] == ("DATE", "NULLABLE")
    assert kinds["reasons"] == ("RECORD", "REPEATED")
    corrections = {f["name"]: f for f in fake.created[2]["schema"]["fields"]}
    assert corrections["supporting_turns"]["mode"] == "REPEATED" and corrections["event_time"]["type"] == "TIMESTAMP"
    slots = next(f for f in corrections["interpretation"]["fields"] if f["name"] == "slots")
    assert (slots["type"], slots["mode"]) == ("RECORD", "REPEATED")
    release = (out / "CURRENT").read_text().strip()
    for load in fake.loads:
        assert (load["sourceFormat"], load["writeDisposition"]) == ("PARQUET", "WRITE_TRUNCATE")
        assert load["createDisposition"] == "CREATE_NEVER" and load["parquetOptions"] == {"enableListInference": True}
        assert load["timePartitioning"] == judgements["timePartitioning"]
        table, day = load["destinationTable"]["tableId"].split("$")
        assert load["jobId"].startswith(f"afterword_{table}_{day}_")
    jobs = [job for job in fake.jobs.values() if "load" in job["configuration"]]
    assert {job["configuration"]["labels"]["afterword_release"] for job in jobs} == {release[:63]}
    assert {job["jobReference"]["location"] for job in jobs} == {"europe-west3"}


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.name)
def test_every_column_has_its_type_and_meaning_there(table: Any):
    assert [field.name for field in table.fields] == table.schema.names
    assert all(field.description for field in table.fields)


def test_pushed_twice_it_is_there_once(fake: FakeBigQuery, out: Path):
    push(out)
    first, loads = dict(fake.uploads), len(fake.loads)
    push(out)
    assert fake.uploads == first and len(fake.loads) == 2 * loads
    # Under other names, or what another push wrote between the two would stay.
    assert len({load["jobId"] for load in fake.loads}) == 2 * loads


def test_what_another_release_pushed_in_between_is_replaced(fake: FakeBigQuery, out: Path):
    push(out)
    first = dict(fake.uploads)
    fake.uploads = dict.fromkeys(fake.uploads, b"of another push")
    push(out)
    assert fake.uploads == first


def test_a_push_that_was_stopped_finds_its_jobs(fake: FakeBigQuery, out: Path, monkeypatch: Any, capsys: Any):
    load, done = job.load, []

    def stops(*arguments: Any) -> bool:
        found = load(*arguments)
        done.append(arguments)
        if len(done) == 5:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patch:
        patch.setattr(job, "load", stops)
        push(out, code=130)
    assert len(fake.loads) == 5
    push(out)
    assert "5 of them begun by an earlier attempt" in capsys.readouterr().out
    ids = [load["jobId"] for load in fake.loads]
    assert len(set(ids)) == len(ids) == 3 * len(loaded(fake, "signals"))
    ledger = json.loads(next((out / "pushed").iterdir()).read_text())
    assert ledger["done"] and ledger["number"] == 1


def test_a_failure_that_passes_is_tried_again_and_one_that_stays_is_told(
    fake: FakeBigQuery, out: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(loading, "WAIT", 0.0)
    fake.failing = {1: "backendError"}
    push(out)
    ids = [load["jobId"] for load in fake.loads]
    assert ids[1].endswith("_0") and ids[2] == ids[1].removesuffix("_0") + "_1"
    assert len(loaded(fake, "signals")) == len(loaded(fake, "judgements"))
    fake.failing = {len(fake.loads): "invalid"}
    push(out, code=2)
    assert "it failed" in capsys.readouterr().err
    fake.failing = {len(fake.loads) + k: "backendError" for k in range(4)}
    push(out, code=1)
    assert "4 load jobs failed" in capsys.readouterr().err
    # Jobs that failed keep their names for months; once the cause is mended they are passed over.
    fake.failing = {}
    push(out)
    assert len({load["jobId"] for load in fake.loads}) == len(fake.loads)


def test_a_large_file_goes_up_in_pieces(fake: FakeBigQuery, out: Path, monkeypatch: Any):
    push(out)
    first = dict(fake.uploads)
    monkeypatch.setattr("google.cloud.bigquery.client._MAX_MULTIPART_SIZE", 1)
    push(out)
    assert fake.uploads == first


def test_a_day_of_which_nothing_is_left_is_emptied(fake: FakeBigQuery, out: Path):
    push(out)
    ledger = next((out / "pushed").iterdir())
    held = json.loads(ledger.read_text())
    mine = next(iter(held["holders"].values()))
    held["holders"] |= {"20250101": mine, "20240101": mine | {"owner": "another log"}}
    ledger.write_text(json.dumps(held))
    push(out)
    parts = loaded(fake, "judgements")
    assert parts["20250101"].num_rows == 0 and "p_defect" in parts["20250101"].column_names
    # The days of another log are not this one's to empty.
    assert "20240101" not in parts


def test_without_an_interval_days_of_another_log_are_not_replaced_unless_told(
    fake: FakeBigQuery, out: Path, capsys: Any
):
    push(out)
    assert f"replaced  {len(loaded(fake, 'signals'))} day(s) of the log (2026" in capsys.readouterr().out
    first, loads, ledger = dict(fake.uploads), len(fake.loads), next((out / "pushed").iterdir())
    held = json.loads(ledger.read_text())
    days = sorted(held["holders"])
    held["holders"][days[1]] = {"owner": "another log", "release_id": "f" * 64}
    ledger.write_text(json.dumps(held))
    push(out, code=2)
    said = capsys.readouterr().err
    assert f"1 day(s) of this release ({days[1]}) hold rows of another log there, pushed from release fff" in said
    assert "release.interval_start" in said and "--replace" in said
    assert (fake.uploads, len(fake.loads), json.loads(ledger.read_text())) == (first, loads, held)
    push(out, "--replace")
    push(out)
    assert fake.uploads == first


@pytest.fixture(scope="module")
def row(released: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The output folder as it is after each of two days: with a session over midnight, and a turn that came late."""
    folder = tmp_path_factory.mktemp("row")
    logs = write_days(folder / "logs")
    assert run(logs[0], 0, folder / "out", released) == 0
    first = copy(folder / "out", folder / "first")
    assert run(logs[1], 1, folder / "out", released) == 0
    return [first, folder / "out"]


def test_days_in_a_row_leave_one_another_alone_in_any_order(
    fake: FakeBigQuery, row: list[Path], tmp_path: Path, capsys: Any
):
    first, second = (copy(out, tmp_path / out.name) for out in row)
    push(first)
    assert "1 day(s) of the interval (20260301); 3 load jobs" in capsys.readouterr().out
    before = dict(fake.uploads)
    # As one output folder would have it, the second push knows of the first.
    copy(first / "pushed", second / "pushed")
    push(second)
    wanted = dict(fake.uploads)
    assert len(before) == 3 and len(wanted) == 6 and before.items() <= wanted.items()
    judged = loaded(fake, "judgements")
    assert [*judged] == ["20260301", "20260302"] and all(part.num_rows > 300 for part in judged.values())
    # What its run judged of the day before is with the second day.
    of_before = [r for r in judged["20260302"].to_pylist() if f"{r['event_time']:%Y%m%d}" == "20260301"]
    assert {r["turn_id"][:4] for r in of_before} == {OVER, LATE}
    for out in (first, second, second, first):
        push(out)
        assert fake.uploads == wanted
    fake.uploads.clear()
    for out in (second, first):
        push(out)
    assert fake.uploads == wanted


def test_what_cannot_be_pushed(fake: FakeBigQuery, out: Path, capsys: Any):
    assert afterword("push", "--out", out, "--to", "bq://lake.none") == 2
    assert "Not found: Dataset lake.none" in capsys.readouterr().err
    for to in ("lake.talk", "bq://lake.talk.signals", "bq://lake"):
        assert afterword("push", "--out", out, "--to", to) == 2
    fake.tables["lake.talk.judgements"] = Held(pa.table({}))
    push(out, code=2)
    assert "not partitioned by day of log_date" in capsys.readouterr().err and not fake.loads
    assert afterword("run", "--out", out, "--from", "label", *SETTINGS[2:], "--set", "curate.min_users=1") == 0
    old = next(p.name for p in (out / "releases").iterdir() if p.name != (out / "CURRENT").read_text().strip())
    push(out, "--release", old, code=7)
    assert "is gone" in capsys.readouterr().err
