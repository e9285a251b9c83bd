"""OpenLineage events: one begin and one end a run and stage, in the run's folder and at a server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import StageError
from pipeline.events import Events, EventsOptions, Table, naming
from pipeline.stages import STAGES


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "openlineage.jsonl").read_text().splitlines()]


def test_a_run_and_its_stages_begin_and_end(repaired: Path):
    (run,) = (repaired / "runs").iterdir()
    held = events(run)
    jobs = [(e["eventType"], e["job"]["name"]) for e in held]
    assert jobs[0] == ("START", "afterword") and jobs[-1] == ("COMPLETE", "afterword")
    assert jobs[1:-1] == [(k, f"afterword.{s}") for s in STAGES for k in ("START", "COMPLETE")]
    whole = held[0]["run"]["runId"]
    assert {e["run"]["facets"]["parent"]["run"]["runId"] for e in held[1:-1]} == {whole}
    wrote = {d["name"].rsplit("/", 1)[1]: d for d in held[-1]["outputs"]}
    files = json.loads(next((repaired / "releases").glob("*/manifest.json")).read_text())["files"]
    assert {"nlu", "sft", "lineage"} <= set(wrote) == {p.split("/")[0] for p in files if p.endswith(".parquet")}
    rows = sum(f["rows"] for p, f in files.items() if p.startswith("nlu/"))
    assert wrote["nlu"]["outputFacets"]["outputStatistics"]["rowCount"] == rows
    assert "text" in {f["name"] for f in wrote["nlu"]["facets"]["schema"]["fields"]}


def test_a_failure_says_what_failed(tmp_path: Path):
    told = Events(str(tmp_path), EventsOptions(), pytest.fail)
    with pytest.raises(StageError), told.run([Table("log.jsonl")]), told.stage("ingest"):
        raise StageError("no such thing")
    held = events(tmp_path)
    assert [e["eventType"] for e in held] == ["START", "START", "FAIL", "FAIL"]
    assert "no such thing" in held[-1]["run"]["facets"]["errorMessage"]["message"]


def test_the_words_of_a_library_are_not_kept_as_they_may_quote_the_log(tmp_path: Path):
    told = Events(str(tmp_path), EventsOptions(), pytest.fail)
    with pytest.raises(ValueError), told.run([]):
        raise ValueError("could not parse 'my name is ...'")
    assert events(tmp_path)[-1]["run"]["facets"]["errorMessage"]["message"] == "ValueError"


@pytest.fixture
def server() -> Iterator[tuple[str, list[tuple[str | None, Any]]]]:
    got: list[tuple[str | None, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.headers["Authorization"], json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}", got
    httpd.shutdown()
    httpd.server_close()


def test_a_server_gets_what_the_file_has(
    server: tuple[str, list[tuple[str | None, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "secret")
    url, got = server
    told = Events(str(tmp_path), EventsOptions(url=url), pytest.fail)
    with told.run([]) as wrote:
        wrote.append(Table("out"))
    assert [body for _, body in got] == events(tmp_path) and {key for key, _ in got} == {"Bearer secret"}
    assert "secret" not in (tmp_path / "openlineage.jsonl").read_text()


def test_a_server_that_is_not_there_fails_no_run(tmp_path: Path):
    notes: list[str] = []
    told = Events(str(tmp_path), EventsOptions(url="http://127.0.0.1:9"), notes.append)
    with told.run([]):
        pass
    assert len(notes) == 1 and "took none" in notes[0] and len(events(tmp_path)) == 2


def test_names_of_data_sets(tmp_path: Path):
    assert naming("gs://bucket/a/b") == ("gs://bucket", "a/b")
    assert naming(str(tmp_path)) == ("file", str(tmp_path.resolve()))
