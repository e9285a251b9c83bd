"""Runs of a DAG as Airflow does them, and what they leave."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

DAGS = Path(__file__).parents[2] / "dags"


def bag() -> Any:
    """All DAGs of the folder, as Airflow's processor reads them."""
    from airflow.dag_processing.dagbag import DagBag

    return DagBag(str(DAGS))


def run(dag_id: str, day: str, done: str | None = None, **conf: Any) -> Any:
    """`dag.test()` of the run whose data interval ends with a day; gives the DAG run.

    A run by hand has the last whole interval before its logical date. Retries and pokes follow at once.

    Parameters
    ----------
    dag_id, day : str
    done : str or None
        Pattern of tasks that are taken for done.
    conf
        Params of the run.
    """
    dag = bag().get_dag(dag_id)
    for task in dag.tasks:
        task.retry_delay = timedelta(0)
        if task.task_id == "ready":
            task.poke_interval = 0
    utc = timezone.utc  # noqa: UP017 - as the DAGs, for older Pythons
    moment = datetime.fromisoformat(day).replace(hour=4, tzinfo=utc) + timedelta(days=1)
    return dag.test(logical_date=moment, run_conf=conf or None, mark_success_pattern=done)


def states(dag_run: Any) -> dict[str, str]:
    """State of each task."""
    return {ti.task_id: str(ti.state) for ti in dag_run.get_task_instances()}


def release_of(out: Path, day: str) -> Path:
    """Folder of the one release of a day."""
    found = [
        path.parent
        for path in (out / "releases").glob("*/manifest.json")
        if json.loads(path.read_text())["interval"]["start"].startswith(day)
    ]
    assert len(found) == 1, found
    return found[0]


def tree(folder: Path) -> dict[str, str]:
    """SHA-256 of every file, by path."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def events(name: str) -> list[dict[str, Any]]:
    """What the followers of an asset were told, oldest first."""
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        of = select(AssetEvent).join(AssetModel, AssetModel.id == AssetEvent.asset_id).where(AssetModel.name == name)
        return [event.extra for event in session.scalars(of.order_by(AssetEvent.id))]
