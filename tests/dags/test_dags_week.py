"""Weekly training, run by Airflow."""

from __future__ import annotations

import hashlib
import shutil

import pytest
from runs import events, run, states

pytestmark = pytest.mark.airflow
DONE = dict.fromkeys(["ingest", "signals", "train", "promote"], "success")


def test_a_week_gives_models_which_the_daily_runs_are_told_to_use_but_never_those_of_an_earlier_week(
    airflow, command, made, variables, tmp_path
):
    from airflow.models import Variable

    out = tmp_path / "out"
    (out / "gold").mkdir(parents=True)
    (out / "gold" / "audit.jsonl").write_text('{"turn_id": "x", "definition": "wrong_interpretation", "value": 1.0}\n')
    variables(bin=command, input=made / "day=DAY", out=out, set="train.folds=2")
    assert states(run("afterword_weekly", "2026-03-08")) == DONE

    week = out / "training" / "2026-03-09"
    models = week / "stages" / "train" / "models.json"
    assert Variable.get("afterword_models") == str(models)
    assert events("afterword_models") == [
        {"models": str(models), "sha256": hashlib.sha256(models.read_bytes()).hexdigest(), "promoted": True}
    ]
    # What audits said is learned from, and three days were read.
    assert (week / "gold" / "audit.jsonl").exists()
    assert len(list((week / "stages" / "ingest").glob("inputs.parquet"))) == 1

    shutil.copytree(week, out / "training" / "2026-03-02")
    assert states(run("afterword_weekly", "2026-03-01", done="ingest|signals|train")) == DONE
    assert Variable.get("afterword_models") == str(models)
    assert [told["promoted"] for told in events("afterword_models")] == [True, False]
    Variable.delete("afterword_models")
