from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.curation.known import TrainingSet, compare, contradictions, diff
from pipeline.curation.training_files import keep_training_set, read_training_set
from pipeline.errors import ConfigError
from pipeline.ontology.parse import parse
from pipeline.writers.training_set_diff import of_examples, of_folder, sheet
from schemas import EXAMPLE, KNOWN, LEFT_OUT, TRAINING_SET_DIFF


def slots(**values: str | None) -> list[dict[str, Any]]:
    return [{"name": k, "value": v, "start": None, "end": None} for k, v in values.items()]


def example(text: str, intent: str | None = "go", domain: str | None = "d", **fields: Any) -> dict[str, Any]:
    row = {
        "example_id": f"{text}-{intent}-{domain}",
        "locale": "en",
        "utterance": text,
        "domain": domain,
        "intent": intent,
        "slots": [],
        "kind": "correction",
        "blame": "intent",
        "confidence": 0.75,
        "support": 3,
        "certified": False,
        "provenance": {"turn_ids": ["t"], "subjects": ["s"]},
        "split": "train",
        "weight": 0.75,
    }
    return row | fields


def examples(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=EXAMPLE.schema)


def known(tmp_path: Path, *rows: dict[str, Any]) -> TrainingSet:
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_training_set(str(path))[0]


def test_the_same_words_with_another_label_contradict_and_with_the_same_are_known(tmp_path: Path):
    training = known(
        tmp_path,
        {"text": "Go, now!", "intent": "go", "domain": "d"},
        {"text": "stop", "intent": "stop", "domain": "d"},
    )
    table = examples(example("go now"), example("GO now", "stop"), example("stop", "go"), example("walk"))
    found = compare(table, training)
    assert found.known.tolist() == [True, False, False, False]
    assert found.contradicts.tolist() == [False, True, True, False]
    assert found.row.tolist() == [0, 0, 1, -1]
    left = contradictions(table, training)
    assert left.schema.equals(LEFT_OUT.schema)
    rows = {r["example_id"]: r for r in left.to_pylist()}
    assert {k: (r["reason"], r["of"]) for k, r in rows.items()} == {
        "GO now-stop-d": ("contradicts_training_set", "set.jsonl:1"),
        "stop-go-d": ("contradicts_training_set", "set.jsonl:2"),
    }
    assert rows["stop-go-d"]["provenance"]["subjects"] == ["s"] and "now" not in rows["GO now-stop-d"]["detail"]
    assert compare(table.slice(0, 0), training).known.tolist() == []


def test_what_is_known_is_left_out_where_asked(tmp_path: Path):
    training = known(tmp_path, {"text": "go", "intent": "go"}, {"text": "stop", "intent": "stop"})
    left = contradictions(examples(example("go"), example("stop", "go"), example("walk")), training, keep_known=False)
    assert {r["example_id"]: r["reason"] for r in left.to_pylist()} == {
        "go-go-d": "known",
        "stop-go-d": "contradicts_training_set",
    }


def test_of_several_labels_of_the_same_words_any_is_known_and_all_are_shown(tmp_path: Path):
    training = known(tmp_path, *({"text": "go", "intent": name} for name in ("go", "run", "run", "walk", "fly")))
    table = examples(example("go", "walk"), example("go", "sit", example_id="x"))
    assert compare(table, training).known.tolist() == [True, False]
    (row,) = diff(table, training).to_pylist()
    now = [f'{{"domain":null,"intent":"{name}","slots":[]}}' for name in ("go", "run", "walk")]
    assert row["label_now"] == " | ".join(now) + " | and 1 more"


@pytest.mark.parametrize(
    ("row", "given", "same"),
    [
        ({"slots": slots(a="1", b="X")}, {"slots": slots(b="x", a="1")}, True),
        ({"slots": slots(a="1")}, {"slots": slots(a="2")}, False),
        ({"slots": slots(a="1")}, {"slots": []}, False),
        ({"slots": '[{"name": "a", "value": "1"}]'}, {"slots": slots(a="1")}, True),
        ({"slots": {"a": ["1", "2"]}}, {"slots": [*slots(a="2"), *slots(a="1")]}, True),
        ({"slots": {"a": 1}}, {"slots": slots(a="1")}, True),
        ({"annot_utt": "go to [a : 1] and [ b:2 ]"}, {"slots": slots(a="1", b="2")}, True),
        ({}, {"slots": slots(a="1")}, True),
        ({"domain": "d"}, {"domain": "e"}, False),
        ({"domain": None}, {"domain": "d"}, False),
        ({"domain": ""}, {"domain": None}, True),
    ],
)
def test_labels_are_compared_by_as_much_as_the_set_holds(
    tmp_path: Path, row: dict[str, Any], given: dict[str, Any], same: bool
):
    training = known(tmp_path, {"text": "go", "intent": "go"} | row)
    found = compare(examples(example("go", **given)), training)
    assert (found.known[0], found.contradicts[0]) == (same, not same)


