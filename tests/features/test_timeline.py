from __future__ import annotations

import numpy as np
import pytest
from build import turns
from hypothesis import given
from hypothesis import strategies as st

from features.neighbours import shift
from features.timeline import sort, timeline


def sessions(table, **options):
    return timeline(table, **options).session.tolist()


@pytest.mark.parametrize(("gap", "expected"), [(299.0, [0, 0]), (300.0, [0, 0]), (300.000001, [0, 1])])
def test_a_session_ends_where_the_gap_exceeds_the_limit(gap, expected):
    assert sessions(turns({"at": 0.0}, {"at": gap})) == expected


def test_a_new_subject_starts_a_session():
    assert sessions(turns({"subject_id": "a"}, {"subject_id": "b"}, {"subject_id": "b"})) == [0, 1, 1]


def test_a_change_of_conversation_does_not():
    assert sessions(turns({"conversation_id": "x"}, {"conversation_id": "y"})) == [0, 0]


def test_the_cap_cuts_a_session_after_exactly_that_many_turns():
    line = timeline(turns(*[{} for _ in range(5)]), session_cap=2)
    assert line.session.tolist() == [0, 0, 1, 1, 2]
    assert line.position.tolist() == [0, 1, 0, 1, 0]
    assert line.length.tolist() == [2, 2, 2, 2, 1]


@pytest.mark.parametrize(("limit", "expected"), [(5, [0, 0, 1, 1, 2, 3, 4]), (6, [0, 0, 0, 1, 2, 3, 4])])
def test_a_session_goes_on_in_a_next_segment_before_its_text_exceeds_the_limit(limit, expected):
    texts = ("aa", "bbb", "c", "é", "d" * 40, "e", "f")
    rows = [{"utterance": text, "prompt": None, "response": ""} for text in texts]
    rows[-1]["at"] = 9_999.0
    assert sessions(turns(*rows), session_bytes=limit) == expected


def test_prompts_and_responses_are_text_of_a_session_too():
    rows = turns(*({"utterance": "a", **{field: "b" * 9}} for field in ("prompt", "response", "locale")))
    assert sessions(rows, session_bytes=10) == [0, 1, 2] and sessions(rows, session_bytes=20) == [0, 0, 1]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(1, 8), st.integers(1, 60))
def test_both_caps_cut_as_one_turn_after_the_other_would(sizes, cap, limit):
    session, turns_taken, taken, wanted = 0, 0, 0, []
    for size in sizes:
        if turns_taken and (turns_taken == cap or taken + size > limit):
            session, turns_taken, taken = session + 1, 0, 0
        turns_taken, taken = turns_taken + 1, taken + size
        wanted.append(session)
    table = turns(*({"utterance": "x" * n} for n in sizes))
    assert sessions(table, session_cap=cap, session_bytes=limit) == wanted
    # What begins with any of the sessions is cut alike: so turns can be worked on in pieces, and kept for a next run.
    for row in {wanted.index(k) for k in wanted}:
        later = sessions(table.slice(row).combine_chunks(), session_cap=cap, session_bytes=limit)
        assert later == [k - wanted[row] for k in wanted[row:]]


def test_seconds_count_from_the_sessions_own_start():
    line = timeline(turns({"at": 0.0}, {"at": 10.0}, {"at": 1000.0}, {"at": 1002.5}))
    assert line.seconds.tolist() == [0.0, 10.0, 0.0, 2.5]
    assert line.starts.tolist() == [0, 0, 2, 2]


def test_neighbours_stop_at_the_bounds():
    line = timeline(turns({}, {}, {"subject_id": "v"}))
    index, exists = line.neighbour(1)
    assert exists.tolist() == [True, False, False]
    assert index.tolist() == [1, 1, 2]
    assert timeline(turns({}, {})).neighbour(-1)[1].tolist() == [False, True]


def test_shift_is_null_where_there_is_no_neighbour():
    table = turns({"utterance": "a"}, {"utterance": "b"}, {"subject_id": "v", "utterance": "c"})
    shifted = shift(table["utterance"].combine_chunks(), timeline(table), 1)
    assert shifted.to_pylist() == ["b", None, None]


def test_no_turns_give_no_sessions():
    line = timeline(turns())
    assert len(line) == 0
    assert line.neighbour(1)[0].dtype == np.int64


def test_the_total_order_is_subject_time_sequence_id():
    table = turns(
        {"turn_id": "d", "subject_id": "b", "at": 0.0},
        {"turn_id": "c", "subject_id": "a", "at": 5.0},
        {"turn_id": "b", "subject_id": "a", "at": 1.0, "sequence": 2},
        {"turn_id": "z", "subject_id": "a", "at": 1.0, "sequence": 1},
        {"turn_id": "a", "subject_id": "a", "at": 1.0, "sequence": 2},
    )
    assert sort(table)["turn_id"].to_pylist() == ["z", "a", "b", "c", "d"]
