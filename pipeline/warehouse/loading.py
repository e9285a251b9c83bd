"""Load jobs: one a table and day, which replaces the partition in one step, and is found again by its name."""

from __future__ import annotations

import time
from typing import Any, Final

from google.api_core import exceptions as answers
from google.cloud.bigquery import Client, LoadJobConfig, ParquetOptions, Table, TimePartitioning

from pipeline.errors import AfterwordError, ConfigError
from pipeline.warehouse.days import DayFile
from pipeline.warehouse.pushed_tables import DAY_COLUMN, PushedTable

# A job that failed keeps its name, so another try is another job; those of earlier pushes are passed over.
_TRIES: Final = 4
# Half the seconds before the second try; each next one waits twice as long.
WAIT: Final = 1.0
# Failures that pass.
_PASSING: Final = frozenset(
    {"backendError", "internalError", "rateLimitExceeded", "jobBackendError", "jobInternalError"}
)


def make_table(client: Client, dataset: str, table: PushedTable) -> None:
    """Make a table, cut by day, where there is none.

    Raises
    ------
    ConfigError
        If there is one that is not cut so.
    """
    wanted = Table(f"{dataset}.{table.name}", schema=table.fields)
    wanted.description = table.record.meaning
    wanted.time_partitioning = _daily()
    held = client.create_table(wanted, exists_ok=True).time_partitioning
    if held is None or (held.type_, held.field) != ("DAY", DAY_COLUMN):
        raise ConfigError(
            f"{dataset}.{table.name}: is there, and not partitioned by day of {DAY_COLUMN}; give a dataset where it "
            "is, or where there is no such table (move one of an earlier version away and push again)"
        )


def load(client: Client, dataset: str, file: DayFile, name: str, release_id: str) -> bool:
    """Put a file in the place of its partition; gives whether an earlier attempt's job was found.

    Parameters
    ----------
    client : google.cloud.bigquery.Client
    dataset : str
        `project.dataset`.
    file : DayFile
    name : str
        What the job's id begins with: the same for the same load, so that a retry finds the job instead of doubling it.
    release_id : str

    Raises
    ------
    AfterwordError
        If the job fails, and again.
    """
    target = f"{dataset}.{file.table.name}${file.day}"
    number = tries = 0
    while True:
        job, found = _job(client, target, file, f"{name}_{number}", release_id)
        number += 1
        try:
            job.result()
            return found
        except answers.GoogleAPICallError as error:
            if job.error_result is None or (not found and job.error_result.get("reason") not in _PASSING):
                raise
            tries += not found
            if tries == _TRIES:
                raise AfterwordError(
                    f"{target}: {_TRIES} load jobs failed, the last one {job.job_id} ({error.message}); push again"
                ) from None
        if not found:
            time.sleep(WAIT * 2**tries)


def _job(client: Client, target: str, file: DayFile, job_id: str, release_id: str) -> tuple[Any, bool]:
    """The job of this id, begun now or earlier."""
    try:
        with file.path.open("rb") as handle:
            size = file.path.stat().st_size
            config = _config(file.table, release_id)
            return client.load_table_from_file(handle, target, size=size, job_id=job_id, job_config=config), False
    except answers.Conflict:
        return client.get_job(job_id), True


def _config(table: PushedTable, release_id: str) -> LoadJobConfig:
    lists = ParquetOptions()
    lists.enable_list_inference = True
    return LoadJobConfig(
        source_format="PARQUET",
        parquet_options=lists,
        write_disposition="WRITE_TRUNCATE",
        create_disposition="CREATE_NEVER",
        schema_update_options=["ALLOW_FIELD_ADDITION"],
        schema=table.fields,
        time_partitioning=_daily(),
        labels={"afterword_release": release_id[:63]},
    )


def _daily() -> TimePartitioning:
    return TimePartitioning(type_="DAY", field=DAY_COLUMN)
