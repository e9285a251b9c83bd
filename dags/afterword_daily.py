"""Daily: the day's log to a verified release of training shards, a task a stage, by the command `afterword`.

    ready -> ingest -> signals -> train -> label -> curate -> release -> report

- **ready** waits until the day's log is complete (`afterword ready`; exit code 8 = not yet), without a worker's slot.
- **ingest** is held to the same `--expect` and `--marker`, and counts the records: too few are tried again.
- **release** checks the gates first. One that fails on the whole ends it (exit code 4), is told by an alert, and is not
  retried; CURRENT stays. On success the asset `afterword_release` gets an event with `release_id`, `folder`,
  `interval_start`, `interval_end`, `current` (false for a backfill behind CURRENT) and `quarantined`.
- **report** proves the release from its files, says what changed since the day before, and alerts of quarantined
  domains. The closing table is in the log of **release**.

Airflow lives in an environment of its own; this file imports nothing of ours and only calls the command. The data
interval is the log's day. The same day again gives the same bytes, and CURRENT never moves back to an earlier day.

Airflow variables (or the environment, `AIRFLOW_VAR_AFTERWORD_INPUT` and so on):

| variable | default | what |
|---|---|---|
| `afterword_input` | | file, folder or glob of a day's log; `DAY` stands for the day: `gs://logs/dt=DAY/*.jsonl.gz` |
| `afterword_out` | | output folder |
| `afterword_format` | `canonical` | reader |
| `afterword_bin` | `afterword` | the command in its environment; may have several words |
| `afterword_config` | | TOML file for `--config` |
| `afterword_set` | | settings, with spaces between: `curate.min_users=3 gates.max_defect_share=0.8` |
| `afterword_gold` | | labels of people for `--gold`, with spaces between |
| `afterword_beam` | | runner and its options: `--runner=FnApiRunner` |
| `afterword_ready` | | what the log has to hold: `--expect counts/DAY.json`; `off` = do not wait |
| `afterword_budget` | | what a day may cost: `--max-cost 5 --price-vcpu-hour 0.05` |
| `afterword_models` | | models to judge with (`models.file`), set by the weekly DAG; without it each day fits its own |
| `afterword_metrics` | | file for the day's figures (Prometheus), `DAY` in it stands for the day |
| `afterword_alert_url` | | webhook that alerts are sent to as JSON; without it they are in the task's log alone |

The param `set` holds settings of one run, which go before those of the variable. The param `incremental` is true: a
session over midnight is judged by the day it ends in, late events have theirs judged anew, and a day waits for the one
before it. `ingest.incremental=false` in the variable `afterword_set` has every day judged by itself.

The stages of all days share `<out>/stages`, so all tasks take the one slot of the pool `afterword`
(`airflow pools set afterword 1 "work area of afterword"`), and a task that finds another day's tables there runs the
stages before it again. Any task of any day can be cleared.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from afterword_operators import DEFAULT_ARGS, INCREMENTAL, SET, ReadySensor, ReportOperator, StageOperator
from airflow.sdk import DAG, Asset, CronDataIntervalTimetable, chain

with DAG(
    dag_id="afterword_daily",
    description="A day's dialog log to a verified release of training shards",
    # Airflow 3's plain "@daily" has intervals of no length; a release needs the day's two ends.
    schedule=CronDataIntervalTimetable("@daily", timezone="UTC"),
    # So early that any log can be backfilled.
    start_date=datetime(2000, 1, 1, tzinfo=timezone.utc),  # noqa: UP017 - Airflow's workers may run an older Python
    catchup=False,
    # A day's parent is the release of the day before. Airflow does not hold backfills to this number.
    max_active_runs=1,
    default_args=DEFAULT_ARGS,
    params={"set": SET, "incremental": INCREMENTAL},
    tags=["afterword"],
    doc_md=__doc__,
):
    ready = ReadySensor(
        task_id="ready",
        mode="reschedule",
        poke_interval=timedelta(minutes=10),
        timeout=timedelta(hours=20),
        # It reads no work area, and must not keep others from it.
        pool="default_pool",
    )
    stages = [StageOperator(task_id=stage, stage=stage) for stage in ("ingest", "signals", "train", "label", "curate")]
    release = StageOperator(task_id="release", stage="release", outlets=[Asset("afterword_release")])
    report = ReportOperator(task_id="report", of="release")
    chain(ready, *stages, release, report)
