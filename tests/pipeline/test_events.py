"""OpenLineage events: one begin and one end a run and stage, in the run's folder and at a server."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from synthetic import afterword, copy

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


def names(told: list[dict[str, Any]], out: Path) -> list[str]:
    """Names of data sets inside an output folder, and the whole name of others."""
    return [d["name"].removeprefix(f"{out.resolve()}/") for d in told]


def test_each_stage_names_what_it_reads_and_writes(repaired: Path):
    held = events(next((repaired / "runs").iterdir()))
    ended = {e["job"]["name"].rpartition(".")[2]: e for e in held[1:-1] if e["eventType"] == "COMPLETE"}
    read = {stage: names(e["inputs"], repaired) for stage, e in ended.items()}
    wrote = {stage: names(e["outputs"], repaired) for stage, e in ended.items()}
    assert read["ingest"] == names(held[0]["inputs"], repaired) and len(read["ingest"]) == 1
    assert "stages/ingest/turns" in wrote["ingest"] and wrote["signals"] == ["stages/signals/signals"]
    assert wrote["train"] == ["stages/train/models.json"] and "stages/train/models.json" in read["label"]
    assert wrote["label"] == read["curate"][1:] == ["stages/label/judgements", "stages/label/corrections"]
    assert wrote["curate"][0] == read["release"][0] == "stages/curate/examples"
    assert wrote["release"] == names(held[-1]["outputs"], repaired)
    # What a stage reads another one wrote before it: the stages hang together.
    before: set[str] = set()
    for stage in STAGES:
        assert stage == "ingest" or set(read[stage]) <= before
        before |= set(wrote[stage])
    starts = [e for e in held if e["eventType"] == "START"]
    assert all(e["inputs"] and not e["outputs"] for e in starts)
    turns = next(d for d in ended["signals"]["inputs"] if d["name"].endswith("/turns"))
    assert "utterance" in {f["name"] for f in turns["facets"]["schema"]["fields"]}


def test_a_stage_that_is_run_alone_tells_of_itself(repaired: Path, tmp_path: Path):
    out = copy(repaired, tmp_path / "out")
    there = set((out / "runs").iterdir())
    assert afterword("signals", "--out", out) == 0
    (run,) = set((out / "runs").iterdir()) - there
    begun, ended = events(run)
    assert (begun["eventType"], ended["eventType"]) == ("START", "COMPLETE")
    assert ended["job"]["name"] == "afterword.signals" and "parent" not in ended["run"]["facets"]
    assert names(ended["inputs"], out) == ["stages/ingest/turns"]
    assert names(ended["outputs"], out) == ["stages/signals/signals"]
    there.add(run)
    shutil.rmtree(out / "stages" / "label")
    assert afterword("curate", "--out", out) == 7
    (run,) = set((out / "runs").iterdir()) - there
    assert [e["eventType"] for e in events(run)] == ["START", "FAIL"]


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
