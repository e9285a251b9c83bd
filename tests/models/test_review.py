"""A reviewer's word settles a turn, and is never called certified."""

from __future__ import annotations

import pyarrow as pa
import pytest

from features.interpretation import flatten, hex_id
from models.judge import judge
from models.review import Reviews
from models.training import train
from schemas import GOLD
from tests.models.calls import with_signals


def said(*rows):
    names = ("turn_id", "candidate_id", "value", "source")
    held = [dict(zip(names, row, strict=True)) | {"definition": "right_interpretation"} for row in rows]
    return Reviews.of(pa.Table.from_pylist(held, schema=GOLD.schema)).right


def test_most_reviewers_settle_a_turn_and_a_tie_does_not():
    assert said(
        ("a", "x", 1.0, "reviewer/ann"),
        ("a", "x", 0.0, "reviewer/bob"),
        ("a", "y", 1.0, "reviewer/ann"),
        ("b", "x", 1.0, "reviewer/ann"),
        ("b", "y", 1.0, "reviewer/bob"),
        ("c", "x", 0.4, "reviewer/ann"),
        ("d", "x", 1.0, "transcribed/letsgo"),
        ("e", None, 1.0, "reviewer/ann"),
    ) == {"a": "y"}
    assert said() == {}


@pytest.fixture(scope="module")
def judged():
    turns, rows, gold = with_signals(users=80)
    models = train(rows, gold)
    return turns, rows, models, judge(turns, rows, models)


def corrections(table, turn):
    return [row for row in table.to_pylist() if row["turn_id"] == turn]


def test_what_a_reviewer_calls_right_is_accepted_whatever_the_models_say(judged):
    turns, rows, models, (judgements, _) = judged
    fine = next(j["turn_id"] for j in judgements.to_pylist() if not j["is_defect"] and j["turn_id"].endswith("a"))
    at = turns["turn_id"].to_pylist().index(fine)
    flat = flatten(turns["interpretations"])
    top, second = hex_id(flat.candidate_id)[flat.offsets[at] : flat.offsets[at] + 2]
    (row,) = corrections(judge(turns, rows, models, Reviews({fine: second}))[1], fine)
    got = {name: row[name] for name in ("candidate_id", "source", "accepted", "certified", "p_correct", "margin")}
    assert got == {
        "candidate_id": second,
        "source": "reviewer",
        "accepted": True,
        "certified": False,
        "p_correct": 1.0,
        "margin": 1.0,
    }
    assert not corrections(judge(turns, rows, models, Reviews({fine: top}))[1], fine)


def test_where_a_reviewer_calls_the_best_right_nothing_else_is_accepted(judged):
    turns, rows, models, (_, found) = judged
    wrong = next(row for row in found.to_pylist() if row["accepted"])
    at = turns["turn_id"].to_pylist().index(wrong["turn_id"])
    flat = flatten(turns["interpretations"])
    top = hex_id(flat.candidate_id)[flat.offsets[at]]
    reviewed = judge(turns, rows, models, Reviews({wrong["turn_id"]: top}))[1]
    assert not any(row["accepted"] for row in corrections(reviewed, wrong["turn_id"]))
    others = [row for row in reviewed.to_pylist() if row["turn_id"] != wrong["turn_id"]]
    assert others == [row for row in found.to_pylist() if row["turn_id"] != wrong["turn_id"]]
