"""Which of examples that are alike is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pipeline.curation.resolve import EDGE, greedy, ranks, resolve


def edge(first: int, second: int, across: bool = False, similarity: float = 0.9, **ranks_: int) -> dict[str, Any]:
    held = {"first": first, "second": second, "similarity": similarity, "across": across}
    return held | {
        "first_rank": ranks_.get("first_rank", 0),
        "second_rank": ranks_.get("second_rank", 0),
        "first_id": f"id{first}",
        "second_id": f"id{second}",
    }


def gone(*edges: dict[str, Any]) -> dict[int, tuple[str, str]]:
    told = resolve(pa.Table.from_pylist(list(edges), schema=EDGE), "d").to_pylist()
    assert all(row["detail"] == "d" for row in told)
    return {row["key"]: (row["reason"], row["of"]) for row in told}


def test_corrections_go_before_confirmations_then_support_then_the_id():
    kinds, support = np.array(["confirmation", "correction", "confirmation"], object), np.array([9, 1, 10], np.int32)
    assert np.argsort(ranks(kinds, support)).tolist() == [1, 2, 0]
    assert gone(edge(1, 2)) == {2: ("near_duplicate", "id1")}
    assert gone(edge(1, 2, first_rank=1)) == {1: ("near_duplicate", "id2")}
    assert gone() == {}


def test_what_is_alike_only_by_way_of_another_is_kept():
    # 1 is like 2, 2 is like 3, 1 is not like 3.
    assert gone(edge(1, 2), edge(2, 3)) == {2: ("near_duplicate", "id1")}


def test_a_test_example_gives_way_to_train_whatever_its_rank_and_holds_nobody_off():
    told = gone(edge(1, 9, across=True), edge(1, 2), edge(1, 8, across=True, similarity=0.95))
    assert told == {1: ("duplicate_across_splits", "id8")}
    assert gone(edge(1, 9, across=True), edge(1, 8, across=True)) == {1: ("duplicate_across_splits", "id8")}


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda p: p[0] > p[1]), max_size=25))
def test_greedy_keeps_what_going_through_them_in_order_keeps(edges: set[tuple[int, int]]):
    kept: list[int] = []
    for node in range(10):
        if not any((node, k) in edges for k in kept):
            kept.append(node)
    worse, better = (np.array([e[k] for e in sorted(edges)], np.int64) for k in (0, 1))
    assert np.flatnonzero(greedy(worse, better, 10)).tolist() == kept


@given(
    st.lists(
        st.builds(
            lambda a, b, across, ra, rb: edge(a, b, across, first_rank=ra, second_rank=rb),
            st.integers(0, 5),
            st.integers(6, 9),
            st.booleans(),
            st.just(1),
            st.just(0),
        ),
        max_size=12,
        unique_by=lambda e: (e["first"], e["second"]),
    ),
    st.randoms(),
)
def test_the_order_of_the_edges_does_not_matter(edges: list[dict[str, Any]], shuffle: Any):
    other = list(edges)
    shuffle.shuffle(other)
    assert gone(*other) == gone(*edges)
