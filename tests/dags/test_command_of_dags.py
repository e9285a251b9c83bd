"""The parts of the DAGs that need no Airflow: the command's arguments, its process, and whose day a work area holds."""

from __future__ import annotations

import hashlib
import json
import shlex
import signal
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

pytest.importorskip("fsspec")
from afterword_area import STAGES, StoreError, carry, missing
from afterword_command import Process, Settings, of_days, run_name

START, END = (datetime(2026, 3, day, tzinfo=timezone.utc) for day in (1, 2))  # noqa: UP017 - as the DAGs, for older Pythons
INTERVAL = [
    *("--set", "release.interval_start=2026-03-01T00:00:00+00:00"),
    *("--set", "release.interval_end=2026-03-02T00:00:00+00:00"),
]


def settings(sets=(), **variables: str) -> Settings:
    held = {"input": "logs/dt=DAY/*.gz", "out": "gs://b/out/"} | variables
    return Settings.read(lambda name: held.get(name, ""), sets)


def test_variables_become_the_arguments_of_each_stage():
    held = settings(
        ["c.d=2", "e.f=x y"],
        bin="/srv/bin/afterword",
        format="dstc",
        config="/run.toml",
        set="a.b=1",
        gold="g1 g2",
        beam="--runner=FnApiRunner",
        models="/m/models.json",
        ready="--expect 's/DAY.json'",
        budget="--max-cost 5 --price-vcpu-hour 0.1",
    )
    common = [
        *("--out", "gs://b/out", "--config", "/run.toml", "--set", "a.b=1", "--set", "models.file=/m/models.json"),
        *("--set", "c.d=2", "--set", "e.f=x y", *INTERVAL, "--", "--runner=FnApiRunner"),
    ]
    reads = ["--input", "logs/dt=2026-03-01/*.gz", "--format", "dstc", "--expect", "s/2026-03-01.json"]
    budget = ["--max-cost", "5", "--price-vcpu-hour", "0.1"]
    ingest = ["/srv/bin/afterword", "ingest", *reads, "--gold", "g1", "--gold", "g2", *budget, *common]
    assert held.stage("ingest", START, END) == ingest
    assert held.stage("curate", START, END) == ["/srv/bin/afterword", "curate", *common]
    assert held.stage("release", START, END) == ["/srv/bin/afterword", "run", "--from", "release", *common]
    assert held.wait(START) == ["/srv/bin/afterword", "ready", *reads]


def test_the_commands_of_a_dag_run_are_one_run_which_the_last_one_tells_of():
    name = run_name("afterword_daily", "scheduled__2026-03-02T00:00:00+00:00", START)
    assert name == "afterword_daily-2026-03-01-1480a818"
    assert name != run_name("afterword_daily", "manual__2026-03-02T00:00:00+00:00", START)
    assert len(run_name("d." * 200, "r", START)) < 64 and run_name("_.ü", "r", START)[0].isalnum()
    variables = {"input": "i", "out": "o", "metrics": "/prom/DAY.prom"}
    held = Settings.read(lambda name: variables.get(name, ""), run_id=name)
    told = ["--metrics", "/prom/2026-03-01.prom"]
    assert held.stage("label", START, END) == ["afterword", "label", "--out", "o", "--run-id", name, *INTERVAL]
    assert held.stage("release", START, END)[1:8] == ["run", "--from", "release", *told, "--out", "o"]
    assert held.stage("release", START, END)[8:10] == ["--run-id", name]


def test_without_models_each_day_fits_its_own_and_defaults_hold():
    held = settings()
    assert held.stage("train", START, END) == ["afterword", "train", "--out", "gs://b/out", *INTERVAL]
    assert held.ready == [] and settings(ready="off").ready is None


def test_a_day_of_a_row_goes_on_where_the_one_before_ended_unless_it_is_told_otherwise():
    variables = {"input": "i", "out": "o", "set": "ingest.incremental=false"}
    held = Settings.read(lambda name: variables.get(name, ""), incremental=True)
    assert held.options == ["--set", "ingest.incremental=true", "--set", "ingest.incremental=false"]
    assert settings().options == []


@pytest.mark.parametrize("name", ["input", "out"])
def test_a_variable_that_is_needed_and_missing_is_named(name):
    with pytest.raises(ValueError, match=f"afterword_{name} is not set"):
        settings(**{name: ""})


def test_training_reads_the_days_before_the_weeks_end_and_no_others():
    assert of_days("gs://b/dt=DAY/*.gz", END, 3) == "gs://b/dt={2026-02-27,2026-02-28,2026-03-01}/*.gz"
    # A folder and a file of one day stay together.
    assert of_days("logs/DAY/x-DAY.gz", END, 2) == "logs/{2026-02-28/x-2026-02-28,2026-03-01/x-2026-03-01}.gz"
    assert of_days("logs/DAY", END, 1) == "logs/2026-03-01"
    assert of_days("logs/*", END, 28) == "logs/*"


def test_a_process_tells_its_lines_and_ends_with_its_own_words(monkeypatch):
    monkeypatch.setenv("AIRFLOW_VAR_SECRET", "s")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    code = """
import os, sys
print([k for k in os.environ if k.startswith("AIRFLOW") or k == "PYTHONPATH"])
print("signals: started", file=sys.stderr)
print("afterword: gate x: does not hold", file=sys.stderr)
sys.exit(4)
"""
    told: list[str] = []
    done = Process().run([sys.executable, "-c", code], told.append)
    assert (done.code, done.output, done.said) == (4, ["[]"], "afterword: gate x: does not hold")
    assert sorted(told) == ["[]", "afterword: gate x: does not hold", "signals: started"]


