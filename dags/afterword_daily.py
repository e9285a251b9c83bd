"""Daily release: yesterday's logs to a verified release, by the command `afterword` in its own environment.

Airflow lives in an environment of its own; this file imports nothing of ours and only calls the command. Set the
Airflow variables (or their environment forms, AIRFLOW_VAR_AFTERWORD_...):

    afterword_bin     path of the command, e.g. /srv/afterword/.venv/bin/afterword
    afterword_input   folder or glob; DAY stands for the day, e.g. gs://logs/dt=DAY/*.jsonl.gz
    afterword_format  reader, default canonical
    afterword_out     output folder
    afterword_args    further arguments, e.g. --config /srv/afterword/run.toml -- --runner=FnApiRunner

A retried or back-filled day gives the same release again; CURRENT never moves back to an earlier day.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from airflow.timetables.interval import CronDataIntervalTimetable

_RUN = """
set -euo pipefail
exec "{{ var.value.afterword_bin }}" run \
  --input "{{ var.value.afterword_input | replace('DAY', ds) }}" \
  --format "{{ var.value.get('afterword_format', 'canonical') }}" \
  --out "{{ var.value.afterword_out }}" \
  --set release.interval_start="{{ data_interval_start.isoformat() }}" \
  --set release.interval_end="{{ data_interval_end.isoformat() }}" \
  {{ var.value.get('afterword_args', '') }}
"""

with DAG(
    dag_id="afterword_daily",
    description="Dialog logs of a day to a verified release of training shards",
    # Airflow 3's plain "@daily" has intervals of no length; a release needs the day's two ends.
    schedule=CronDataIntervalTimetable("@daily", timezone="UTC"),
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),  # noqa: UP017 - Airflow's workers may run an older Python
    catchup=False,
    # Days share the output folder's work area.
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
    tags=["afterword"],
    doc_md=__doc__,
):
    BashOperator(task_id="run", bash_command=_RUN)
