"""BigQuery on 127.0.0.1, as far as it is asked here: tables, queries, loads by REST, read sessions by gRPC.

Queries are not run: what a query answers is set by the test, and what was asked is kept. Only `COUNT(*)` of a table,
and the condition of a partition, are worked out, from the text itself.
"""

from __future__ import annotations

import io
import json
import os
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock

import grpc
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from google.cloud.bigquery_storage_v1 import types

SERVICE = "google.cloud.bigquery.storage.v1.BigQueryRead"
_BATCH = 50


@dataclass
class Held:
    """A table."""

    rows: pa.Table
    kind: str = "TABLE"
    partitioning: dict[str, str] | None = None
    schema: list[dict[str, str]] = field(default_factory=list)


@dataclass
class FakeBigQuery:
    """What is held, what was asked, and how it behaves."""

    tables: dict[str, Held] = field(default_factory=dict)
    answers: dict[str, pa.Table] = field(default_factory=dict)
    queries: list[dict[str, Any]] = field(default_factory=list)
    # The project that each query was run in, and that pays for it.
    payers: list[str] = field(default_factory=list)
    sessions: list[types.CreateReadSessionRequest] = field(default_factory=list)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    loads: list[dict[str, Any]] = field(default_factory=list)
    created: list[dict[str, Any]] = field(default_factory=list)
    datasets: set[str] = field(default_factory=lambda: {"lake.talk"})
    # The order and the streams in which rows come.
    seed: int = 0
    # Rows of a stream after which its connection breaks, once.
    breaks_at: int | None = None
    lost_rows: int = 0
    # Reasons for which load jobs fail, by number.
    failing: dict[int, str] = field(default_factory=dict)
    streams: dict[str, pa.Table] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    def select(self, table: str, where: str) -> pa.Table:
        """Rows of a table that a partition's condition holds for."""
        rows = self.tables[table].rows
        if not where:
            return rows.drop_columns([c for c in rows.column_names if c.startswith("_")])
        form = r"`?(\w+)`? >= CAST\('([^']+)' AS (\w+)\) AND `?(\w+)`? < CAST\('([^']+)' AS (\w+)\)"
        column, begin, kind, other, end, last = re.fullmatch(form, where).groups()
        assert (column, kind) == (other, last)
        assert kind in {"TIMESTAMP": ("us", "UTC"), "DATETIME": ("us",), "DATE": ("day",)}
        moments = [pa.scalar(datetime.fromisoformat(t)).cast(rows[column].type) for t in (begin, end)]
        inside = pc.and_(pc.greater_equal(rows[column], moments[0]), pc.less(rows[column], moments[1]))
        rows = rows.filter(inside)
        return rows.drop_columns([c for c in rows.column_names if c.startswith("_")])

    # Read sessions

    def create_read_session(self, request: types.CreateReadSessionRequest, context: Any) -> types.ReadSession:
        """Rows in any order, in as many streams as are wanted."""
        self.sessions.append(request)
        asked = request.read_session
        _, project, _, dataset, _, table = asked.table.split("/")
        rows = self.select(f"{project}.{dataset}.{table}", asked.read_options.row_restriction)
        draw = np.random.default_rng(self.seed)
        rows = rows.take(pa.array(draw.permutation(rows.num_rows))).slice(self.lost_rows)
        n = max(1, request.max_stream_count)
        session = f"projects/{project}/locations/us/sessions/s{len(self.sessions)}"
        part = draw.integers(0, n, rows.num_rows)
        names = [f"{session}/streams/{k}" for k in range(n)]
        self.streams |= {name: rows.filter(pa.array(part == k)) for k, name in enumerate(names)}
        schema = types.ArrowSchema(serialized_schema=rows.schema.serialize().to_pybytes())
        return types.ReadSession(
            name=session, arrow_schema=schema, streams=[types.ReadStream(name=name) for name in names]
        )

    def read_rows(self, request: types.ReadRowsRequest, context: Any) -> Iterator[types.ReadRowsResponse]:
        """A stream from an offset on, in small batches."""
        name, offset = request.read_stream, request.offset
        rows = self.streams[name].slice(offset).combine_chunks()
        for batch in rows.to_batches(max_chunksize=_BATCH):
            if self.breaks_at is not None and name not in self.broken and offset >= self.breaks_at:
                self.broken.add(name)
                context.abort(grpc.StatusCode.UNAVAILABLE, "the connection broke")
            offset += batch.num_rows
            held = types.ArrowRecordBatch(serialized_record_batch=batch.serialize().to_pybytes())
            yield types.ReadRowsResponse(arrow_record_batch=held, row_count=batch.num_rows)

    # REST

    def table(self, project: str, dataset: str, table: str) -> dict[str, Any] | None:
        """tables.get."""
        held = self.tables.get(f"{project}.{dataset}.{table}")
        if held is None:
            return None
        resource: dict[str, Any] = {
            "tableReference": {"projectId": project, "datasetId": dataset, "tableId": table},
            "type": held.kind,
            "schema": {"fields": held.schema},
            "numRows": str(held.rows.num_rows),
            "numBytes": str(held.rows.nbytes),
        }
        return resource | ({"timePartitioning": held.partitioning} if held.partitioning else {})

    def insert(self, job: dict[str, Any], data: bytes | None = None) -> tuple[int, dict[str, Any]]:
        """jobs.insert of a query, or of a load with its file."""
        name = job["jobReference"]["jobId"]
        if name in self.jobs:
            return 409, {"error": {"code": 409, "message": f"Already Exists: Job {name}"}}
        job |= {"id": name, "status": {"state": "DONE"}}
        if "query" in job["configuration"]:
            asked = job["configuration"]["query"]
            self.queries.append(asked)
            if "syntax error" in asked["query"]:
                return 400, {"error": {"code": 400, "message": "Syntax error at [1:1]", "errors": []}}
            self.tables[f"lake._answers.{len(self.queries)}"] = Held(self._answer(asked["query"]))
            reference = {"projectId": "lake", "datasetId": "_answers", "tableId": str(len(self.queries))}
            asked["destinationTable"] = reference
        else:
            self._load(job, data or b"")
        self.jobs[name] = job
        return 200, job

    def _answer(self, sql: str) -> pa.Table:
        counted = re.fullmatch(
            r"SELECT COUNT\(\*\) AS records FROM `([^`]+)` FOR SYSTEM_TIME AS OF TIMESTAMP '[^']+'(?: WHERE (.+))?", sql
        )
        if counted is None:
            return self.answers[sql]
        return pa.table({"records": [self.select(counted[1], counted[2] or "").num_rows]})

    def _load(self, job: dict[str, Any], data: bytes) -> None:
        number = len(self.loads)
        self.loads.append(job["configuration"]["load"] | {"jobId": job["jobReference"]["jobId"]})
        if number in self.failing:
            job["status"]["errorResult"] = {"reason": self.failing[number], "message": "it failed"}
            return
        wanted = job["configuration"]["load"]
        assert wanted["sourceFormat"] == "PARQUET" and wanted["writeDisposition"] == "WRITE_TRUNCATE"
        place = wanted["destinationTable"]
        _, _, day = place["tableId"].partition("$")
        held = pq.read_table(io.BytesIO(data), columns=[wanted["timePartitioning"]["field"]])[0]
        if set(pc.strftime(held, "%Y%m%d").to_pylist()) - {day}:
            job["status"]["errorResult"] = {"reason": "invalid", "message": "Some rows belong to different partitions"}
            return
        self.uploads[f"{place['projectId']}.{place['datasetId']}.{place['tableId']}"] = data

    def results(self, name: str) -> dict[str, Any]:
        """jobs.getQueryResults."""
        job = self.jobs[name]
        place = job["configuration"]["query"]["destinationTable"]["tableId"]
        rows = self.tables[f"lake._answers.{place}"].rows
        kinds = [{"name": f.name, "type": "INTEGER" if pa.types.is_integer(f.type) else "STRING"} for f in rows.schema]
        cells = [{"f": [{"v": None if v is None else str(v)} for v in row.values()]} for row in rows.to_pylist()]
        return {
            "jobComplete": True,
            "jobReference": job["jobReference"],
            "totalRows": str(rows.num_rows),
            "schema": {"fields": kinds},
            "rows": cells,
        }


