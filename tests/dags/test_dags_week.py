"""Weekly training, run by Airflow."""

from __future__ import annotations

import hashlib
import json
import shutil

import pytest
from runs import events, release_of, run, states

pytestmark = pytest.mark.airflow
DONE = dict.fromkeys(["ingest", "signals", "train", "promote"], "success")


def test_a_week_gives_models_which_the_daily_runs_are_told_to_use_but_never_those_of_an_earlier_week(
    airflow, command, made, variables, tmp_path
):
    from airflow.models import Variable

    out = tmp_path / "out"
    (out / "gold").mkdir(parents=True)
    (out / "gold" / "audit.jsonl").write_text('{"turn_id": "x", "definition": "wrong_interpretation", "value": 1.0}\n')
    # What a day has to hold to be whole is not asked of the week.
    variables(bin=command, input=made / "day=DAY", out=out, set="train.folds=2", train_days=7, ready="--marker NONE")
    assert states(run("afterword_weekly", "2026-03-08")) == DONE

    week = out / "training" / "2026-03-09"
    models = week / "stages" / "train" / "models.json"
    assert Variable.get("afterword_models") == str(models)
    assert events("afterword_models") == [
        {"models": str(models), "sha256": hashlib.sha256(models.read_bytes()).hexdigest(), "promoted": True}
    ]
    # What audits said is learned from, and of three days those were read that the variable says.
    assert (week / "gold" / "audit.jsonl").exists()
    facts = json.loads((week / "stages" / "ingest" / "stage.json").read_text())["facts"]
    assert {entry["uri"].split("/")[0] for entry in facts["inputs"]} == {"day=2026-03-02", "day=2026-03-03"}

    shutil.copytree(week, out / "training" / "2026-03-02")
    assert states(run("afterword_weekly", "2026-03-01", done="ingest|signals|train")) == DONE
    assert Variable.get("afterword_models") == str(models)
    assert [told["promoted"] for told in events("afterword_models")] == [True, False]

    variables(ready="off")
    # The next day is judged by what the event named.
    assert set(states(run("afterword_daily", "2026-03-03")).values()) == {"success"}
    identity = json.loads((release_of(out, "2026-03-03") / "manifest.json").read_text())["identity"]
    assert identity["models"]["file"] == events("afterword_models")[0]["sha256"]
    assert identity["config"]["models"]["file"] is not None
    Variable.delete("afterword_models")
