"""One run over a log with opt-outs, bots, an incident, an ontology, licences and a training set: nothing that is kept
out reaches an example, the training rows, an edge or a figure pooled over users.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from repairs import SETTINGS, records
from synthetic import afterword, copy, lines

from features.hashing import pseudonyms
from pipeline.config import load
from pipeline.jobs import ingest, signals
from pipeline.jobs.context import Context
from pipeline.transforms.chain import CountEdges
from pipeline.workspace import Workspace
from schemas import EDGE, EXAMPLE, LEFT_OUT, SIGNALS, TURN

# Users by what is to become of them; all others are ordinary.
OPTED_OUT, BOTS, UNLICENSED = range(10), range(10, 20), range(20, 30)
# Users ask an hour apart, from START on.
INCIDENT = range(40, 50)
OLD_NAMES = range(60, 90)
SECRET = "zanzibar"

ONTOLOGY = """
[domains.travel.intents]
go = ["city"]
weather = ["city"]
negate = []

[[renamed]]
intent = "forecast"
to = "weather"

[[renamed]]
slot = "town"
to = "city"

[[retired]]
intent = "affirm"
"""
INCIDENTS = """
[[incident]]
name = "outage"
from = 2026-03-03T01:00:00Z
to = 2026-03-03T11:00:00Z
"""
FILTERS = """
[[filter]]
name = "bot"
user_prefixes = ["bot-"]
"""


def log() -> list[dict[str, Any]]:
    """The log of `repairs`, with an unknown label, with old names, and with users who are to be kept out."""
    out = []
    for row in records(users=160):
        user = int(row["user_id"][1:])
        row = json.loads(json.dumps(row)) | {"licence": "MIT" if user in UNLICENSED else "CC0-1.0"}
        if user in OPTED_OUT:
            row |= {"user_id": f"gone-{user}", "utterance": f"{row['utterance']} {SECRET}"}
        if user in BOTS:
            row |= {"user_id": f"bot-{user}", "utterance": f"{row['utterance']} beep"}
        if user in OLD_NAMES:
            for reading in row["interpretations"]:
                reading["intent"] = {"weather": "forecast"}.get(reading["intent"], reading["intent"])
                reading["slots"] = [slot | {"name": "town"} for slot in reading["slots"]]
        if user == 90 and row["turn_id"].endswith("-0"):
            row["interpretations"][0]["intent"] = "dance"
        out.append(row)
    return out


@pytest.fixture(scope="module")
def kept_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept_out")
    (folder / "log").mkdir()
    (folder / "log" / "a.jsonl").write_bytes(lines(*log()))
    texts = {
        "ontology.toml": ONTOLOGY,
        "incidents.toml": INCIDENTS,
        "filters.toml": FILTERS,
        "opt_out.txt": "".join(f"gone-{k}\n" for k in OPTED_OUT),
        # The first contradicts what every user means, the second repeats it.
        "training.csv": "text,intent,domain,slots\n"
        'Take me to Bath!,forecast,travel,"{""town"": ""bath""}"\n'
        'go to tours,go,travel,"{""city"": ""tours""}"\n',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    options = {
        "ontology.file": "ontology.toml",
        "filters.incidents": "incidents.toml",
        "filters.file": "filters.toml",
        "filters.opt_out": "opt_out.txt",
        "curate.training_set": "training.csv",
    }
    given = [part for key, name in options.items() for part in ("--set", f"{key}={folder / name}")]
    licences = ("--set", "curate.licences=CC0-1.0, CC-BY-4.0")
    run = ("run", "--input", folder / "log", *SETTINGS, *given, *licences, "--out", folder / "out")
    assert afterword(*run) == 0
    return folder


def release(folder: Path) -> tuple[Path, dict[str, Any]]:
    found = folder / "out" / "releases" / (folder / "out" / "CURRENT").read_text().strip()
    return found, json.loads((found / "manifest.json").read_text())


def examples(folder: Path) -> list[dict[str, Any]]:
    return Workspace(str(folder / "out")).read("curate", "examples", EXAMPLE).to_pylist()


def test_each_is_counted_and_the_sums_close(kept_out: Path):
    counts = release(kept_out)[1]["counts"]
    ingested, curated = counts["ingest"], counts["curate"]
    read = Counter(
        "gone" if r["user_id"].startswith("gone-") else "bot" if r["user_id"].startswith("bot-") else "other"
        for r in log()
    )
    assert (ingested["opted_out"], ingested["excluded.bot"]) == (read["gone"], read["bot"])
    of_incident = sum(r["user_id"] in {f"r{k:03d}" for k in INCIDENT} for r in log())
    assert ingested["excluded.outage"] == of_incident > 0
    assert ingested["dead_letter.unknown_label"] == ingested["dead_lettered"] == 1
    assert ingested["labels_renamed"] > 0 and ingested["labels_history.retired"] > 0
    assert curated["excluded"] >= read["bot"] + of_incident
    assert curated["licence"] >= sum(r["licence"] == "MIT" for r in log())
    assert curated["unknown_label"] > 0


def test_what_opted_out_is_nowhere(kept_out: Path):
    looked = 0
    for path in (kept_out / "out").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if path.suffix == ".parquet":
                data += json.dumps(pq.read_table(path).to_pylist(), default=str).encode()
            assert SECRET.encode() not in data and b"gone-" not in data, path
            looked += 1
    assert looked > 20


def test_what_is_excluded_stays_in_the_log_and_reaches_no_example_and_no_training_row(kept_out: Path):
    workspace = Workspace(str(kept_out / "out"))
    turns = workspace.read("ingest", "turns", TURN, ["turn_id", "subject_id", "excluded", "licence"])
    excluded = turns.filter(turns["excluded"].is_valid())
    assert set(excluded["excluded"].to_pylist()) == {"bot", "outage"}
    out = set(excluded["turn_id"].to_pylist())
    rows = workspace.read("train", "rows", SIGNALS, ["turn_id"])["turn_id"].to_pylist()
    assert rows and not out & set(rows)
    unlicensed = set(turns.filter(pa.compute.equal(turns["licence"], "MIT"))["turn_id"].to_pylist())
    users = set(pseudonyms(np.array(excluded["subject_id"].to_pylist(), dtype=object)))
    made = examples(kept_out)
    for example in made:
        source = example["provenance"]
        assert not {*source["turn_ids"], *source["supporting_turns"]} & (out | unlicensed)
        assert not users & set(source["subjects"]) and source["licences"] == ["CC0-1.0"]
        assert "beep" not in example["utterance"]
    assert {e["kind"] for e in made} >= {"correction", "confirmation"}


def test_only_labels_of_the_ontology_come_out_under_their_names_of_now(kept_out: Path):
    found = [e for e in examples(kept_out) if e["kind"] != "rejection"]
    found += [e["rejected"] for e in examples(kept_out) if e["rejected"]]
    labels = {(e["domain"], e["intent"], tuple(s["name"] for s in e["slots"])) for e in found}
    assert {("travel", "go", ("city",)), ("travel", "weather", ("city",))} <= labels
    assert labels <= {("travel", "go", ("city",)), ("travel", "weather", ("city",)), ("travel", "negate", ())}
    pooled = [e for e in examples(kept_out) if e["intent"] == "weather"]
    old = {f"r{k:03d}" for k in OLD_NAMES}
    users = [{t.rpartition("-")[0] for t in e["provenance"]["turn_ids"]} for e in pooled]
    assert any(u & old and u - old for u in users)


def test_what_contradicts_the_training_set_is_listed_and_not_released(kept_out: Path):
    folder, manifest = release(kept_out)
    data = (folder / "left_out" / "training_set_diff.csv").read_bytes()
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    assert {r["text"] for r in rows} == {"take me to bath"}
    now = '{"domain":"travel","intent":"weather","slots":[{"name":"city","value":"bath"}]}'
    assert rows[0]["label_now"] == now and rows[0]["place"] == "training.csv:1"
    assert rows[0]["label_proposed"] == now.replace("weather", "go") and int(rows[0]["support"]) >= 2
    made = examples(kept_out)
    assert not any(e["utterance"] == "take me to bath" for e in made)
    assert any(e["utterance"] == "go to tours" for e in made)
    left = Workspace(str(kept_out / "out")).read("curate", "left_out", LEFT_OUT).to_pylist()
    assert sorted(r["example_id"] for r in left) == sorted(r["example_id"] for r in rows)
    assert {r["reason"] for r in left} == {"contradicts_training_set"}
    curated = manifest["counts"]["curate"]
    assert curated["contradicts_training_set"] == len(rows) and curated["in_training_set"] >= 1


def test_the_files_are_part_of_what_names_the_release(kept_out: Path):
    _, manifest = release(kept_out)
    given = manifest["identity"]["given"]
    assert [g["option"] for g in given] == [
        "ontology.file",
        "filters.opt_out",
        "filters.incidents",
        "filters.file",
        "curate.training_set",
    ]
    assert all(len(g["sha256"]) == 64 and "/" not in g["uri"] for g in given)
    assert str(kept_out) not in json.dumps(manifest)


def test_explain_says_why_a_turn_teaches_nothing(kept_out: Path, capsys: pytest.CaptureFixture[str]):
    told = {}
    for turn in ("r010-0", f"r{INCIDENT[0]:03d}-0", f"r{UNLICENSED[0]:03d}-0", "r100-1"):
        assert afterword("explain", turn, "--out", kept_out / "out", "--json") == 0
        told[turn] = json.loads(capsys.readouterr().out)["became"]["outcome"]
        assert afterword("explain", turn, "--out", kept_out / "out") == 0
        assert told[turn] in capsys.readouterr().out
    assert told["r010-0"] == "excluded" and told[f"r{INCIDENT[0]:03d}-0"] == "excluded"
    assert told[f"r{UNLICENSED[0]:03d}-0"] == "licence"
    assert told["r100-1"] == "unknown_label"


def test_what_is_known_is_left_out_where_asked_from_stage_curate_on(kept_out: Path, tmp_path: Path):
    out = copy(kept_out / "out", tmp_path / "out")
    again = ("run", "--from", "curate", "--set", f"curate.training_set={kept_out / 'training.csv'}")
    assert afterword(*again, *SETTINGS[2:], "--set", "curate.keep_known=false", "--out", out) == 0
    left = Workspace(str(out)).read("curate", "left_out", LEFT_OUT).to_pylist()
    assert Counter(r["reason"] for r in left)["known"] >= 1
    made = Workspace(str(out)).read("curate", "examples", EXAMPLE)["utterance"].to_pylist()
    assert "go to tours" not in made and "take me to tours" in made


def test_a_file_that_changed_since_ingest_is_refused_from_a_later_stage(
    kept_out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = copy(kept_out / "out", tmp_path / "out")
    (tmp_path / "more.txt").write_text("gone-1\nr100\n")
    asked = ("run", "--from", "curate", *SETTINGS[2:], "--set", f"filters.opt_out={tmp_path / 'more.txt'}")
    assert afterword(*asked, "--out", out) == 7
    said = capsys.readouterr().err
    assert "filters.opt_out more.txt: not what the turns in" in said and "run from ingest, not --from curate" in said


def edges(folder: Path, rows: list[dict[str, Any]], *overrides: str) -> pa.Table:
    """Edges of a log, counted as stage train does."""
    (folder / "log").mkdir(parents=True)
    (folder / "log" / "a.jsonl").write_bytes(lines(*rows))
    context = Context(Workspace(str(folder / "out")), load(None, list(overrides)))
    ingest.run(context, str(folder / "log"), "canonical")
    signals.run(context)
    tables = (context.workspace.table(*names) for names in (("ingest", "turns"), ("signals", "signals")))
    counted = CountEdges(*tables, "en", True, 60.0, 5)
    parts = [part for bucket in context.workspace.buckets("ingest", "turns") for part in counted.work(bucket)]
    return pa.concat_tables([EDGE.empty(), *parts]).sort_by([(k, "ascending") for k in EDGE.key])


def test_users_who_are_kept_out_leave_the_edges_as_if_they_had_not_been_there(tmp_path: Path):
    rows = records(users=40)
    bots = [r | {"user_id": f"bot-{r['user_id']}", "turn_id": f"b{r['turn_id']}"} for r in rows[:80]]
    (tmp_path / "filters.toml").write_text(FILTERS)
    (tmp_path / "gone.txt").write_text("".join(f"{b['user_id']}\n" for b in bots))
    without = edges(tmp_path / "a", rows)
    assert without.num_rows and not edges(tmp_path / "b", rows + bots).equals(without)
    assert edges(tmp_path / "c", rows + bots, f"filters.file={tmp_path / 'filters.toml'}").equals(without)
    assert edges(tmp_path / "d", rows + bots, f"filters.opt_out={tmp_path / 'gone.txt'}").equals(without)