class _Handler(BaseHTTPRequestHandler):
    fake: FakeBigQuery

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, status: int, held: dict[str, Any] | None, **headers: str) -> None:
        data = json.dumps(held or {}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _missing(self, what: str) -> None:
        self._answer(404, {"error": {"code": 404, "message": f"Not found: {what}"}})

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if found := re.search(r"/projects/([^/]+)/datasets/([^/]+)$", path):
            name = f"{found[1]}.{found[2]}"
            reference = {"projectId": found[1], "datasetId": found[2]}
            held = {"datasetReference": reference, "location": "europe-west3"}
            return self._answer(200, held) if name in self.fake.datasets else self._missing(f"Dataset {name}")
        if found := re.search(r"/projects/([^/]+)/datasets/([^/]+)/tables/([^/]+)$", path):
            held = self.fake.table(*found.groups())
            return self._answer(200, held) if held else self._missing(f"Table {'.'.join(found.groups())}")
        if found := re.search(r"/queries/([^/]+)$", path):
            return self._answer(200, self.fake.results(found[1]))
        if found := re.search(r"/jobs/([^/]+)$", path):
            # A job outside the two multi-regions is found with its location alone.
            assert "location=europe-west3" in query
            return self._answer(200, self.fake.jobs[found[1]])
        return self._missing(path)

    def do_POST(self) -> None:
        path, _, query = self.path.partition("?")
        body = self._body()
        if path.startswith("/upload/"):
            return self._upload(query, body)
        if path.endswith("/jobs"):
            job = json.loads(body)
            if "query" in job["configuration"]:
                self.fake.payers.append(re.search(r"/projects/([^/]+)/jobs$", path)[1])
            return self._answer(*self.fake.insert(job))
        if found := re.search(r"/projects/([^/]+)/datasets/([^/]+)/tables$", path):
            return self._create(found[1], found[2], json.loads(body))
        return self._missing(path)

    def _create(self, project: str, dataset: str, table: dict[str, Any]) -> None:
        if f"{project}.{dataset}" not in self.fake.datasets:
            return self._missing(f"Dataset {project}:{dataset}")
        name = f"{project}.{dataset}.{table['tableReference']['tableId']}"
        if name in self.fake.tables:
            return self._answer(409, {"error": {"code": 409, "message": f"Already Exists: Table {name}"}})
        self.fake.created.append(table)
        self.fake.tables[name] = Held(
            pa.table({}), partitioning=table.get("timePartitioning"), schema=table["schema"]["fields"]
        )
        return self._answer(200, table)

    def _upload(self, query: str, body: bytes) -> None:
        if "uploadType=resumable" in query:
            self.server.job = json.loads(body)  # type: ignore[attr-defined]
            host = f"http://{self.headers['Host']}/resumed"
            return self._answer(200, None, Location=host)
        boundary = re.search(r'boundary="?([^";]+)', self.headers["Content-Type"])[1].encode()
        _, described, file, _ = body.split(b"--" + boundary, 3)
        job = json.loads(described.partition(b"\r\n\r\n")[2])
        return self._answer(*self.fake.insert(job, file.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")))

    def do_PUT(self) -> None:
        self._answer(*self.fake.insert(self.server.job, self._body()))  # type: ignore[attr-defined]

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def bigquery() -> Iterator[FakeBigQuery]:
    """A server for each of the two, which our clients find by the environment."""
    fake = FakeBigQuery()
    rest = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": fake}))
    thread = threading.Thread(target=rest.serve_forever, daemon=True)
    thread.start()
    storage = grpc.server(ThreadPoolExecutor(8))
    session = grpc.unary_unary_rpc_method_handler(
        fake.create_read_session, types.CreateReadSessionRequest.deserialize, types.ReadSession.serialize
    )
    rows = grpc.unary_stream_rpc_method_handler(
        fake.read_rows, types.ReadRowsRequest.deserialize, types.ReadRowsResponse.serialize
    )
    methods = {"CreateReadSession": session, "ReadRows": rows}
    storage.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = storage.add_insecure_port("127.0.0.1:0")
    storage.start()
    found = {
        "BIGQUERY_EMULATOR_HOST": f"http://127.0.0.1:{rest.server_port}",
        "BIGQUERY_STORAGE_EMULATOR_HOST": f"127.0.0.1:{port}",
        "GOOGLE_CLOUD_PROJECT": "lake",
        "NO_PROXY": "127.0.0.1",
    }
    try:
        with mock.patch.dict(os.environ, found):
            yield fake
    finally:
        storage.stop(None)
        rest.shutdown()
        rest.server_close()
