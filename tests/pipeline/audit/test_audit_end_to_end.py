"""An audit of a simulated log, judged by its truth; then the labels against the release, and into the next one."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from synthetic import afterword, copy, tree

from pipeline.audit.questions import RIGHT, WRONG
from schemas import LABEL_KINDS

SIMULATED = ("--turns", "4000", "--users", "80", "--days", "2", "--wishes", "600")
# Corrections are accepted on less than by default, so that there are some in so small a log.
SETTINGS = ("--format", "canonical", "--set", "train.weak_tau=0", "--set", "train.least_correct=0.3")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a simulated log, its truth, and the output of a run over it."""
    folder = tmp_path_factory.mktemp("simulated")
    assert afterword("simulate", "--out", folder, *SIMULATED) == 0
    assert afterword("run", "--input", folder / "logs", "--out", folder / "out", *SETTINGS) == 0
    return folder


@pytest.fixture(scope="module")
def drawn(simulated: Path) -> Path:
    """The folder of an audit of 300 turns."""
    assert afterword("audit", "--out", simulated / "out", "--n", 300) == 0
    (folder,) = (simulated / "out" / "audits").iterdir()
    return folder


@pytest.fixture(scope="module")
def truth(simulated: Path) -> dict[str, dict[str, Any]]:
    return {row["turn_id"]: row for row in pq.read_table(simulated / "truth").to_pylist()}


@pytest.fixture(scope="module")
def sample(drawn: Path) -> list[dict[str, Any]]:
    return pq.read_table(drawn / "sample.parquet").to_pylist()


