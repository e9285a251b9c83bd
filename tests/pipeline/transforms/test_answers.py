"""An agent's turns: which of them answered, and what may stand before an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from build import interpretation, turns
from hypothesis import given
from hypothesis import strategies as st

from pipeline.ontology.parse import parse
from pipeline.transforms.answers import ContextOptions, answered, contexts, well_formed
from pipeline.transforms.voters import VoteOptions, executed_label
from pipeline.transforms.votes import votes
from schemas import CORRECTION, INTERPRETATION, JUDGEMENT

WIDE = ContextOptions(8, 8000, 0.4)
NO_BOUND = ContextOptions(8, 8000, 1.0)
CALL = {"nbest": [interpretation("search", domain="tool", query="x")], "executed": 0}
READ = {"nbest": [interpretation("play", domain="music")], "executed": 0}
TALK = {"nbest": [], "executed": None, "response": "fine"}


def judged(table: pa.Table, p_defect: list[float], sessions: list[str] | None = None) -> pa.Table:
    """Judgement rows of turns; from 0.5 on a turn is defective."""
    rows = [
        {
            "turn_id": turn["turn_id"],
            "model_id": "m",
            "subject_id": turn["subject_id"],
            "session_id": session,
            "event_time": turn["event_time"],
            "p_defect": p,
            "threshold": 0.5,
            "threshold_basis": "option",
            "is_defect": p >= 0.5,
            "certified": False,
            "blame": "none",
        }
        for turn, p, session in zip(
            table.to_pylist(), p_defect, sessions or table["subject_id"].to_pylist(), strict=True
        )
    ]
    return pa.Table.from_pylist(rows, schema=JUDGEMENT.schema)


def before(
    *rows: dict[str, Any],
    p_defect: list[float] | None = None,
    sessions: list[str] | None = None,
    options: ContextOptions = WIDE,
) -> list[list[dict[str, Any]]]:
    """The context of every turn."""
    table = turns(*(TALK | r for r in rows))
    given = judged(table, p_defect or [0.0] * len(rows), sessions)
    return contexts(table, given, executed_label(table), np.arange(len(rows)), options)[0].to_pylist()


def ids(context: list[dict[str, Any]]) -> list[str]:
    return [turn["turn_id"] for turn in context]


def cast(*rows: dict[str, Any], p_defect: list[float] | None = None, **options: Any) -> list[dict[str, Any]]:
    """The votes of turns."""
    table = turns(*(TALK | r for r in rows))
    given = {"confirm_below": 0.05, "test_share": 0.0, "context": WIDE} | options
    judgements = judged(table, p_defect or [0.0] * len(rows))
    return votes(table, judgements, CORRECTION.empty(), VoteOptions(**given))[0].to_pylist()


# which turns answered


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        (TALK, True),
        (TALK | {"outcome": "answered"}, True),
        (TALK | {"outcome": "error"}, False),
        (TALK | {"outcome": "clarify"}, False),
        (TALK | {"response": None}, False),
        (TALK | {"response": " \n"}, False),
        (TALK | {"nbest": None}, True),
        (CALL, True),
        (CALL | {"response": "found it", "outcome": "answered"}, True),
        (CALL | {"outcome": "error"}, False),
        (CALL | {"executed": None, "response": "fine"}, False),
        (READ | {"response": "fine"}, False),
        ({"nbest": [interpretation("", domain="tool")], "executed": 0}, False),
        ({"nbest": [interpretation("x", domain="tool") | {"intent": None}], "executed": 0}, False),
        ({"nbest": [interpretation("x", domain="tool") | {"slots": [{"value": "1"}]}], "executed": 0}, False),
        ({"nbest": [interpretation("x", domain="tool") | {"slots": None}], "executed": 0}, True),
    ],
)
def test_what_an_answer_is(fields: dict[str, Any], answer: bool):
    table = turns(fields)
    assert answered(table, executed_label(table)).tolist() == [answer]


def test_where_an_nlu_reads_a_turn_without_a_reading_was_not_understood_unless_the_outcome_says_so():
    table = turns(READ, TALK, TALK | {"outcome": "answered"}, TALK | {"subject_id": "v"}, CALL | {"subject_id": "v"})
    assert answered(table, executed_label(table)).tolist() == [False, False, True, True, True]


def test_an_argument_without_a_name_makes_a_call_malformed_and_leaves_a_reading_as_it_was():
    nameless = [{"name": None, "value": "1", "start": None, "end": None}]
    rows = [interpretation("x", domain=d) | {"slots": s} for d in ("tool", "music", None) for s in (nameless, [], None)]
    entries = pa.array([*rows, None], INTERPRETATION)
    assert well_formed(entries).tolist() == [False, True, True, *[True] * 6, False]


# votes


def test_an_answer_in_words_votes_with_what_was_said_and_a_call_with_the_call():
    words, call = cast({}, CALL | {"response": None})
    assert (words["kind"], words["label"], words["response"], words["context"]) == ("answer", None, "fine", [])
    assert (call["kind"], call["label"]["intent"], call["response"]) == ("answer", "search", None)
    assert ids(call["context"]) == ["t000"] and call["blame"] == "none"


def test_a_reading_of_an_nlu_confirms_as_before():
    vote = cast(READ | {"response": "playing"})[0]
    assert (vote["kind"], vote["response"], vote["context"]) == ("confirmation", None, None)
    assert vote["pool_key"] == "\x1fhello"


@pytest.mark.parametrize(("p", "votes"), [(0.05, 1), (0.0501, 0)])
def test_only_a_satisfied_answer_votes(p: float, votes: int):
    assert len(cast({}, p_defect=[p])) == votes


def test_a_defective_answer_never_votes_whatever_is_called_sure():
    assert [v["turn_id"] for v in cast({}, CALL, {}, p_defect=[0.5, 0.9, 0.49], confirm_below=1.0)] == ["t002"]
    assert cast({"consent": False}) == []


def test_a_corrected_tool_call_is_a_correction_as_any_other():
    table = turns(CALL)
    row = {
        "turn_id": "t000",
        "candidate_id": "c",
        "model_id": "m",
        "interpretation": interpretation("fetch", domain="tool"),
        "source": "n-best",
        "p_correct": 0.75,
        "margin": 0.5,
        "accepted": True,
        "certified": False,
        "supporting_turns": [],
    }
    nameless = {**row["interpretation"], "slots": [{"name": "", "value": "1"}]}
    for reading, kinds, outcomes in (
        (row["interpretation"], ["correction"], {"vote": 1}),
        (nameless, ["rejection"], {"vote": 1}),
    ):
        given = pa.Table.from_pylist([row | {"interpretation": reading}], schema=CORRECTION.schema)
        got, found = votes(table, judged(table, [0.9]), given, VoteOptions(0.05, 0.0, WIDE))
        assert ([v["kind"] for v in got.to_pylist()], found) == (kinds, outcomes)


def test_answers_pool_only_with_the_same_words_before_them():
    rows = [{"subject_id": u, "utterance": w} for u in "ab" for w in ("hi", "go on")]
    rows += [{"subject_id": "c", "utterance": "go on"}]
    keys = [v["pool_key"] for v in cast(*rows)]
    assert keys[0] == keys[2] and keys[1] == keys[3] != keys[4]
    assert keys[0].startswith("\x1fhi\x1f")


def test_answers_are_one_where_words_and_what_they_got_are_the_same():
    same = [{"subject_id": u, "response": "fine"} for u in "ab"]
    rows = [*same, {"subject_id": "c", "response": "well"}, {"subject_id": "d", "utterance": "Hello!"}]
    rows += [CALL | {"subject_id": u, "response": u} for u in "ef"]
    labels = [v["label_id"] for v in cast(*rows)]
    assert labels[0] == labels[1] and labels[4] == labels[5] and len(set(labels)) == 4


# contexts


def test_a_context_holds_what_was_asked_called_and_said():
    held = before({"utterance": "a"}, CALL | {"utterance": "b"}, READ | {"utterance": "c"}, {}, p_defect=[0.1] * 4)[3]
    got = [(t["utterance"], t["tool"], [s["value"] for s in t["arguments"] or []], t["response"]) for t in held]
    assert got == [("a", None, [], "fine"), ("b", "search", ["x"], "fine"), ("c", None, [], "fine")]
    assert {t["p_defect"] for t in held} == {0.1}


@pytest.mark.parametrize(
    ("fields", "p"),
    [
        ({}, 0.5),
        ({}, 0.4001),
        ({"outcome": "error"}, 0.0),
        ({"outcome": "clarify"}, 0.0),
        ({"consent": False}, 0.0),
        ({"response": None}, 0.0),
        ({"response": " "}, 0.0),
        ({"nbest": [interpretation("x", domain="tool") | {"slots": [{"value": "1"}]}], "executed": 0}, 0.0),
    ],
)
def test_a_context_ends_at_a_turn_that_cannot_stand_in_it(fields: dict[str, Any], p: float):
    held = before({}, fields, {}, {}, p_defect=[0.0, p, 0.0, 0.0])
    assert [ids(h) for h in held] == [[], ["t000"], [], ["t002"]]


def test_a_context_ends_at_a_turn_under_another_licence_and_at_a_call_that_the_ontology_retired():
    call = {"nbest": [interpretation("old_tool", domain="tool")], "executed": 0}
    ontology = parse({"domains": {"tool": {"intents": {"new_tool": []}}}, "retired": [{"intent": "old_tool"}]}, "o")
    free = {"licence": "MIT"}
    rows = (free, free | call, free, {"licence": "no"}, free, free)

    def held(**options: Any) -> list[list[str]]:
        return [ids(vote["context"]) for vote in cast(*rows, **options)]

    assert held() == [[f"t{k:03d}" for k in range(n)] for n in range(6)]
    assert held(licences=("MIT",)) == [[], ["t000"], ["t000", "t001"], [], ["t004"]]
    assert held(ontology=ontology) == [[], [], ["t002"], ["t002", "t003"], ["t002", "t003", "t004"]]


def test_a_turn_at_the_bound_and_one_that_was_answered_stand_in_a_context():
    held = before({}, {"outcome": "answered"}, {}, p_defect=[0.4, 0.0, 0.0])
    assert [ids(h) for h in held] == [[], ["t000"], ["t000", "t001"]]


def test_a_defective_turn_ends_a_context_whatever_the_bound():
    held = before({}, {}, {}, {}, p_defect=[0.4999, 0.5, 0.4999, 0.0], options=NO_BOUND)
    assert [ids(h) for h in held] == [[], ["t000"], [], ["t002"]]


def test_a_context_holds_the_domain_that_a_turn_was_judged_in():
    table = turns(TALK, TALK, TALK)
    given = judged(table, [0.0] * 3)
    at = given.column_names.index("domain")
    given = given.set_column(at, given.schema.field(at), pa.array(["music", None, "bus"]))
    held = contexts(table, given, executed_label(table), np.arange(3), WIDE)[0].to_pylist()
    assert [[t["domain"] for t in h] for h in held] == [[], ["music"], ["music", "(none)"]]


def test_a_context_ends_where_the_session_or_the_conversation_does():
    assert [ids(h) for h in before({}, {}, {}, sessions=["s", "s", "t"])] == [[], ["t000"], []]
    rows = [{"conversation_id": c} for c in ("a", "a", "b", "b", None, None)]
    assert [len(h) for h in before(*rows)] == [0, 1, 0, 1, 0, 1]


def test_a_context_is_of_so_many_turns_and_characters_the_nearest():
    rows = [{"utterance": "four", "response": "four"}] * 6
    assert [len(h) for h in before(*rows, options=ContextOptions(2, 8000, 0.4))] == [0, 1, 2, 2, 2, 2]
    assert [len(h) for h in before(*rows, options=ContextOptions(8, 24, 0.4))] == [0, 1, 2, 3, 3, 3]
    assert [len(h) for h in before(*rows, options=ContextOptions(8, 23, 0.4))] == [0, 1, 2, 2, 2, 2]
    assert [len(h) for h in before(*rows, options=ContextOptions(0, 8000, 0.4))] == [0] * 6
    assert ids(before(*rows, options=ContextOptions(2, 8000, 0.4))[5]) == ["t003", "t004"]
    # Four code points, whatever they are stored in.
    smile = [{"utterance": "\U0001f600" * 4, "response": "four"}] * 2
    assert [len(h) for h in before(*smile, options=ContextOptions(8, 8, 0.4))] == [0, 1]


ROWS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.3, 0.45, 0.6]),
        st.sampled_from([None, True, False]),
        st.sampled_from(["", "ok", "a long answer"]),
        st.sampled_from("ab"),
        st.sampled_from(["c", "d"]),
    ),
    max_size=12,
)


@given(ROWS, st.integers(0, 4), st.integers(0, 60))
def test_contexts_are_their_rule(rows: list[tuple[float, bool | None, str, str, str]], most: int, chars: int):
    fields = [{"consent": c, "response": r, "conversation_id": d, "utterance": "ask"} for _, c, r, _, d in rows]
    sessions = sorted(s for *_, s, _ in rows)
    held = before(*fields, p_defect=[p for p, *_ in rows], sessions=sessions, options=ContextOptions(most, chars, 0.4))
    for at, context in enumerate(held):
        first = at
        while (
            first > 0
            and at - first < most
            and (sessions[first - 1], rows[first - 1][4]) == (sessions[at], rows[at][4])
            and rows[first - 1][0] <= 0.4
            and rows[first - 1][1] is not False
            and rows[first - 1][2]
            and sum(len("ask") + len(rows[k][2]) for k in range(first - 1, at)) <= chars
        ):
            first -= 1
        assert ids(context) == [f"t{k:03d}" for k in range(first, at)]


def test_no_turns_have_no_contexts():
    table = turns()
    found, keys = contexts(table, judged(table, []), executed_label(table), np.arange(0), WIDE)
    assert len(found) == len(keys) == 0


# of two answers to the same request


def asked_again(**second: Any) -> list[dict[str, Any]]:
    """Votes of a user who got a bad answer, asked again in the same words and got a good one."""
    first = {"subject_id": "u", "utterance": "tell me more", "response": "no idea"}
    return cast(first, first | {"response": "here it is"} | second, p_defect=[0.9, 0.01])


def test_who_asks_again_and_is_served_prefers_the_later_answer():
    preferred, answer = asked_again()
    assert (preferred["kind"], answer["kind"]) == ("preference", "answer")
    assert (preferred["response"], preferred["rejected"]["response"]) == ("here it is", "no idea")
    assert preferred["supporting_turns"] == ["t001"] and preferred["probability"] == pytest.approx(0.99)
    assert preferred["context"] == [] and preferred["pool_key"].endswith("\x1fpreference")


def test_a_tool_call_is_preferred_to_another():
    calls = [{"nbest": [interpretation("search", domain="tool", query=q)], "executed": 0} for q in "xy"]
    rows = [{"subject_id": "u", "utterance": "find it"} | c for c in calls]
    preferred = cast(*rows, p_defect=[0.9, 0.01])[0]
    values = [side["slots"][0]["value"] for side in (preferred["label"], preferred["rejected"])]
    assert preferred["kind"] == "preference" and values == ["y", "x"]


def test_the_same_answer_again_is_no_better_and_no_worse():
    assert [v["kind"] for v in asked_again(response="no idea")] == ["answer"]


@pytest.mark.parametrize("fields", [{"consent": False}, {"excluded": "probe"}])
def test_an_answer_that_may_not_be_learned_is_not_preferred(fields: dict[str, Any]):
    assert asked_again(**fields) == []


def test_a_bad_answer_that_nobody_mended_is_rejected():
    (wrong,) = cast({"response": "no idea"}, p_defect=[0.9])
    assert (wrong["kind"], wrong["rejected"]["response"], wrong["response"]) == ("rejection", "no idea", None)
    assert wrong["context"] == []


def test_a_vote_is_under_the_licences_of_all_that_it_says_and_of_the_systems_that_did_it():
    first, second = {"licence": "a", "policy": "p1"}, {"licence": "b", "policy": "p2"}
    said = {"subject_id": "u", "utterance": "tell me more"}
    before = {"subject_id": "u", "utterance": "hi", "response": "hello", "licence": "c", "policy": "p0"}
    rows = (before, said | first | {"response": "no idea"}, said | second | {"response": "here it is"})
    greeting, preferred, answer = cast(*rows, p_defect=[0.01, 0.9, 0.01])
    assert (greeting["licences"], greeting["policies"]) == (["c"], ["p0"])
    assert (preferred["kind"], preferred["licences"], preferred["policies"]) == (
        "preference",
        ["a", "b", "c"],
        ["p1", "p2"],
    )
    # A context ends at a turn that was not served.
    assert (answer["licences"], answer["policies"]) == (["b"], ["p2"])
