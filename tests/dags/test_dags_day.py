"""The real job, run by Airflow: one day of real calls, and a backfill of made-up ones."""

from __future__ import annotations

import json

import pytest
from runs import events, release_of, run, states, tree

pytestmark = pytest.mark.airflow
STAGES = ["ingest", "signals", "train", "label", "curate", "release"]
DONE = dict.fromkeys(["ready", *STAGES, "report"], "success")


def test_a_day_of_real_calls_becomes_a_verified_release(airflow, command, calls, variables, tmp_path, capfd):
    day, folder = calls
    out = tmp_path / "out"
    variables(bin=command, input=folder / "DAY", format="dstc", out=out, set="curate.min_users=2")
    variables(metrics=tmp_path / "DAY.prom")
    # A day by itself: the calls go on for hours after the interval, and would wait for the next run.
    assert states(run("afterword_daily", day, set=["train.folds=3"], incremental=False)) == DONE

    release = release_of(out, day)
    assert (out / "CURRENT").read_text().strip() == release.name
    manifest = json.loads((release / "manifest.json").read_text())
    assert {entry["uri"] for entry in manifest["identity"]["inputs"]} == {"calls.jsonl"}
    assert manifest["identity"]["config"]["train"]["folds"] == 3 and manifest["counts"]["release"]["kept"] > 50
    assert {path.parent.name for path in release.glob("*/data")} >= {"nlu", "sft", "rl", "lineage", "dead_letters"}
    told = events("afterword_release")[-1]
    assert told["release_id"] == release.name and told["folder"] == str(release) and told["current"] is True
    assert told["interval_start"].startswith(day)
    # The closing table and the proofs are in the log, and the run's record is where `afterword run` keeps it.
    said = capfd.readouterr()
    assert "corrections" in said.out + said.err and "examples are unique, traceable" in said.out + said.err
    [folder] = (out / "runs").iterdir()
    record = json.loads((folder / "run.json").read_text())
    assert folder.name.startswith(f"afterword_daily-{day}-")
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [line["stage"] for line in lines if line["event"] == "finished"] == STAGES
    assert set(record["seconds"]) == set(STAGES)
    # The figures are those of the whole day.
    figures = (tmp_path / f"{day}.prom").read_text()
    assert "\nafterword_turns{" in figures and 'afterword_stage_rows{stage="ingest",outcome="kept"}' in figures


def test_a_backfill_of_three_days_and_one_of_them_again_gives_the_same_bytes(
    airflow, command, made, variables, tmp_path
):
    out = tmp_path / "out"
    variables(bin=command, input=made / "day=DAY", out=out, set="train.folds=2")
    days = ["2026-03-01", "2026-03-02", "2026-03-03"]
    for day in days:
        assert states(run("afterword_daily", day)) == DONE, day
    releases = [release_of(out, day) for day in days]
    parents = [json.loads((r / "manifest.json").read_text())["identity"]["parent"] for r in releases]
    assert parents == [None, releases[0].name, releases[1].name]
    taken = [json.loads((r / "manifest.json").read_text())["identity"]["taken"]["release"] for r in releases]
    assert taken == parents
    before = tree(out / "releases")
    assert len(before) > 40 and (out / "CURRENT").read_text().strip() == releases[-1].name

    assert states(run("afterword_daily", days[1])) == DONE
    assert tree(out / "releases") == before
    assert (out / "CURRENT").read_text().strip() == releases[-1].name
    assert [told["current"] for told in events("afterword_release")][-4:] == [True, True, True, False]

    # A task of an earlier day, cleared by itself, does not take the last day's tables for its own.
    alone = run("afterword_daily", days[0], done="ready|ingest|signals|train|label|curate")
    assert states(alone) == DONE
    assert tree(out / "releases") == before
