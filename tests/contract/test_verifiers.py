"""`vf-eval` on the release's taskset, in an environment of its own, against a stub server on this machine.

verifiers wants other versions than Beam, so uv makes the environment: of PATH, or of the package of that name.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.long


class Stub(BaseHTTPRequestHandler):
    """Answers every chat, streamed, with the reply that its user's words have in `replies`."""

    replies: dict[str, str]
    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(asked)
        reply = self.replies.get(asked["messages"][-1]["content"], "I do not know")
        base = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "stub"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        chunks = [
            {"choices": [{"index": 0, "delta": {"role": "assistant", "content": reply}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(b"data: " + json.dumps(base | chunk).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def stub() -> Iterator[ThreadingHTTPServer]:
    Stub.replies, Stub.asked = {}, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()


@pytest.fixture(scope="session")
def environment(made_up: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment with the release's taskset."""
    folder = tmp_path_factory.mktemp("verifiers") / "environment"
    uv = str(_uv())
    # Built from a copy: a build leaves files beside its source.
    shutil.copytree(made_up / "taskset", folder.parent / "taskset")
    _run(uv, "venv", "--python", sys.executable, str(folder))
    _run(uv, "pip", "install", "--python", str(folder / "bin" / "python"), str(folder.parent / "taskset"))
    return folder / "bin"


def _uv() -> Path:
    """The program, of the path or of the package."""
    on_path = shutil.which("uv")
    if on_path:
        return Path(on_path)
    if importlib.util.find_spec("uv"):
        return Path(importlib.import_module("uv").find_uv_bin())
    pytest.skip("uv is wanted: pip install uv")


def _run(*command: str, **more: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, **more)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def evaluate(environment: Path, server: ThreadingHTTPServer, out: Path, *options: str) -> list[dict[str, Any]]:
    """Traces of a run of `vf-eval`."""
    # The harness runs its script by uv, and installs one where the path has none.
    path = os.pathsep.join([str(environment), str(_uv().parent), os.environ["PATH"]])
    url = f"http://127.0.0.1:{server.server_port}/v1"
    _run(
        *(str(environment / "vf-eval"), "nlu-repair", *options, "-m", "stub"),
        *("--client.base-url", url, "--client.api-key-var", "STUB_KEY"),
        *("--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess"),
        *("--no-push", "--no-rich", "--output-dir", str(out), "--run.name", "t1"),
        env=os.environ | {"PATH": path, "STUB_KEY": "none"},
        cwd=out.parent,
    )
    lines = (out / "t1" / "traces.jsonl").read_text(encoding="utf-8").splitlines()
    return [trace for line in lines for trace in json.loads(line).get("traces", [json.loads(line)])]


def test_vf_eval_scores_the_tasks_of_a_release(
    made_up: Path, environment: Path, stub: ThreadingHTTPServer, tmp_path: Path
):
    shards = sorted((made_up / "rl" / "data").glob("test-*"))
    held = {row["key"]: row for path in shards for row in pq.ParquetFile(path).read().to_pylist()}
    # What is right for one example with these words, and a part of it for others.
    Stub.replies = {row["prompt"][-1]["content"]: row["answer"] for row in held.values()}
    path = ("--env.taskset.path", str(made_up), "--env.taskset.split", "test")
    traces = evaluate(environment, stub, tmp_path / "out", *path, "-r", "2")
    assert sorted(t["task"]["key"] for t in traces) == sorted([*held, *held])
    for trace in traces:
        row = held[trace["task"]["key"]]
        right = Stub.replies[row["prompt"][-1]["content"]] == row["answer"]
        assert not trace["errors"] and trace["metrics"] == {"exact": float(right), "parsed": 1.0}
        assert (trace["rewards"]["interpretation_match"]["score"] == 1.0) == right
    assert {t["rewards"]["interpretation_match"]["score"] for t in traces} > {1.0}
    # The server was asked what the row's prompt says, the instruction first.
    assert {tuple((m["role"], m["content"]) for m in asked["messages"]) for asked in Stub.asked} == {
        tuple((m["role"], m["content"]) for m in row["prompt"]) for row in held.values()
    }


def test_filters_and_selection_by_key_work_from_the_command(
    made_up: Path, environment: Path, stub: ThreadingHTTPServer, tmp_path: Path
):
    path = ("--env.taskset.path", str(made_up / "rl" / "data"), "--env.taskset.max-solve-rate", "0.9")
    known = ("--env.taskset.unknown-rate", "False", "-n", "1")
    (trace,) = evaluate(environment, stub, tmp_path / "out", *path, *known)
    # Half of its turns were right; of the others nothing is known, or all of them were.
    assert trace["task"]["key"].startswith("correction train ")
    assert trace["metrics"] == {"exact": 0.0, "parsed": 0.0}
    assert trace["rewards"]["interpretation_match"]["score"] == 0.0


def test_labels_of_train_stand_in_the_system_prompt_where_they_are_asked_for(
    made_up: Path, environment: Path, stub: ThreadingHTTPServer, tmp_path: Path
):
    path = ("--env.taskset.path", str(made_up), "--env.taskset.split", "test", "--env.taskset.labels", "True")
    evaluate(environment, stub, tmp_path / "out", *path, "-n", "1")
    row = pq.ParquetFile(next((made_up / "rl" / "data").glob("test-*"))).read().to_pylist()[0]
    answers = [r["answer"] for p in (made_up / "rl" / "data").glob("train-*") for r in pq.read_table(p).to_pylist()]
    (system,) = {asked["messages"][0]["content"] for asked in Stub.asked}
    assert system.startswith(row["prompt"][0]["content"])
    assert all(f"\n{a['domain'] or ''}/{a['intent']}" in system for a in map(json.loads, answers))
