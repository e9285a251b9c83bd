"""Weekly: new models, which the daily runs judge with from then on.

    ingest -> signals -> train -> promote

Each week has an output folder of its own, `<afterword_train_out>/<last day>`, as the daily runs may be at work in
theirs. Who is forgotten and the labels of audits are taken over from there. **promote** names the week's models in the
variable `afterword_models`, unless those in use are of a later week, and tells the asset `afterword_models` of them
(`models`, `sha256`, `promoted`).

| variable | default | what |
|---|---|---|
| `afterword_train_days` | 28 | days before the week's end whose logs are read |
| `afterword_train_input` | `afterword_input` | input, up to `sample.train_rows` turns; `DAY` is each of these days |
| `afterword_train_out` | `<afterword_out>/training` | folder of the weeks' folders |
| `afterword_train_set` | `afterword_set` | settings, with spaces between |
| `afterword_promote` | | `off` = leave `afterword_models` to people, who look at the models first |

The others are those of `afterword_daily`. A week's folder holds the turns that were read: delete it
when its models are no longer used, and name it too when you call `afterword forget`.
"""

from __future__ import annotations

from datetime import datetime, timezone

from afterword_operators import DEFAULT_ARGS, SET, PromoteOperator, TrainStageOperator
from airflow.sdk import DAG, Asset, CronDataIntervalTimetable, chain

with DAG(
    dag_id="afterword_weekly",
    description="New defect and correction models, for the daily runs",
    # Monday, 03:00 UTC: after the daily run of Sunday's log has begun.
    schedule=CronDataIntervalTimetable("0 3 * * 1", timezone="UTC"),
    start_date=datetime(2000, 1, 1, tzinfo=timezone.utc),  # noqa: UP017 - Airflow's workers may run an older Python
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULT_ARGS,
    params={"set": SET},
    tags=["afterword"],
    doc_md=__doc__,
):
    stages = [TrainStageOperator(task_id=stage, stage=stage) for stage in ("ingest", "signals", "train")]
    chain(*stages, PromoteOperator(task_id="promote", outlets=[Asset("afterword_models")]))
