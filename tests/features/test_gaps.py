from __future__ import annotations

from build import column, turns

from features.signals import signals


def test_turns_and_seconds_before_and_after():
    got = signals(turns({"at": 0.0}, {"at": 2.5}, {"at": 10.0}))
    assert column(got, "turns_before") == [0, 1, 2]
    assert column(got, "turns_after") == [2, 1, 0]
    assert column(got, "gap_before") == [None, 2.5, 7.5]
    assert column(got, "gap_after") == [2.5, 7.5, None]


def test_skipped_positions_are_counted_within_one_conversation():
    got = signals(turns({"sequence": 0}, {"sequence": 3}, {"sequence": 4}, {"sequence": 0, "conversation_id": "x"}))
    assert column(got, "skipped_after") == [2, 0, None, None]
    assert column(got, "skipped_before") == [None, 2, 0, None]


def test_a_sequence_that_runs_back_skips_nothing():
    assert column(signals(turns({"sequence": 5}, {"sequence": 1})), "skipped_after") == [0, None]


def test_a_change_of_conversation_is_seen_and_null_at_the_first_turn():
    got = signals(turns({"conversation_id": "x"}, {"conversation_id": "x"}, {"conversation_id": "y"}))
    assert column(got, "new_conversation") == [None, False, True]


def test_barge_in_is_null_where_not_logged_or_last():
    got = signals(turns({"barge_in": None}, {"barge_in": True}, {"barge_in": False}))
    assert column(got, "barge_in") == [None, True, False]
    assert column(got, "barge_in_next") == [True, False, None]


def test_session_id_is_the_first_turns():
    got = signals(turns({"turn_id": "a"}, {"turn_id": "b"}, {"turn_id": "c", "at": 1000.0}))
    assert column(got, "session_id") == ["a", "a", "c"]


def test_depths_of_branches_are_no_skipped_positions():
    """Two branches in turn: a depth that jumps is another branch, and nothing is missing."""
    rows = ({"sequence": 0}, {"sequence": 4, "parent_id": "x"}, {"sequence": 1, "parent_id": "t000"}, {"sequence": 5})
    got = signals(turns(*rows))
    assert column(got, "skipped_after") == [None, None, 3, None]
    assert column(got, "skipped_before") == [None, None, None, 3]