@pytest.fixture(scope="module")
def answers(drawn: Path, truth: dict[str, Any], sample: list[dict[str, Any]], tmp_path_factory: Any) -> Path:
    """The sheet, filled in by who knows the truth."""
    candidate = {row["task_id"]: row["candidate_id"] for row in sample}
    with (drawn / "tasks.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        meant = truth[row["turn_id"].lstrip("'")]
        row |= {WRONG: "yes" if meant["wrong"] else "no", "rater": "ann", "answered_at": "2026-06-01T12:00:00Z"}
        if candidate[row["task_id"]]:
            row[RIGHT] = "yes" if candidate[row["task_id"]] == meant["candidate_id"] else "no"
    path = tmp_path_factory.mktemp("answers") / "judged.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        sheet = csv.DictWriter(file, rows[0])
        sheet.writeheader()
        sheet.writerows(rows)
    return path


@pytest.fixture(scope="module")
def read(simulated: Path, drawn: Path, answers: Path) -> dict[str, Any]:
    """Figures of the audit, its answers read."""
    assert afterword("audit", "--out", simulated / "out", "--read", answers) == 0
    return json.loads((drawn / "figures.json").read_text())


def judged(simulated: Path) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """All judgements, and the accepted correction of each turn that has one."""
    stage = simulated / "out" / "stages" / "label"
    corrections = pq.read_table(stage / "corrections").to_pylist()
    accepted = {row["turn_id"]: row["candidate_id"] for row in corrections if row["accepted"]}
    return pq.read_table(stage / "judgements").to_pylist(), accepted


def consenting(simulated: Path) -> set[str]:
    turns = pq.read_table(simulated / "out" / "stages" / "ingest" / "turns", columns=["turn_id", "consent"])
    return {row["turn_id"] for row in turns.to_pylist() if row["consent"] is not False}


def test_the_cells_are_those_of_the_judgements_and_the_sample_is_as_stated(
    simulated: Path, drawn: Path, sample: list[dict[str, Any]]
):
    design = json.loads((drawn / "audit.json").read_text())
    judgements, accepted = judged(simulated)
    allowed = consenting(simulated)
    cell = {
        row["turn_id"]: (
            row["domain"] or "(none)",
            "satisfied" if not row["is_defect"] else "corrected" if row["turn_id"] in accepted else "defective",
        )
        for row in judgements
        if row["turn_id"] in allowed
    }
    assert {(s["domain"], s["decision"]): s["turns"] for s in design["strata"]} == Counter(cell.values())
    assert {decision for _, decision in cell.values()} == {"corrected", "defective", "satisfied"}
    assert design["left_out"]["not_learnable"] == len(judgements) - len(cell)
    assert len(sample) == len({row["turn_id"] for row in sample}) == design["drawn"] == 300
    taken = Counter((row["domain"], row["decision"]) for row in sample)
    assert {(s["domain"], s["decision"]): s["drawn"] for s in design["strata"] if s["drawn"]} == taken
    for row in sample:
        key = (row["domain"], row["decision"])
        assert cell[row["turn_id"]] == key
        assert row["inclusion"] == pytest.approx(taken[key] / Counter(cell.values())[key])
        assert row["candidate_id"] == accepted.get(row["turn_id"]) or row["decision"] != "corrected"


def test_the_same_draw_again_is_the_same_and_another_seed_draws_others(
    simulated: Path, drawn: Path, sample: list[dict[str, Any]], tmp_path: Path
):
    out = copy(simulated / "out", tmp_path / "out")
    before = tree(out / "audits")
    assert afterword("audit", "--out", out, "--n", 300) == 0
    assert tree(out / "audits") == before
    assert afterword("audit", "--out", out, "--n", 300, "--seed", 1, "--to", tmp_path / "forms", "--form", "csv") == 0
    assert [p.name for p in (tmp_path / "forms").iterdir()] == ["tasks.csv"]
    (other,) = {p.name for p in (out / "audits").iterdir()} - {drawn.name}
    turns = {row["turn_id"] for row in pq.read_table(out / "audits" / other / "sample.parquet").to_pylist()}
    assert len(turns & {row["turn_id"] for row in sample}) < 150


def test_forms_that_people_have_filled_are_not_written_over(simulated: Path, drawn: Path, tmp_path: Path, capsys: Any):
    out = copy(simulated / "out", tmp_path / "out")
    sheet = out / "audits" / drawn.name / "tasks.csv"
    sheet.write_bytes(sheet.read_bytes() + b"filled")
    before = tree(out)
    assert afterword("audit", "--out", out, "--n", 300) == 2
    assert "tasks.csv is there and may hold answers" in capsys.readouterr().err
    assert tree(out) == before
    assert afterword("audit", "--out", out, "--n", 300, "--to", tmp_path / "forms") == 0


def test_a_task_shows_the_turn_in_its_dialog_and_not_what_was_decided(simulated: Path, drawn: Path):
    tasks = [json.loads(line) for line in (drawn / "tasks.jsonl").read_text().splitlines()]
    turns = {row["turn_id"]: row for row in pq.read_table(simulated / "out/stages/ingest/turns").to_pylist()}
    for task in tasks:
        marked = [line["text"] for line in task["dialog"] if line["text"].startswith(">> ")]
        assert marked == [f">> {task['utterance']}"]
        assert turns[task["turn_id"]]["utterance"] == task["utterance"]
        assert not {"p_defect", "is_defect", "decision", "domain"} & set(task)
    assert max(len(task["dialog"]) for task in tasks) > 4
    # The order of the tasks does not tell either.
    decisions = [row["decision"] for row in pq.read_table(drawn / "sample.parquet").to_pylist()]
    assert decisions != sorted(decisions) and [t["task_id"][-4:] for t in tasks] == [f"{k:04d}" for k in range(1, 301)]


def test_the_intervals_contain_the_truth(simulated: Path, read: dict[str, Any], truth: dict[str, Any]):
    judgements, accepted = judged(simulated)
    allowed = consenting(simulated)
    rows = [row for row in judgements if row["turn_id"] in allowed]
    wrong = [truth[row["turn_id"]]["wrong"] for row in rows]
    flagged = [row["is_defect"] for row in rows]
    both = sum(w and f for w, f in zip(wrong, flagged, strict=True))
    mended = [(turn, name) for turn, name in accepted.items() if turn in allowed]
    true = {
        "prevalence": sum(wrong) / len(rows),
        "precision": both / sum(flagged),
        "recall": both / sum(wrong),
        "correction_precision": sum(truth[turn]["candidate_id"] == name for turn, name in mended) / len(mended),
    }
    for name, value in true.items():
        found = read["all"][name]
        assert found["low"] <= value <= found["high"], (name, value, found)
        assert found["high"] - found["low"] < 0.4
    assert read["all"]["turns"] == len(rows) and read["all"]["defective"] == sum(flagged)
    assert read["answers"]["judged"] == 300 and read["answers"]["open"] == 0


def test_the_answers_are_gold(simulated: Path, drawn: Path, read: dict[str, Any], truth: dict[str, Any]):
    gold = pq.read_table(simulated / "out" / "gold" / f"audit-{drawn.name}.parquet").to_pylist()
    assert {row["source"] for row in gold} == {f"audit/{drawn.name}"} and {row["raters"] for row in gold} == {1}
    assert {str(row["available_at"]) for row in gold} == {"2026-06-01 12:00:00+00:00"}
    wrong = [row for row in gold if row["definition"] == WRONG]
    assert len(wrong) == 300
    assert all(row["value"] == truth[row["turn_id"]]["wrong"] for row in wrong)
    assert len(gold) == 300 + read["answers"]["corrections_judged"] == read["gold_rows"]


def test_evaluate_joins_the_labels_and_names_what_was_learned_from(
    simulated: Path, drawn: Path, read: dict[str, Any], truth: dict[str, Any], capsys: Any
):
    out, gold = simulated / "out", simulated / "out" / "gold"
    capsys.readouterr()
    assert afterword("evaluate", "--out", out, "--gold", gold, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told["definitions"]) == {WRONG, RIGHT}
    held = told["definitions"][WRONG]
    judgements, _ = judged(simulated)
    labelled = {row["turn_id"] for row in pq.read_table(drawn / "sample.parquet").to_pylist()}
    rows = [row for row in judgements if row["turn_id"] in labelled]
    wrong = [truth[row["turn_id"]]["wrong"] for row in rows]
    hits = sum(w and row["is_defect"] for w, row in zip(wrong, rows, strict=True))
    assert (held["labels"], held["joined"], held["unjoined"], held["learned_from"]) == (300, 300, 0, 300)
    assert held["all"]["positive"] == sum(wrong) and held["all"]["taken"] == sum(row["is_defect"] for row in rows)
    assert held["all"]["precision"] == pytest.approx(hits / held["all"]["taken"], abs=1e-6)
    assert held["all"]["recall"] == pytest.approx(hits / sum(wrong), abs=1e-6)
    assert held["all"]["auc"] > 0.8 and held["not_learned_from"]["rows"] == 0
    assert sum(d["rows"] for d in held["domains"].values()) == 300
    assert sum(p["rows"] for p in held["reliability"]) == 300
    mended = told["definitions"][RIGHT]
    assert mended["all"]["accepted"] == mended["joined"] == read["answers"]["corrections_judged"]
    assert afterword("evaluate", "--out", out, "--gold", gold) == 0
    text = capsys.readouterr().out
    assert "judged out of fold" in text and "reliability" in text and "precision" in text


def test_a_model_file_judges_as_the_release_that_it_made(simulated: Path, read: dict[str, Any], capsys: Any):
    out, gold = simulated / "out", simulated / "out" / "gold"
    told = []
    for which in ((), ("--model", out / "stages/train/models.json")):
        capsys.readouterr()
        assert afterword("evaluate", "--out", out, "--gold", gold, "--json", *which) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0]["definitions"] == told[1]["definitions"]
    assert told[1]["judged_by"]["models"] == told[0]["judged_by"]["models"]


