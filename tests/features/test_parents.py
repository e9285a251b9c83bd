from __future__ import annotations

import pyarrow as pa
from build import column, turns
from hypothesis import given
from hypothesis import strategies as st

from features.parents import linked


def held(*parents: str | None, **same: list) -> pa.Table:
    rows = [{"turn_id": f"t{k}", "parent_id": p, "sequence": 0} for k, p in enumerate(parents)]
    return linked(turns(*({**row, **{name: values[k] for name, values in same.items()}} for k, row in enumerate(rows))))


def test_a_turn_follows_the_one_that_is_named():
    table = held(None, "t0", "t1", "t0")
    assert column(table, "parent_id") == [None, "t0", "t1", "t0"]
    assert column(table, "orphan") == [None, False, False, False]
    assert column(table, "sequence") == [0, 1, 2, 1]


def test_a_parent_that_does_not_exist_and_a_reply_to_itself_are_orphans():
    table = held("gone", "t1", "t0")
    assert column(table, "orphan") == [True, True, False]
    assert column(table, "parent_id") == [None, None, "t0"]
    assert column(table, "sequence") == [0, 0, 1]


def test_a_turn_of_another_subject_is_no_parent():
    assert column(held(None, "t0", subject_id=["u", "v"]), "orphan") == [None, True]


def test_a_cycle_is_cut_at_its_first_turn_and_what_hangs_on_it_stays():
    # 1 -> 3 -> 2 -> 1, and 0 hangs on 3, 4 on 0.
    table = held("t3", "t3", "t1", "t2", "t0")
    assert column(table, "orphan") == [False, True, False, False, False]
    assert column(table, "parent_id") == ["t3", None, "t1", "t2", "t0"]
    assert column(table, "sequence") == [3, 0, 1, 2, 4]


def test_a_sequence_that_was_logged_stays():
    assert column(held(None, "t0", "t1", sequence=[5, 9, 0]), "sequence") == [5, 9, 2]


def test_an_orphan_stays_one_when_it_is_looked_at_again():
    table = linked(held("gone", None, "t1"))
    assert column(table, "orphan") == [True, None, False] and column(table, "sequence") == [0, 0, 1]


def test_a_log_without_parents_is_as_it_was():
    table = turns({}, {})
    assert linked(table) is table and column(table, "orphan") == [None, None]


@given(st.data())
def test_links_become_a_forest_and_all_that_is_not_on_a_cycle_or_without_a_parent_stays(data):
    n = data.draw(st.integers(1, 40))
    parents = data.draw(st.lists(st.one_of(st.none(), st.integers(0, n)), min_size=n, max_size=n))
    table = held(*(None if p is None else f"t{p}" for p in parents))
    found = [None if p is None else int(p[1:]) for p in column(table, "parent_id")]
    depth = column(table, "sequence")
    for row, logged in enumerate(parents):
        path = [row]
        while (on := parents[path[-1]]) is not None and on < n and on not in path:
            path.append(on)
        bad = logged in (n, row) or (logged is not None and parents[path[-1]] == row and row == min(path))
        assert found[row] == (None if bad else logged)
        assert column(table, "orphan")[row] is (None if logged is None else bad)
        assert depth[row] == (0 if found[row] is None else depth[found[row]] + 1)
