"""The figures of a run for Prometheus, and its lines as JSON."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from apache_beam.metrics import MetricsFilter
from synthetic import SETTINGS, afterword, copy

from pipeline import metrics, tally
from pipeline.errors import ConfigError
from pipeline.exposition import Family, render
from pipeline.gates.counts import by_outcome
from pipeline.jobs import context
from pipeline.log import Log, log_format
from pipeline.monitoring import NAMESPACE
from pipeline.progress import Progress
from pipeline.stages import STAGES
from pipeline.workspace import Workspace

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")


def samples(text: str) -> dict[tuple[str, str], float]:
    """(name, labels) to value; fails where a line is not of the format's grammar, or a family is not told first."""
    out: dict[tuple[str, str], float] = {}
    told: list[str] = []
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert name not in told
            told.append(name)
        elif line.startswith("# TYPE "):
            assert line.split(" ")[2:] == [told[-1], "gauge"]
        else:
            found = _SAMPLE.fullmatch(line)
            assert found and found[1] == told[-1], line
            key = (found[1], found[2] or "")
            assert key not in out
            out[key] = float(found[3])
    return out


def test_labels_and_help_are_escaped():
    family = Family("afterword_turns", "Of\na \\ domain.")
    family.add(3, domain='a"b\\c\nd')
    family.add(0.5)
    assert render([family, Family("afterword_none", "Nothing.")]) == (
        "# HELP afterword_turns Of\\na \\\\ domain.\n"
        "# TYPE afterword_turns gauge\n"
        'afterword_turns{domain="a\\"b\\\\c\\nd"} 3\n'
        "afterword_turns 0.5\n"
    )
    assert len(samples(render([family]))) == 2


def test_domains_beyond_the_first_are_put_together(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(metrics, "DOMAINS", 2)
    held = {"a": {"turns": 5, "defects": 1}, "b": {"turns": 9}, "c": {"turns": 3, "defects": 3}, "d": {"turns": 1}}
    told = samples(render(metrics._domains(held)))
    assert told == {
        ("afterword_turns", 'domain="b"'): 9,
        ("afterword_turns", 'domain="a"'): 5,
        ("afterword_turns", 'domain="(other)"'): 4,
        ("afterword_defect_share", 'domain="b"'): 0,
        ("afterword_defect_share", 'domain="a"'): 0.2,
        ("afterword_defect_share", 'domain="(other)"'): 0.75,
    }


def test_a_run_leaves_its_figures_and_its_log(released: Path, log: Path, tmp_path: Path, capsys: Any):
    out, file = tmp_path / "out", tmp_path / "afterword.prom"
    call = ("run", "--input", log, *SETTINGS, "--out", out, "--log-format", "json", "--metrics", file)
    assert afterword(*call) == 0
    told = samples(file.read_text())
    run = json.loads(next((out / "runs").glob("*/run.json")).read_text())
    assert told["afterword_run_success", ""] == 1 and told["afterword_run_timestamp_seconds", ""] > 1.7e9
    for stage, seconds in run["seconds"].items():
        assert told["afterword_stage_seconds", f'stage="{stage}"'] == pytest.approx(seconds)
    counts = run["result"]["counts"]
    for stage in ("ingest", "label", "curate"):
        for outcome in ("in", "kept"):
            assert told["afterword_stage_rows", f'stage="{stage}",outcome="{outcome}"'] == counts[stage][outcome]
    for domain, row in run["result"]["domains"].items():
        assert told["afterword_turns", f'domain="{domain}"'] == row["turns"]
        share = row.get("defects", 0) / row["turns"]
        assert told["afterword_defect_share", f'domain="{domain}"'] == pytest.approx(share, abs=1e-6)
    examples = {k: n for (name, k), n in told.items() if name == "afterword_release_examples"}
    kept = {k: n for k, n in counts["release"].items() if k.startswith("examples.")}
    assert examples == {f'split="{k.split(".")[1]}",kind="{k.split(".")[2]}"': n for k, n in kept.items()} and examples
    assert told["afterword_release_view_rows", 'split="train",view="nlu"'] > 0
    assert told["afterword_stage_bucket_max_rows", 'stage="ingest"'] == counts["ingest"]["kept"]
    # The release is as without them.
    assert (out / "CURRENT").read_text() == (released / "CURRENT").read_text()
    said = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    kept_lines = next((out / "runs").glob("*/log.jsonl")).read_text().splitlines()
    assert [json.loads(line) for line in kept_lines] == [line for line in said if line["event"] != "running"]
    assert {line["run_id"] for line in said} == {run["run_id"]}
    ends = [line for line in said if line["event"] == "finished"]
    assert [line["stage"] for line in ends] == list(STAGES) and set(STAGES) == set(run["seconds"])
    assert all(line["seconds"] > 0 and line["time"].endswith("+00:00") for line in ends)


def test_every_stage_tells_the_runner_what_it_counts(released: Path, log: Path, tmp_path: Path, monkeypatch: Any):
    """Counters of all jobs of a stage, added up, are its counts; buckets are distributions."""
    told: dict[str, int] = {}
    distributions: set[str] = set()

    def look(result: Any) -> dict[str, int]:
        held = result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))
        for counter in held["counters"]:
            name = counter.key.metric.name
            told[name] = told.get(name, 0) + counter.result
        distributions.update(d.key.metric.name for d in held["distributions"])
        return {}

    monkeypatch.setattr(context, "largest", look)
    out = tmp_path / "out"
    assert afterword("run", "--input", log, *SETTINGS, "--out", out) == 0
    work = Workspace(str(out))
    for stage in ("ingest", "signals", "label"):
        wanted = by_outcome(work.counts(stage))
        assert {k: n for k, n in wanted.items() if n} == {
            k.removeprefix(f"{stage}."): n for k, n in told.items() if k.startswith(f"{stage}.") and n
        }
    assert told["curate.in"] == by_outcome(work.counts("ingest"))["kept"]
    assert told["train.sampled"] <= told["train.in"] <= told["curate.in"] and told["train.sampled"] > 0
    assert told["gates.turns"] == told["gates.signals"] == told["curate.in"] and told["gates.examples"] > 0
    assert distributions == {"bucket_rows", "bucket_bytes", "bucket_load_ms"}


