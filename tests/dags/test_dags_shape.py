"""The DAGs load, and are what their documentation says."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from runs import DAGS

pytestmark = pytest.mark.airflow
DAILY = ["ready", "ingest", "signals", "train", "label", "curate", "release", "report"]
WEEKLY = ["ingest", "signals", "train", "promote"]


@pytest.fixture(scope="module")
def dags(airflow: Path) -> Any:
    from runs import bag

    return bag()


def test_every_file_loads_and_there_are_two_dags_and_no_examples(dags):
    assert dags.import_errors == {}
    assert sorted(dags.dag_ids) == ["afterword_daily", "afterword_weekly"]


@pytest.mark.parametrize(("dag_id", "tasks"), [("afterword_daily", DAILY), ("afterword_weekly", WEEKLY)])
def test_the_tasks_are_a_chain_in_the_order_of_the_stages(dags, dag_id, tasks):
    dag = dags.get_dag(dag_id)
    assert {t.task_id: sorted(t.downstream_task_ids) for t in dag.tasks} == {
        task: tasks[i + 1 : i + 2] for i, task in enumerate(tasks)
    }


@pytest.mark.parametrize("dag_id", ["afterword_daily", "afterword_weekly"])
def test_runs_are_one_at_a_time_not_caught_up_and_tasks_are_retried_later_and_told_of(dags, dag_id):
    dag = dags.get_dag(dag_id)
    assert dag.max_active_runs == 1 and not dag.catchup and "afterword_out" in dag.doc_md
    for task in dag.tasks:
        assert (task.retries, task.retry_delay) == (2, timedelta(minutes=10)), task.task_id
        assert [call.__name__ for call in task.on_failure_callback] == ["on_failure"]


def test_stages_share_one_pool_and_the_wait_holds_neither_its_slot_nor_a_worker(dags):
    tasks = {t.task_id: t for t in dags.get_dag("afterword_daily").tasks}
    assert (tasks["ready"].pool, tasks["ready"].mode) == ("default_pool", "reschedule")
    others = [t for dag in dags.dags.values() for t in dag.tasks if t.task_id != "ready"]
    assert len(others) == 11 and {t.pool for t in others} == {"afterword"}


def test_the_interval_of_a_daily_run_is_its_day(dags):
    from airflow.sdk import timezone
    from airflow.serialization.encoders import coerce_to_core_timetable

    timetable = coerce_to_core_timetable(dags.get_dag("afterword_daily").timetable)
    found = timetable.infer_manual_data_interval(run_after=timezone.datetime(2026, 3, 2))
    assert (str(found.start)[:16], str(found.end)[:16]) == ("2026-03-01 00:00", "2026-03-02 00:00")


def test_later_tasks_go_first_so_that_a_day_is_finished_before_another_is_begun(dags):
    rules = {task.weight_rule for dag in dags.dags.values() for task in dag.tasks}
    assert {getattr(rule, "value", rule) for rule in rules} == {"upstream"}


def test_followers_have_an_asset_for_releases_and_one_for_models(dags):
    outlets = {
        (dag_id, task.task_id): [asset.name for asset in task.outlets]
        for dag_id, dag in dags.dags.items()
        for task in dag.tasks
        if task.outlets
    }
    assert outlets == {
        ("afterword_daily", "release"): ["afterword_release"],
        ("afterword_weekly", "promote"): ["afterword_models"],
    }


def test_the_follower_of_the_documentation_loads_and_follows_the_release(airflow, tmp_path):
    import re

    from airflow.dag_processing.dagbag import DagBag

    [code] = re.findall(r"```python\n(.*?)```", (DAGS.parent / "docs" / "airflow.md").read_text(), re.DOTALL)
    (tmp_path / "follower.py").write_text(code)
    found = DagBag(str(tmp_path))
    assert found.import_errors == {}
    [dag] = found.dags.values()
    assert [asset.name for asset in dag.timetable.asset_condition.objects] == ["afterword_release"]


def test_every_variable_is_documented_in_the_page_and_with_its_dag(dags):
    import re

    page = (DAGS.parent / "docs" / "airflow.md").read_text()
    code = "".join(path.read_text() for path in DAGS.glob("afterword_*.py"))
    read = set(re.findall(r'variable\("(\w+)"\)', code)) | {"alert_url"}
    assert len(read) == 18
    told = "".join(dag.doc_md for dag in dags.dags.values())
    assert {name for name in read if f"| `afterword_{name}` |" not in page} == set()
    assert {name for name in read if f"| `afterword_{name}` |" not in told} == set()
