"""OpenLineage events of a run: what it read, what it wrote, when it began and how it ended.

They carry a clock, so they lie with the run (`<out>/runs/<run_id>/openlineage.jsonl`), not in the release. They go to a
server only where one is configured, and a server that cannot be reached fails no run.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pipeline import storage
from pipeline.errors import told
from pipeline.version import code_version
from schemas import Record

NAME: Final = "openlineage.jsonl"
# Of an API key; it belongs in no configuration file.
KEY_VARIABLE: Final = "OPENLINEAGE_API_KEY"
_PRODUCER: Final = "urn:afterword"
_JOB: Final = "afterword"


@dataclass(frozen=True)
class EventsOptions:
    """Where the events of a run go, beside its own folder.

    Attributes
    ----------
    url : str or None
        OpenLineage server that they are sent to as well; its API key is read from the environment variable
        OPENLINEAGE_API_KEY. None = nothing is sent.
    namespace : str
        Namespace of the jobs.
    metrics : str or None
        File that takes the figures of the run in Prometheus' text form when it ends, for node_exporter's textfile
        collector (a name ending in .prom in its folder). None = none is written.
    """

    url: str | None = None
    namespace: str = "afterword"
    metrics: str | None = None


@dataclass(frozen=True)
class Table:
    """A table as an event names it.

    Attributes
    ----------
    path : str
        Folder or file.
    record : Record or None
        Its columns, where they are ours.
    rows, bytes, files : int or None
        What was written.
    """

    path: str
    record: Record | None = None
    rows: int | None = None
    bytes: int | None = None
    files: int | None = None


class Events:
    """The events of one run and of its stages, or of a stage alone, each written as it happens."""

    def __init__(self, folder: str, options: EventsOptions, note: Callable[[str], None]) -> None:
        self._path, self._options, self._note = storage.join(folder, NAME), options, note
        # After those of an earlier command of the run.
        self._lines, self._told = storage.read_lines(self._path), False
        # The run that stages are a part of; None = the stage is run alone.
        self._run: str | None = None

    @contextmanager
    def run(self, inputs: Iterable[Table]) -> Iterator[list[Table]]:
        """The whole run; what is put on the list is told as its output."""
        read, wrote = list(inputs), list[Table]()
        self._run = str(uuid.uuid4())
        with self._span(_JOB, self._run, None, read, wrote):
            yield wrote

    @contextmanager
    def stage(self, stage: str, inputs: Iterable[Table] = ()) -> Iterator[list[Table]]:
        """A stage, of the run if there is one; what is put on the list is told as its output."""
        read, wrote = list(inputs), list[Table]()
        with self._span(f"{_JOB}.{stage}", str(uuid.uuid4()), self._run, read, wrote):
            yield wrote

    @contextmanager
    def _span(self, job: str, run: str, parent: str | None, read: list[Table], wrote: list[Table]) -> Iterator[None]:
        self._emit("START", job, run, parent, read, [])
        try:
            yield
        except BaseException as error:
            self._emit("FAIL", job, run, parent, read, [], told(error))
            raise
        self._emit("COMPLETE", job, run, parent, read, wrote)

    def _emit(
        self,
        kind: str,
        job: str,
        run: str,
        parent: str | None,
        read: list[Table],
        wrote: list[Table],
        error: str | None = None,
    ) -> None:
        from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
        from openlineage.client.serde import Serde

        event = RunEvent(
            eventTime=datetime.now(UTC).isoformat(),
            producer=_PRODUCER,
            eventType=RunState[kind],
            run=Run(run, _run_facets(self._options.namespace, parent, error)),
            job=Job(self._options.namespace, job),
            inputs=[_dataset(table, written=False) for table in read],
            outputs=[_dataset(table, written=True) for table in wrote],
        )
        self._lines.append(Serde.to_json(event))
        # A full disk is told by what the run itself writes.
        with suppress(OSError):
            storage.write_bytes(self._path, "".join(f"{line}\n" for line in self._lines).encode())
        if self._options.url:
            self._send(event, self._options.url)

    def _send(self, event: Any, url: str) -> None:
        from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport

        key = os.environ.get(KEY_VARIABLE)
        auth = {"auth": ApiKeyTokenProvider({"apiKey": key})} if key else {}
        try:
            HttpTransport(HttpConfig(url=url, retry={"total": 1}, **auth)).emit(event)
        except Exception as error:
            # Whatever the client raises: the run is worth more than its record elsewhere.
            if not self._told:
                self._note(f"events: {url} took none ({type(error).__name__}); they are in {self._path}")
            self._told = True


def _run_facets(namespace: str, parent: str | None, error: str | None) -> dict[str, Any]:
    from openlineage.client.facet_v2 import error_message_run, parent_run, processing_engine_run

    facets: dict[str, Any] = {
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(version=code_version(), name="afterword")
    }
    if parent is not None:
        facets["parent"] = parent_run.ParentRunFacet(parent_run.Run(parent), parent_run.Job(namespace, _JOB))
    if error is not None:
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(error, "PYTHON")
    return facets


def _dataset(table: Table, written: bool) -> Any:
    from openlineage.client.event_v2 import InputDataset, OutputDataset
    from openlineage.client.facet_v2 import output_statistics_output_dataset, schema_dataset

    namespace, name = naming(table.path)
    facets: dict[str, Any] = {}
    if table.record is not None:
        columns = [
            schema_dataset.SchemaDatasetFacetFields(c.name, str(c.type), c.meaning) for c in table.record.columns
        ]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(columns)
    if not written:
        return InputDataset(namespace, name, facets=facets)
    sizes = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(table.rows, table.bytes, table.files)
    return OutputDataset(namespace, name, {"outputStatistics": sizes}, facets=facets)


def naming(path: str) -> tuple[str, str]:
    """Namespace and name of a data set, by OpenLineage's naming: `file` and the path, else the bucket and the key."""
    scheme, there, rest = path.partition("://")
    if not there:
        return "file", str(Path(path).resolve())
    bucket, _, key = rest.partition("/")
    return f"{scheme}://{bucket}", key or "/"


def views_of(folder: str, files: Mapping[str, Mapping[str, Any]], records: Mapping[str, Record]) -> list[Table]:
    """The tables of a release, with what its manifest says of their files."""
    tables = []
    for name, record in records.items():
        held = [f for path, f in files.items() if path.startswith(f"{name}/") and path.endswith(".parquet")]
        if held:
            rows, size = (sum(int(f[k]) for f in held) for k in ("rows", "bytes"))
            tables.append(Table(storage.join(folder, name), record, rows, size, len(held)))
    return tables