def test_a_rejection_contradicts_what_teaches_the_rejected(tmp_path: Path):
    training = known(tmp_path, {"text": "go", "intent": "go", "domain": "d"})
    bad = {"domain": "d", "intent": "go", "slots": [], "response": None}
    table = examples(
        example("go", None, None, kind="rejection", rejected=bad, slots=[]),
        example("go", None, None, kind="rejection", rejected=bad | {"intent": "run"}, example_id="other"),
        example("go", None, None, kind="rejection", rejected=bad | {"intent": None}, example_id="words"),
    )
    found = compare(table, training)
    assert found.contradicts.tolist() == [True, False, False] and not found.known.any()
    assert diff(table, training)["label_proposed"].to_pylist() == ['not {"domain":"d","intent":"go","slots":[]}']


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "answer", "intent": None, "domain": None, "response": "yes"},
        {"kind": "answer", "domain": "tool", "intent": "get"},
        {"kind": "correction", "domain": "tool", "intent": "get"},
        {"kind": "preference", "domain": None, "intent": None},
    ],
)
def test_what_is_no_meaning_is_not_compared(tmp_path: Path, fields: dict[str, Any]):
    found = compare(examples(example("go") | fields), known(tmp_path, {"text": "go", "intent": "go", "domain": "d"}))
    assert not found.known.any() and not found.contradicts.any()


@pytest.mark.parametrize("kind", ["rejection", "preference"])
@pytest.mark.parametrize("domain", [{}, {"domain": None}, {"domain": "d"}])
def test_a_rejected_tool_call_says_nothing_of_a_set_with_its_name(tmp_path: Path, kind: str, domain: dict[str, Any]):
    """Whether or not the set has domains by which the two could be told apart."""
    training = known(tmp_path, {"text": "go", "intent": "get"} | domain)
    call = {"domain": "tool", "intent": "get", "slots": [], "response": None}
    found = compare(examples(example("go", None, None, kind=kind, rejected=call, slots=[])), training)
    assert not found.known.any() and not found.contradicts.any()


def test_the_diff_is_a_sheet_in_order_with_no_formula(tmp_path: Path):
    training = known(
        tmp_path,
        {"text": "go", "intent": "go", "slots": []},
        {"text": "=walk", "intent": "go"},
        {"text": "é", "intent": "a"},
    )
    table = examples(example("=walk", "run"), example("go", "run"), example("e\u0301", "b"), example("unknown"))
    rows = diff(table, training)
    assert rows.schema.equals(TRAINING_SET_DIFF.schema)
    folder = tmp_path / "diff"
    folder.mkdir()
    for k in range(2):
        pq.write_table(rows.slice(2 * k, 2), folder / f"bucket-0000{1 - k}.parquet")
    data = sheet(of_folder(str(folder)))
    held = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    assert [r["text"] for r in held] == ["'=walk", "e\u0301", "go"]
    assert held[2] == {
        "text": "go",
        "label_now": '{"domain":null,"intent":"go","slots":[]}',
        "label_proposed": '{"domain":"d","intent":"run","slots":[]}',
        "support": "3",
        "confidence": "0.75",
        "kind": "correction",
        "split": "train",
        "place": "set.jsonl:1",
        "example_id": "go-run-d",
    }
    assert of_folder(str(tmp_path / "none")).num_rows == 0


def test_the_set_is_brought_under_the_ontology(tmp_path: Path):
    ontology = parse(
        {"domains": {"d": {"intents": {"go": ["city"]}}}, "renamed": [{"intent": "navigate", "to": "go"}]}, "o"
    )
    path = tmp_path / "set.csv"
    path.write_text("text,intent,domain\ngo,navigate,d\n")
    assert compare(examples(example("go")), read_training_set(str(path), ontology)[0]).known.all()
    assert compare(examples(example("go")), read_training_set(str(path))[0]).contradicts.all()