def test_a_run_that_fails_says_so_and_tells_what_was_done_before(released: Path, tmp_path: Path):
    out, file = copy(released, tmp_path / "out"), tmp_path / "a.prom"
    call = ("run", "--out", out, "--from", "label", "--metrics", file, "--set", "gates.max_dead_letter_share=0")
    assert afterword(*call) == 4
    told = samples(file.read_text())
    assert told["afterword_run_success", ""] == 0
    assert ("afterword_stage_rows", 'stage="label",outcome="kept"') in told
    assert not [k for k in told if k[0] == "afterword_stage_rows" and 'stage="release"' in k[1]]
    held = max((out / "runs").glob("*/log.jsonl"), key=lambda p: p.stat().st_mtime).read_text().splitlines()
    stage, command = map(json.loads, held[-2:])
    assert stage["event"] == "failed" and stage["stage"] == "release" and "exit_code" not in stage
    assert command["event"] == "failed" and command["exit_code"] == 4 and command["stage"] is None
    assert command["message"].startswith("afterword: ") and command["run_id"] == stage["run_id"] in str(held)


def test_what_ends_a_command_is_json_too_where_that_is_wished(tmp_path: Path, monkeypatch: Any, capsys: Any):
    call = ("run", "--input", tmp_path / "none.jsonl", "--format", "canonical", "--out", tmp_path / "out")
    assert afterword(*call, "--log-format", "json") == 3
    *_, last = map(json.loads, capsys.readouterr().err.splitlines())
    assert last["exit_code"] == 3 and last["message"].startswith("afterword: --input ") and last["run_id"]
    # Of a command without that option, and of one that ends before it has a run.
    monkeypatch.setenv("AFTERWORD_LOG_FORMAT", "json")
    assert afterword("verify", tmp_path) == 5
    last = json.loads(capsys.readouterr().err)
    assert last["exit_code"] == 5 and last["run_id"] is None
    monkeypatch.setenv("AFTERWORD_LOG_FORMAT", "yaml")
    assert afterword("verify", tmp_path) == 2
    assert capsys.readouterr().err.startswith("afterword: AFTERWORD_LOG_FORMAT=yaml")