def test_definitions_are_not_mixed_and_labels_that_join_nothing_are_counted(
    simulated: Path, tmp_path: Path, capsys: Any
):
    judgements, _ = judged(simulated)
    ids = [row["turn_id"] for row in judgements[:40]]
    rows = [
        {"turn_id": t, "definition": d, "value": v}
        for d, value in (("dissatisfied", 0.4), ("breakdown", 0.75))
        for t, v in zip([*ids, "nobody's"], [value, 1.0] * 20 + [1.0], strict=True)
    ]
    path = tmp_path / "people.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    capsys.readouterr()
    assert afterword("evaluate", "--out", simulated / "out", "--gold", path, "--json") == 0
    told = json.loads(capsys.readouterr().out)["definitions"]
    assert {name: (d["joined"], d["unjoined"], d["all"]["positive"]) for name, d in told.items()} == {
        "dissatisfied": (40, 1, 20),
        "breakdown": (40, 1, 40),
    }
    assert told["breakdown"]["all"]["auc"] is None


def test_labels_of_another_log_are_refused(simulated: Path, tmp_path: Path, capsys: Any):
    path = tmp_path / "people.jsonl"
    path.write_text('{"turn_id": "nobody\'s", "definition": "breakdown", "value": 1.0}\n')
    assert afterword("evaluate", "--out", simulated / "out", "--gold", path) == 3
    assert "none of the 1 turns with a label is in the 4,000" in capsys.readouterr().err


def _meant(row: dict[str, Any]) -> tuple[Any, ...]:
    """Domain, intent and slots, however they are written down."""
    slots = sorted((slot["name"], slot["value"].lower()) for slot in row["slots"])
    return row["domain"], row["intent"], slots


