"""What becomes of each exit code, and who is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from runs import run, states

pytestmark = pytest.mark.airflow
DAY = "2026-03-01"


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Address of a server, and what it was sent."""
    sent: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/alerts", sent
    server.shutdown()


@pytest.mark.parametrize("code", [1, 6, 8, 10, 130, -9])
def test_another_try_may_help(airflow, code):
    assert raised(code).exit_code == code and not isinstance(raised(code), final())


@pytest.mark.parametrize("code", [2, 3, 4, 5, 7])
def test_another_try_gives_the_same(airflow, code):
    assert raised(code).exit_code == code and isinstance(raised(code), final())


def test_a_command_that_is_not_there_names_the_variable(airflow, tmp_path):
    with pytest.raises(final(), match="nowhere: No such file or directory; see variable afterword_bin"):
        call([str(tmp_path / "nowhere"), "ingest"])


def final() -> type[Exception]:
    from airflow.sdk.exceptions import AirflowFailException

    return AirflowFailException


def call(command: list[str]) -> None:
    from afterword_operators import StageOperator

    StageOperator(task_id="t", stage="ingest").call(command, "out")


def raised(code: int) -> Any:
    """What a command that ends with a code, or by a signal, is told as."""
    end = f"exit {code}" if code >= 0 else f"kill {code} $$"
    with pytest.raises(Exception, match=f"exit code {code}: afterword: why") as caught:
        call(["/bin/sh", "-c", f"echo 'afterword: why' >&2; {end}"])
    return caught.value


def test_a_stage_is_tried_three_times_and_the_next_ones_are_not(airflow, spoiled, made, variables, tmp_path):
    variables(bin=spoiled.path, input=made / "day=DAY", out=tmp_path / "out")
    spoiled.fail("ingest", 1)
    found = states(run("afterword_daily", DAY))
    assert (found["ready"], found["ingest"], found["signals"]) == ("success", "failed", "upstream_failed")
    assert spoiled.calls() == ["ready", "ingest", "ingest", "ingest"]


def test_a_log_that_is_not_complete_is_waited_for(airflow, spoiled, made, variables, tmp_path):
    variables(bin=spoiled.path, input=made / "day=DAY", out=tmp_path / "out")
    spoiled.not_ready(2)
    spoiled.fail("ingest", 3)
    found = states(run("afterword_daily", DAY))
    assert (found["ready"], found["ingest"]) == ("success", "failed")
    assert spoiled.calls() == ["ready", "ready", "ready", "ingest"]


def test_a_wait_for_what_cannot_come_fails_at_once(airflow, spoiled, made, variables, tmp_path):
    variables(bin=spoiled.path, input=made / "day=DAY", out=tmp_path / "out")
    spoiled.fail("ready", 2)
    assert states(run("afterword_daily", DAY))["ready"] == "failed" and spoiled.calls() == ["ready"]


def test_a_failed_gate_is_told_with_gate_and_advice_and_not_retried(
    airflow, spoiled, made, variables, webhook, tmp_path
):
    url, sent = webhook
    variables(
        bin=spoiled.path,
        input=made / "day=DAY",
        out=tmp_path / "out",
        set="train.folds=2 gates.latest=2001-01-01T00:00:00Z",
        alert_url=url,
    )
    found = states(run("afterword_daily", DAY))
    assert (found["curate"], found["release"], found["report"]) == ("success", "failed", "upstream_failed")
    assert spoiled.calls() == ["ready", "ingest", "signals", "train", "label", "curate", "run"]
    assert not (tmp_path / "out" / "CURRENT").exists()
    [alert] = sent
    assert {k: alert[k] for k in ("event", "dag", "task", "day")} == {
        "event": "gate_failed",
        "dag": "afterword_daily",
        "task": "release",
        "day": DAY,
    }
    gates = [gate["gate"] for gate in alert["gates"]]
    assert gates and all(gate.startswith("turns: ") for gate in gates)
    assert gates[0] in alert["text"] and "What to do: " in alert["text"] and "exit code 4" in alert["error"]


def test_counts_of_another_stage_that_do_not_close_are_not_told_with_the_gates_of_an_earlier_release(
    airflow, variables, webhook, tmp_path
):
    from types import SimpleNamespace

    from afterword_alerts import on_failure
    from afterword_operators import FinalCommandError

    url, sent = webhook
    variables(alert_url=url)
    gate = {"gate": "turns: g", "scope": "turns", "expectation": "e", "arguments": {}, "observed": 1, "passed": False}
    (tmp_path / "stages" / "release").mkdir(parents=True)
    (tmp_path / "stages" / "release" / "gates.json").write_text(json.dumps([gate]))
    for stage in ("ingest", "release"):
        # Of either stage in the task of the last one, which runs earlier stages again where it has to.
        ti = SimpleNamespace(dag_id="afterword_daily", task_id="release", run_id="r")
        error = FinalCommandError("exit code 4: why", 4, str(tmp_path), stage)
        on_failure({"task_instance": ti, "data_interval_start": DAY, "exception": error})
    assert [told["event"] for told in sent] == ["task_failed", "gate_failed"]
    assert "gates" not in sent[0] and [g["gate"] for g in sent[1]["gates"]] == ["turns: g"]


def test_quarantined_domains_are_told_with_gate_bound_and_advice(airflow, webhook, variables):
    from types import SimpleNamespace

    from afterword_alerts import on_quarantine

    url, sent = webhook
    variables(alert_url=url)
    check = {"gate": "domains: not nearly all turns are defective", "observed": 0.97, "bound": 0.9}
    entry = {"checks": [check], "turns": 99, "withheld": 31, "carried": 12, "advice": "look at some turns"}
    ti = SimpleNamespace(dag_id="afterword_daily", task_id="report", run_id="r")
    on_quarantine({"task_instance": ti, "data_interval_start": DAY}, "abc", {"music": entry})
    [alert] = sent
    assert (alert["event"], alert["release_id"], alert["domains"]) == (
        "domains_quarantined",
        "abc",
        [{"domain": "music", **entry}],
    )
    assert alert["text"].splitlines() == [
        f"afterword_daily {DAY}, task report: domains quarantined",
        "- domain music: gate domains: not nearly all turns are defective: 0.97, bound 0.9",
        "  31 new examples left out, 12 carried over; look at some turns",
    ]


@pytest.mark.parametrize("url", ["", "file:///etc/hosts", "http://127.0.0.1:1/nobody"])
def test_a_webhook_that_is_none_or_does_not_answer_fails_nothing(airflow, variables, url):
    from types import SimpleNamespace

    from afterword_alerts import on_failure

    variables(alert_url=url)
    ti = SimpleNamespace(dag_id="d", task_id="t", run_id="r")
    on_failure({"task_instance": ti, "data_interval_start": None, "exception": ValueError("x")})