def test_forms_and_folders(tmp_path: Path):
    rows = [
        {"text": "go", "intent": "go", "domain": "d", "slots": '[{"name": "a", "value": "1", "start": 0, "end": 1}]'}
    ]
    (tmp_path / "set").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "set" / "a.parquet")
    (tmp_path / "set" / "b.csv").write_text('utt,intent,domain,slots\n"a, b",go,,\n')
    (tmp_path / "set" / "c.jsonl").write_text('\n{"utterance": "x", "intent": "y", "domain": "z", "slots": null}\n')
    (tmp_path / "set" / "readme.md").write_text("no rows")
    training, files = read_training_set(str(tmp_path / "set"))
    assert [f.uri for f in files] == ["a.parquet", "b.csv", "c.jsonl"] and (
        training.with_domain,
        training.with_slots,
    ) == (
        True,
        True,
    )
    assert training.rows.schema.equals(KNOWN.schema)
    held = training.rows.to_pylist()
    assert [(r["place"], r["words"]) for r in held] == [("a.parquet:1", "go"), ("b.csv:1", "a b"), ("c.jsonl:2", "x")]
    assert held[0]["label"] == {"domain": "d", "intent": "go", "slots": slots(a="1"), "score": None}
    one = keep_training_set(str(tmp_path / "kept.parquet"), training, False)
    assert one(examples(example("go", slots=slots(a="1"))))["reason"].to_pylist() == ["known"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.jsonl", '{"text": "go"}\n', "curate.training_set a.jsonl: row 1: text and intent are wanted, found text"),
        ("a.jsonl", '{"text": "go", "intent": "go"}\n{"text": "", "intent": "go"}\n', "row 2: text and intent are"),
        ("a.jsonl", '{"text": "go", "intent": null}\n', "row 1: text and intent are"),
        ("a.jsonl", "[1]\n", "row 1: text and intent are wanted, found neither"),
        ("a.jsonl", '{"text": "a", "intent": "b"}\n{\n', "line 2 is not JSON"),
        ("a.jsonl", '{"text": "a", "intent": "b", "slots": "x"}\n', "row 1 slots: .*as JSON is wanted, found 'x'"),
        ("a.jsonl", '{"text": "a", "intent": "b", "slots": [1]}\n', "row 1 slots: a list of"),
        ("a.jsonl", '{"text": "a", "intent": "b", "domain": 3}\n', "row 1 domain: a text is wanted, found 3"),
        ("a.csv", "text;intent\na;b\n", "row 1: text and intent are wanted, found text;intent"),
        ("a.csv", 'text,intent\na,"b\n', None),
        ("a.parquet", "no parquet", "not a Parquet file"),
        ("a.txt", "go", None),
    ],
)
def test_a_set_that_cannot_be_right_says_where(tmp_path: Path, name: str, text: str, says: str | None):
    (tmp_path / name).write_text(text)
    if says is None and name.endswith(".csv"):
        # What a quote that is left open takes in is text; the row is whole.
        assert read_training_set(str(tmp_path / name))[0].rows.num_rows == 1
        return
    with pytest.raises(ConfigError, match=says or "curate.training_set .*no file to read"):
        read_training_set(str(tmp_path) if says is None else str(tmp_path / name))


def test_a_sheet_is_cut_to_some_examples_and_its_cells_stay():
    labels = {"label_now": "d/stop", "label_proposed": "d/go", "support": 3, "confidence": 0.5}
    place = {"kind": "correction", "split": "train", "place": "set:1"}
    rows = [
        {"text": text, **labels, **place, "example_id": name}
        for name, text in (("1", '=a, "formula"\nin two lines'), ("2", "b"), ("3", "c"))
    ]
    whole = sheet(pa.Table.from_pylist(rows, schema=TRAINING_SET_DIFF.schema))
    assert of_examples(whole, pa.array(["1", "2", "3", "other"])) == whole
    cut = of_examples(whole, pa.array(["1", "3"]))
    held, left = (list(csv.DictReader(io.StringIO(d.decode("utf-8-sig"), newline=""))) for d in (whole, cut))
    assert left == [held[0], held[2]] and left[0]["text"].endswith('=a, "formula"\nin two lines')