def test_examples_of_a_release_are_held_against_labels_without_its_stages(
    simulated: Path, truth: dict[str, Any], tmp_path: Path, capsys: Any
):
    out = copy(simulated / "out", tmp_path / "out")
    lineage = out / "releases" / (out / "CURRENT").read_text().strip() / "lineage" / "data"
    # What was rejected has no label to hold against one.
    examples = [e for e in pq.read_table(lineage).to_pylist() if e["kind"] in LABEL_KINDS]
    rows, right = [], 0
    for example in examples:
        label = {key: example[key] for key in ("domain", "intent", "slots")}
        turns = example["provenance"]["turn_ids"]
        holds = [_meant(truth[turn]) == _meant(example) for turn in turns]
        right += sum(holds) * 2 >= len(turns)
        told = {"definition": "right_interpretation", "interpretation": label | {"score": None}}
        rows += [told | {"turn_id": turn, "value": float(h)} for turn, h in zip(turns, holds, strict=True)]
    gold = tmp_path / "people.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shutil.rmtree(out / "stages")
    capsys.readouterr()
    assert afterword("evaluate", "--out", out, "--gold", gold, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["definitions"] == {} and "no whole run of stage release" in told["notes"][0]
    held = told["examples"]["all"]
    assert (held["examples"], held["labelled"], held["right"]) == (len(examples), len(examples), right)
    assert held["turns"] == len(rows) and right > 0
    assert afterword("evaluate", "--out", out, "--gold", gold) == 0
    assert "released examples" in capsys.readouterr().out
    # Labels of turns alone tell nothing of examples: without the stages there is nothing to hold them against.
    gold.write_text(json.dumps({"turn_id": "t", "definition": "dissatisfied", "value": 1.0}) + "\n")
    assert afterword("evaluate", "--out", out, "--gold", gold) == 7


def test_the_next_training_learns_from_the_answers(simulated: Path, read: dict[str, Any], drawn: Path, tmp_path: Path):
    out = copy(simulated / "out", tmp_path / "out")
    before = (out / "CURRENT").read_text()
    assert afterword("run", "--out", out, "--from", "train", *SETTINGS[2:]) == 0
    held = json.loads((out / "releases" / (out / "CURRENT").read_text().strip() / "manifest.json").read_text())
    assert (out / "CURRENT").read_text() != before
    assert held["training"]["gold_turns"] == 300 and held["training"]["labels"] == "gold and functions"
    assert [f["uri"] for f in held["identity"]["gold"]] == [f"gold/audit-{drawn.name}.parquet"]
    # Features do not see the answers.
    assert tree(out / "stages" / "signals") == tree(simulated / "out" / "stages" / "signals")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("audit", "--n", "11"), 2, "at least 12"),
        (("audit", "--form", "paper"), 2, "invalid choice"),
        (("audit", "--read", "none.csv"), 3, "no such file"),
        (("audit", "--read", "none.csv", "--form", "csv"), 2, "draws nothing"),
        (("evaluate",), 2, "--gold"),
        (("evaluate", "--gold", "none.csv"), 3, "none.csv: no file to read"),
        (("evaluate", "--gold", "x", "--release", "a", "--model", "b"), 2, "not allowed with"),
    ],
)
def test_a_wrong_call_says_what_is_wanted(
    simulated: Path, arguments: tuple[str, ...], code: int, says: str, capsys: Any
):
    assert afterword(arguments[0], "--out", simulated / "out", *arguments[1:]) == code
    assert says in capsys.readouterr().err


def test_answers_to_an_audit_that_was_drawn_elsewhere_are_refused(simulated: Path, tmp_path: Path, capsys: Any):
    (tmp_path / "a.csv").write_text("task_id,wrong_interpretation\n0123456789ab-0001,yes\n")
    assert afterword("audit", "--out", simulated / "out", "--read", tmp_path / "a.csv") == 3
    assert "audit 0123456789ab, which was not drawn in" in capsys.readouterr().err


def test_stages_of_another_run_are_not_audited(simulated: Path, tmp_path: Path, capsys: Any):
    out = copy(simulated / "out", tmp_path / "out")
    assert afterword("label", "--out", out) == 0
    (out / "stages" / "label" / "stage.json").write_text(
        (out / "stages" / "label" / "stage.json").read_text().replace('"facts"', '"more": 1, "facts"')
    )
    assert afterword("audit", "--out", out) == 7
    assert "run it again" in capsys.readouterr().err


def test_the_tables_are_what_their_records_declare(drawn: Path):
    from schemas import AUDIT_SAMPLE

    table = pq.read_table(drawn / "sample.parquet")
    assert AUDIT_SAMPLE.conform(table).num_rows == 300
    assert pa.types.is_floating(table.schema.field("inclusion").type)
