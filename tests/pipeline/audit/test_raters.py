"""Answers of several raters to one share a question, and to Gold; what does not fit the sample is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.audit.answers import audit_of, named, read_answers
from pipeline.audit.figures import figures
from pipeline.audit.forms import Answer
from pipeline.audit.questions import RIGHT, WRONG
from pipeline.audit.said import collect, gold_rows
from pipeline.errors import InputError
from schemas import AUDIT_SAMPLE

FIRST, LATER = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)


def row(number: int, decision: str, candidate: str | None = None) -> dict[str, Any]:
    task = {"task_id": f"abc-{number:04d}", "turn_id": f"t{number}", "domain": "music", "decision": decision}
    return task | {"inclusion": 0.5, "candidate_id": candidate}


SAMPLE = pa.Table.from_pylist(
    [row(1, "corrected", "c" * 16), row(2, "defective"), row(3, "satisfied"), row(4, "satisfied")],
    schema=AUDIT_SAMPLE.schema,
)


def say(number: int, value: str, rater: str = "ann", question: str = WRONG, at: datetime | None = None) -> Answer:
    return Answer(f"abc-{number:04d}", question, value, rater, at, "a.csv", number + 1)


def test_the_value_is_the_share_of_the_raters_who_could_tell():
    answers = [say(1, "yes"), say(1, "no", "bob"), say(1, "yes", "eve"), say(1, "cannot tell", "dan")]
    said = collect(answers, SAMPLE)["abc-0001", WRONG]
    assert (said.yes, said.no, said.cannot_tell) == (2, 1, 1) and said.share == pytest.approx(2 / 3)


def test_gold_has_what_could_be_judged_with_its_source_time_and_place():
    answers = [
        say(1, "yes", at=FIRST),
        say(1, "yes", "bob", at=LATER),
        say(1, "no", question=RIGHT, at=FIRST),
        say(2, "cannot tell"),
        say(3, "no"),
    ]
    gold = gold_rows(collect(answers, SAMPLE), SAMPLE, "abc").to_pylist()
    assert [(g["turn_id"], g["definition"], g["candidate_id"], g["value"], g["raters"]) for g in gold] == [
        ("t1", RIGHT, "c" * 16, 0.0, 1),
        ("t1", WRONG, None, 1.0, 2),
        ("t3", WRONG, None, 0.0, 1),
    ]
    assert {g["source"] for g in gold} == {"audit/abc"}
    assert [g["available_at"] for g in gold] == [FIRST, LATER, None]
    assert gold[1]["read_from"] == {"uri": "a.csv", "position": 2}


def test_a_rater_who_says_it_twice_counts_once_and_the_later_answer_holds():
    again = [say(1, "yes", at=FIRST), say(1, "no", at=LATER), say(2, "yes"), say(2, "yes")]
    for answers in (again, again[::-1]):
        said = collect(answers, SAMPLE)
        assert said["abc-0001", WRONG].share == 0.0 and said["abc-0002", WRONG].yes == 1


def test_a_rater_who_contradicts_themselves_is_refused_with_both_places():
    with pytest.raises(InputError) as refused:
        collect([say(1, "yes"), say(1, "no")], SAMPLE)
    assert f"abc-0001: ann says yes at a.csv:2 {WRONG} and no at a.csv:2 {WRONG}" in str(refused.value)


def test_answers_to_tasks_that_were_not_drawn_are_refused():
    with pytest.raises(InputError, match=r"1 answer\(s\) to tasks .* a.csv:10 task_id abc-0009"):
        collect([say(1, "yes"), say(9, "yes")], SAMPLE)


def test_an_answer_to_a_question_that_had_nothing_to_judge_is_left_out():
    assert collect([say(2, "yes", question=RIGHT)], SAMPLE) == {}


def test_answers_of_two_audits_are_not_mixed_and_no_answer_is_told():
    other = Answer("xyz-0001", WRONG, "yes", "ann", None, "b.csv", 2)
    with pytest.raises(InputError, match=r"2 audits .*b.csv:2"):
        audit_of([say(1, "yes"), other])
    with pytest.raises(InputError, match="no question is answered yet"):
        audit_of([])
    assert audit_of([say(1, "yes")]) == "abc"


def test_the_figures_count_what_became_of_each_question():
    design = {
        "audit_id": "abc",
        "release_id": "r",
        "models": {},
        "turns": 112,
        "strata": [
            {"domain": "music", "decision": "corrected", "turns": 2},
            {"domain": "music", "decision": "defective", "turns": 10},
            {"domain": "music", "decision": "satisfied", "turns": 100},
        ],
    }
    answers = [say(1, "yes"), say(1, "no", "bob"), say(1, "yes", question=RIGHT), say(2, "cannot tell"), say(3, "no")]
    found = figures(design, SAMPLE, collect(answers, SAMPLE))
    counted = {"drawn": 4, "raters": 2, "judged": 2, "cannot_tell": 1, "open": 1, "corrections": 1}
    assert counted.items() <= found["answers"].items()
    assert found["answers"]["by_several"] == 1 and found["answers"]["by_several_agreed"] == 0
    # Half of the raters say that the only flagged turn judged is wrong; none of the others is.
    assert found["all"]["prevalence"]["value"] == pytest.approx(2 * 0.5 / 102, abs=1e-4)
    assert found["all"] | {"judged": 2} == found["domains"]["music"]
    # Of the ten defective turns none was judged: precision may be anything but for the two corrected ones.
    assert found["all"]["precision"]["high"] > 0.9


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.txt", b"hello", "a .csv, .jsonl or .json file"),
        ("a.json", b'[{"some": 1}]', "neither an export of Label Studio"),
        ("a.csv", b"task_id,wrong_interpretation\nabc-1,perhaps\n", "a.csv:2 wrong_interpretation"),
    ],
)
def test_a_file_of_no_form_is_refused(tmp_path: Path, name: str, data: bytes, says: str):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as refused:
        read_answers([str(tmp_path / name)])
    assert says in str(refused.value) and "nothing was taken over" in str(refused.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(InputError, match="no such file"):
        read_answers([str(tmp_path / "none.csv")])


def test_raters_who_fill_files_of_one_name_are_not_taken_for_one(tmp_path: Path):
    for who, said in (("ann", "yes"), ("bob", "no")):
        (tmp_path / who).mkdir()
        (tmp_path / who / "tasks.csv").write_text(f"task_id,wrong_interpretation\nabc-0001,{said}\n")
    answers = read_answers([str(tmp_path / who / "tasks.csv") for who in ("ann", "bob")])
    assert [a.rater for a in answers] == ["ann/tasks.csv", "bob/tasks.csv"]
    assert collect(answers, SAMPLE)["abc-0001", WRONG].share == 0.5
    assert named(["/x/a.csv", "b.csv", "b.csv"]) == {"/x/a.csv": "a.csv", "b.csv": "b.csv"}


def test_files_of_several_forms_are_read_together(tmp_path: Path):
    (tmp_path / "a.csv").write_bytes(b"task_id,wrong_interpretation,rater\nabc-0001,yes,ann\n")
    record = {"id": "abc-0001", "fields": {}, "responses": {WRONG: [{"value": "no", "user_id": "u"}]}}
    (tmp_path / "b.json").write_text(json.dumps([record]))
    said = collect(read_answers([str(tmp_path / "a.csv"), str(tmp_path / "b.json")]), SAMPLE)
    assert said["abc-0001", WRONG].share == 0.5


def test_a_folder_is_no_file_of_answers(tmp_path: Path):
    with pytest.raises(InputError, match=r"Is a directory; name the files"):
        read_answers([str(tmp_path)])
