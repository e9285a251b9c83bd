"""Records that say the same, at any depth."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.tail.same import same
from schemas import INTERPRETATION

LISTS = pa.list_(INTERPRETATION)
PLAY = {
    "domain": "media",
    "intent": "play",
    "slots": [{"name": "song", "value": "x", "start": 1, "end": 2}],
    "score": 0.5,
}


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (None, None, True),
        (None, [], False),
        ([], [], True),
        ([PLAY], [PLAY], True),
        ([PLAY], [PLAY, PLAY], False),
        ([PLAY], [PLAY | {"score": 0.6}], False),
        ([PLAY], [PLAY | {"score": None}], False),
        ([PLAY], [PLAY | {"slots": None}], False),
        ([PLAY], [PLAY | {"slots": [PLAY["slots"][0] | {"value": "y"}]}], False),
        ([PLAY, None], [PLAY, None], True),
        ([PLAY, None], [PLAY, {}], False),
    ],
)
def test_lists_of_structs_are_the_same_by_every_member(one: Any, other: Any, equal: bool):
    # Between others, so that what is found is of the row itself.
    a, b = (pa.array([[PLAY], value, None, [PLAY]], LISTS) for value in (one, other))
    assert same(a, b).tolist() == [True, equal, True, True] and same(b, a).tolist() == same(a, b).tolist()


ROWS = st.lists(st.none() | st.lists(st.none() | st.lists(st.integers(0, 1), max_size=2), max_size=2), max_size=6)


@given(ROWS, ROWS)
def test_it_is_what_python_finds(one: list[Any], other: list[Any]):
    n = min(len(one), len(other))
    a, b = (pa.array(rows[:n], pa.list_(pa.list_(pa.int64()))) for rows in (one, other))
    assert same(a, b).tolist() == [x == y for x, y in zip(one[:n], other[:n], strict=True)]
    assert same(a.slice(1), b.slice(1)).tolist() == same(a, b).tolist()[1:]