def test_commands_of_one_run_id_are_one_run_whose_last_one_tells_of_all(released: Path, tmp_path: Path):
    out, file = copy(released, tmp_path / "out"), tmp_path / "a.prom"
    shutil.rmtree(out / "runs")
    named = ("--out", out, "--run-id", "Day_1.a-2")
    for call in (("label",), ("curate",), ("run", "--from", "release", "--metrics", file)):
        assert afterword(*call, *named) == 0
    [folder] = (out / "runs").iterdir()
    run = json.loads((folder / "run.json").read_text())
    assert folder.name == run["run_id"] == "Day_1.a-2" and set(run["seconds"]) == {"label", "curate", "release"}
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [line["stage"] for line in lines if line["event"] == "finished"] == ["label", "curate", "release"]
    assert {line["run_id"] for line in lines} == {"Day_1.a-2"}
    told = samples(file.read_text())
    for stage in ("label", "curate", "release"):
        assert told["afterword_stage_seconds", f'stage="{stage}"'] == run["seconds"][stage]
    # Stages that ran before it, here under another name, are told by what they left.
    for stage in ("ingest", "label", "curate", "release"):
        kept = run["result"]["counts"][stage]["kept"]
        assert told["afterword_stage_rows", f'stage="{stage}",outcome="kept"'] == kept
    for domain, row in run["result"]["domains"].items():
        assert told["afterword_turns", f'domain="{domain}"'] == row["turns"]

    # Another try goes on in the same folder.
    assert afterword("run", "--from", "release", *named) == 0
    again = (folder / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in again[: len(lines)]] == lines and len(again) > len(lines)
    assert [p.name for p in (out / "runs").iterdir()] == [folder.name]


def test_stages_of_another_run_are_not_told(released: Path, tmp_path: Path):
    """Label was run anew, and what curate left is of the one before."""
    out, file = copy(released, tmp_path / "out"), tmp_path / "a.prom"
    assert afterword("train", "--out", out, "--set", "train.seed=3") == 0
    assert afterword("run", "--from", "release", "--out", out, "--metrics", file) == 7
    told = samples(file.read_text())
    stages = {labels.split('"')[1] for name, labels in told if name == "afterword_stage_rows"}
    assert stages == {"ingest", "signals"} and told["afterword_run_success", ""] == 0


@pytest.mark.parametrize("name", ["", "..", "a/b", ".a", "a b", "a" * 64, "ü"])
def test_a_run_id_that_is_no_name_is_refused(released: Path, name: str, capsys: Any):
    before = sorted((released / "runs").iterdir())
    assert afterword("label", "--out", released, f"--run-id={name}") == 2
    assert f"--run-id {name}: up to 63 letters" in capsys.readouterr().err
    assert sorted((released / "runs").iterdir()) == before


def test_metrics_that_cannot_be_written_fail_no_run(released: Path, tmp_path: Path, capsys: Any):
    (tmp_path / "file").write_text("")
    call = ("run", "--out", copy(released, tmp_path / "out"), "--from", "release")
    assert afterword(*call, "--metrics", tmp_path / "file" / "a.prom") == 0
    assert "events.metrics" in capsys.readouterr().err


def test_json_lines_have_stage_rows_and_seconds_and_no_terminal_codes():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    progress = Progress(stream, log=Log("r1", as_json=True))
    with progress.stage("signals"):
        tally.add(12)
        progress.note('say "ü"\nagain')
    progress.note("after")
    first, note, last, after = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first["event"] == "started" and first["rows"] is None and first["run_id"] == "r1"
    assert note["message"] == 'say "ü"\nagain' and note["stage"] == "signals"
    assert last["event"] == "finished" and last["rows"] == 12 and last["seconds"] >= 0
    assert after["stage"] is None and set(first) == {
        "time", "run_id", "stage", "event", "rows", "seconds", "message"
    }  # fmt: skip


def test_the_environment_names_the_form_and_the_option_goes_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AFTERWORD_LOG_FORMAT", "json")
    assert log_format(None) == "json" and log_format("text") == "text"
    monkeypatch.setenv("AFTERWORD_LOG_FORMAT", "yaml")
    with pytest.raises(ConfigError, match="yaml"):
        log_format(None)