def test_its_own_words_may_be_json():
    code = """
import json, sys
print(json.dumps({"event": "note", "message": "12"}), file=sys.stderr)
print(json.dumps({"event": "failed", "message": "afterword: gate x: does not hold", "exit_code": 4}), file=sys.stderr)
sys.exit(4)
"""
    assert Process().run([sys.executable, "-c", code], lambda _: None).said == "afterword: gate x: does not hold"


def test_a_traceback_that_quotes_a_log_is_in_the_task_log_alone():
    told: list[str] = []
    done = Process().run([sys.executable, "-c", "raise KeyError('call my mother')"], told.append)
    assert done.code == 1 and "call my mother" in told[-1]
    assert done.said == "no words of its own; the task's log has its output"


@pytest.mark.parametrize("trap", ["", "trap '' TERM;"])
def test_a_process_that_a_signal_handler_stops_takes_what_it_started_with_it(tmp_path: Path, trap: str):
    ticks = tmp_path / "ticks"
    ticks.touch()
    process = Process()
    # As Airflow does it: in the thread that waits for the process.
    before = signal.signal(signal.SIGALRM, lambda *_: process.stop())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        begun = time.monotonic()
        loop = f"{trap} (while true; do echo . >> {shlex.quote(str(ticks))}; sleep 0.05; done) & {trap} wait"
        done = process.run(["/bin/sh", "-c", loop], lambda _: None)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert done.code < 0 and time.monotonic() - begun < 5
    size = ticks.stat().st_size
    time.sleep(0.3)
    assert 0 < size == ticks.stat().st_size


def stages(out: Path, upto: str, start: str = "2026-03-01T00:00:00Z", end: str = "2026-03-02T00:00:00+00:00") -> None:
    """Markers of the stages up to one, each made from the one before."""
    made_from: dict[str, str] = {}
    for stage in STAGES[: STAGES.index(upto) + 1]:
        folder = out / "stages" / stage
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "options.json").write_text(json.dumps({"release": {"interval_start": start, "interval_end": end}}))
        marker = json.dumps({"stage": stage, "upstream": made_from, "at": start})
        (folder / "stage.json").write_text(marker)
        made_from = {stage: hashlib.sha256(marker.encode()).hexdigest()}


def test_stages_of_the_interval_are_held(tmp_path: Path):
    stages(tmp_path, "label")
    assert missing(str(tmp_path), "label", START, END) == []
    assert missing(str(tmp_path), "release", START, END) == ["curate"]
    assert missing(str(tmp_path / "empty"), "signals", START, END) == ["ingest"]
    assert missing(str(tmp_path / "empty"), "ingest", START, END) == []


def test_stages_of_another_day_without_a_marker_or_of_another_run_are_not(tmp_path: Path):
    stages(tmp_path, "curate")
    stages(tmp_path, "ingest", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z")
    assert missing(str(tmp_path), "train", START, END) == ["ingest", "signals"]
    stages(tmp_path, "curate")
    (tmp_path / "stages" / "label" / "stage.json").unlink()
    assert missing(str(tmp_path), "release", START, END) == ["label", "curate"]
    stages(tmp_path, "curate")
    # Ingest was run again for this day, and signals is still of the run before.
    (tmp_path / "stages" / "ingest" / "stage.json").write_text(json.dumps({"upstream": {}, "at": "again"}))
    assert missing(str(tmp_path), "label", START, END) == ["signals", "train"]


def test_object_stores_are_read_and_written_as_folders_are():
    import fsspec

    store = fsspec.filesystem("memory")
    store.pipe_file("/bucket/out/gold/x", b"1")
    options = {"release": {"interval_start": START.isoformat(), "interval_end": END.isoformat()}}
    store.pipe_file("/bucket/out/stages/ingest/options.json", json.dumps(options).encode())
    store.pipe_file("/bucket/out/stages/ingest/stage.json", b'{"upstream": {}}')
    assert missing("memory://bucket/out", "train", START, END) == ["signals"]
    assert carry("memory://bucket/out", "memory://bucket/out/training/w", ("gold", "tombstones")) == 1
    assert store.cat_file("/bucket/out/training/w/gold/x") == b"1"


def test_a_store_without_its_library_says_what_to_install():
    with pytest.raises(StoreError, match=r"nothing://b/stages/ingest/stage\.json: cannot be read.*install gcsfs"):
        missing("nothing://b", "signals", START, END)


def test_what_is_carried_over_is_what_is_there_now(tmp_path: Path):
    (tmp_path / "a" / "gold" / "deep").mkdir(parents=True)
    (tmp_path / "a" / "gold" / "deep" / "x").write_bytes(b"1")
    (tmp_path / "b" / "gold").mkdir(parents=True)
    (tmp_path / "b" / "gold" / "old").write_bytes(b"0")
    assert carry(str(tmp_path / "a"), str(tmp_path / "b"), ("gold", "tombstones")) == 1
    held = {str(p.relative_to(tmp_path / "b")): p.read_bytes() for p in (tmp_path / "b").rglob("*") if p.is_file()}
    assert held == {"gold/deep/x": b"1"}
