"""Each form is written so that its tool takes it, and its answers are read as the tool gives them."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import pytest

from pipeline.audit import argilla, label_studio, lines, sheet
from pipeline.audit.forms import Answer, Misread
from pipeline.audit.questions import NONE, RIGHT, WRONG, choice
from pipeline.audit.tasks import Task

PLAIN = Task("abc-0001", "t1", [("user", ">> play jazz"), ("system", "ok")], "play jazz", "music/play", NONE, None)
EVIL = Task("abc-0002", "=t2", [("user", '>> =1+1\n"x"')], '=HYPERLINK("x")', "@sum", "-1/+2", "0123456789abcdef")
TASKS = [PLAIN, EVIL]


def told(answers: Any) -> list[tuple[str, str, str, str]]:
    return [(a.task_id, a.question, a.value, a.rater) for a in answers]


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("yes", "yes"),
        (" No ", "no"),
        (True, "yes"),
        (0, "no"),
        ("cannot_tell", "cannot tell"),
        ("", None),
        (None, None),
    ],
)
def test_answers_by_hand_come_in_several_ways(said: Any, value: str | None):
    assert choice(said) == value


def test_lines_have_a_place_for_each_answer_and_read_back():
    records = [json.loads(line) for line in lines.write("abc", TASKS)["tasks.jsonl"].decode().splitlines()]
    assert [list(r["answers"]) for r in records] == [[WRONG], [WRONG, RIGHT]]
    records[0]["answers"][WRONG] = "no"
    records[1] |= {"answers": {WRONG: "yes", RIGHT: "cannot tell"}, "rater": "ann", "answered_at": "2026-03-02T10:00Z"}
    data = "".join(json.dumps(r) + "\n" for r in records).encode()
    answers = list(lines.read(data, "a.jsonl"))
    assert told(answers) == [
        ("abc-0001", WRONG, "no", "a.jsonl"),
        ("abc-0002", WRONG, "yes", "ann"),
        ("abc-0002", RIGHT, "cannot tell", "ann"),
    ]
    assert answers[0].at is None and answers[1].at == datetime(2026, 3, 2, 10, tzinfo=UTC)
    assert answers[2].place == f"a.jsonl:2 {RIGHT}"


def test_a_text_with_a_separator_of_lines_stays_one_line():
    odd = Task("abc-0001", "t1", [("user", "play\u2028jazz\x85now\x0b")], "play\u2028jazz", "music/play", NONE, None)
    data = lines.write("abc", [odd])["tasks.jsonl"].replace(
        b'"wrong_interpretation": null', b'"wrong_interpretation": "no"'
    )
    assert told(lines.read(data, "a.jsonl")) == [("abc-0001", WRONG, "no", "a.jsonl")]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            b"task_id,wrong,rater\nabc-0001,yes,ann\n",
            "a.csv:1: no column wrong_interpretation, found task_id, wrong, rater",
        ),
        (b"", "a.csv:1: no column task_id, wrong_interpretation, found none"),
        (b'task_id,wrong_interpretation\nabc-0001,"' + b"y" * 200_000, "not CSV"),
    ],
)
def test_a_sheet_that_is_none_says_what_was_found(data: bytes, says: str):
    with pytest.raises(Misread, match=says):
        list(sheet.read(data, "a.csv"))


def test_no_cell_of_a_sheet_is_a_formula():
    rows = list(csv.reader(io.StringIO(sheet.write("abc", TASKS)["tasks.csv"].decode("utf-8-sig"), newline="")))
    assert rows[0][:2] == ["task_id", "turn_id"] and len(rows) == 3
    assert not [cell for row in rows for cell in row if cell[:1] in set("=+-@\t\r")]
    assert rows[2][3] == '\'=HYPERLINK("x")' and rows[2][2] == 'user: >> =1+1\n"x"'


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_sheet_is_read_as_programs_of_any_country_save_it(separator: str):
    rows = list(csv.reader(io.StringIO(sheet.write("abc", TASKS)["tasks.csv"].decode("utf-8-sig"), newline="")))
    rows[1][6:9], rows[2][6:9] = ["no", "", "bob"], ["yes", "no", "bob"]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator).writerows(rows)
    assert told(sheet.read(out.getvalue().encode("utf-8-sig"), "b.csv")) == [
        ("abc-0001", WRONG, "no", "bob"),
        ("abc-0002", WRONG, "yes", "bob"),
        ("abc-0002", RIGHT, "no", "bob"),
    ]


def test_label_studio_gets_tasks_whose_fields_its_configuration_names():
    files = label_studio.write("abc", TASKS)
    tasks = json.loads(files["label-studio/tasks.json"])
    config = ElementTree.fromstring(files["label-studio/config.xml"])
    shown = {e.get("value")[1:] for e in config.iter() if (e.get("value") or "").startswith("$")}
    assert all(set(task) == {"data"} and shown < set(task["data"]) for task in tasks)
    named = {e.get("name") for e in config.iter() if e.get("name")}
    asked = {e.get("name"): e for e in config.iter("Choices")}
    assert set(asked) == {WRONG, RIGHT} and all(e.get("toName") in named for e in asked.values())
    assert [c.get("value") for c in asked[WRONG]] == ["yes", "no", "cannot tell"]


def annotation(who: Any, cancelled: bool = False, **values: str) -> dict[str, Any]:
    result = [
        {"from_name": k, "to_name": "reading", "type": "choices", "value": {"choices": [v]}} for k, v in values.items()
    ]
    time = "2026-03-02T10:00:00.123456Z"
    return {"completed_by": who, "was_cancelled": cancelled, "updated_at": time, "result": result}


def test_label_studio_exports_are_read_with_every_rater_and_without_what_was_skipped():
    task = {"id": 7, "data": {"task_id": "abc-0002"}}
    first = annotation(1, **{WRONG: "yes", RIGHT: "no"})
    export = [
        task | {"annotations": [first, annotation({"email": "b@x"}, **{WRONG: "no"})]},
        task | {"annotations": [annotation(3, True, **{WRONG: "no"})]},
    ]
    assert label_studio.is_mine(export[0]) and not argilla.is_mine(export[0])
    answers = list(label_studio.read(export, "e.json"))
    assert told(answers) == [
        ("abc-0002", WRONG, "yes", "1"),
        ("abc-0002", RIGHT, "no", "1"),
        ("abc-0002", WRONG, "no", "b@x"),
    ]
    assert answers[0].at == datetime(2026, 3, 2, 10, 0, 0, 123456, tzinfo=UTC)


def test_the_short_export_of_label_studio_is_read_too():
    row = {"task_id": "abc-0001", "annotator": 4, WRONG: "cannot tell", "updated_at": "2026-03-02T10:00:00Z"}
    assert label_studio.is_mine(row)
    assert told(label_studio.read([row], "m.json")) == [("abc-0001", WRONG, "cannot tell", "4")]


def test_argilla_gets_records_of_the_fields_and_questions_of_its_settings():
    files = argilla.write("abc", TASKS)
    assert set(files) == {"argilla/records.json", "argilla/.argilla/settings.json", "argilla/.argilla/dataset.json"}
    records, settings = (json.loads(files[f"argilla/{n}"]) for n in ("records.json", ".argilla/settings.json"))
    fields = {f["name"] for f in settings["fields"]}
    assert all(set(r["fields"]) == fields and all(r["fields"].values()) for r in records)
    assert [r["id"] for r in records] == ["abc-0001", "abc-0002"]
    assert {q["name"]: q["required"] for q in settings["questions"]} == {WRONG: True, RIGHT: False}
    names = [p["name"] for kind in ("fields", "questions", "metadata") for p in settings[kind]]
    assert len(names) == len(set(names)) and {m["name"] for m in settings["metadata"]} == set(records[0]["metadata"])


def test_argilla_exports_are_read_nested_and_flat():
    record = json.loads(argilla.write("abc", TASKS)["argilla/records.json"])[1]
    nested = record | {
        "responses": {
            WRONG: [{"value": "yes", "user_id": "u1"}, {"value": "no", "user_id": "u2", "status": "discarded"}],
            RIGHT: [{"value": "no", "user_id": "u1", "status": "submitted"}],
        }
    }
    flat = {
        "id": "abc-0002",
        f"{WRONG}.responses": ["yes", "no"],
        f"{WRONG}.responses.users": ["u1", "u2"],
        f"{WRONG}.responses.status": ["submitted", "draft"],
    }
    assert argilla.is_mine(nested) and argilla.is_mine(flat)
    assert told(argilla.read([nested], "r.json")) == [("abc-0002", WRONG, "yes", "u1"), ("abc-0002", RIGHT, "no", "u1")]
    assert told(argilla.read([flat], "r.json")) == [("abc-0002", WRONG, "yes", "u1")]


@pytest.mark.parametrize(
    ("read", "data", "says"),
    [
        (lines.read, b'{"task_id": "abc-1", "answers": {"wrong_interpretation": "maybe"}}', "x:1 wrong_interpretation"),
        (lines.read, b"\n{bad", "x:2: a JSON object"),
        (lines.read, b"[1]", "x:1: a JSON object"),
        (lines.read, b'{"task_id": 3, "answers": {"wrong_interpretation": "no"}}', "x:1 task_id"),
        (
            lines.read,
            b'{"task_id": "abc-1", "answers": {"wrong_interpretation": "no"}, "answered_at": "soon"}',
            "x:1 answered_at: 'soon': ISO 8601",
        ),
        (sheet.read, b"task_id,wrong\nabc-1,no\n", "x:1: no column wrong_interpretation"),
        (sheet.read, b"task_id,wrong_interpretation\nabc-1,perhaps\n", "x:2 wrong_interpretation: 'perhaps': yes, no"),
        (label_studio.read, [{"data": {}, "annotations": []}], "x:1: not a task"),
        (label_studio.read, [{"data": {"task_id": "a"}, "annotations": [{"result": [3]}]}], "x:1: not a task"),
        (argilla.read, [{"id": "a", "responses": {WRONG: [{"user_id": "u"}]}}], f"x:1 {WRONG}: not a record"),
        (argilla.read, [{"id": "a", "responses": {WRONG: [{"value": 5}]}}], f"x:1 {WRONG}: 5"),
    ],
)
def test_what_cannot_be_read_says_file_line_and_field(read: Any, data: Any, says: str):
    with pytest.raises(Misread) as refused:
        list(read(data, "x"))
    assert str(refused.value).startswith(says)


def test_an_answer_knows_its_place():
    assert Answer("a", WRONG, "yes", "r", None, "f.csv", 3).place == f"f.csv:3 {WRONG}"
