"""Caps a user, intent and domain, and the sampling of confirmations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from golden_views import answer, example, table

from pipeline.curation.caps import capped, rivals, sampled


def made(number: int, *subjects: str, **fields: Any) -> dict[str, Any]:
    row = example(f"e{number:03d}", **fields)
    return row | {"provenance": row["provenance"] | {"subjects": list(subjects)}}


def held(*rows: dict[str, Any]) -> pa.Table:
    return rivals(table(*rows), np.arange(len(rows)) + 100)


def kept(outcome: tuple[pa.Table, pa.Table], rows: pa.Table) -> list[int]:
    """Positions of the rows that stay; every other has a verdict."""
    stays, verdicts = outcome
    assert sorted(stays["key"].to_pylist() + verdicts["key"].to_pylist()) == sorted(rows["key"].to_pylist())
    return sorted(k - 100 for k in stays["key"].to_pylist())


def test_one_users_examples_are_those_that_nobody_else_supports():
    rows = held(
        made(0, "a"), made(1, "a", support=3), made(2, "a", "b"), made(3, "b"), made(4, "a", kind="confirmation")
    )
    assert kept(capped(rows, "user", 1, "max_per_user"), rows) == [1, 2, 3]
    assert kept(capped(rows, "user", 2, "max_per_user"), rows) == [0, 1, 2, 3]
    told = capped(rows, "user", 1, "max_per_user")[1].to_pylist()[0]
    assert (
        told["reason"] == "over_cap"
        and told["detail"] == "at most 1 a user (curate.max_per_user)"
        and told["of"] is None
    )
    assert kept(capped(rows, "user", None, "max_per_user"), rows) == [0, 1, 2, 3, 4]


def test_corrections_then_support_then_confidence_go_first():
    rows = held(
        made(0, kind="confirmation", support=9),
        made(1, support=2, confidence=0.5),
        made(2, support=2, confidence=0.9),
        made(3, support=3, confidence=0.1),
    )
    for most, wanted in ((1, [3]), (2, [2, 3]), (3, [1, 2, 3])):
        assert kept(capped(rows, "intent", most, "max_per_intent"), rows) == wanted


def test_intents_and_domains_are_capped_each_by_itself_and_test_is_not():
    rows = [
        made(0),
        made(1),
        made(2, intent="come"),
        made(3, domain=None),
        made(4, split="test"),
        made(5, split="test"),
    ]
    stays = kept(capped(held(*rows), "intent", 1, "max_per_intent"), held(*rows))
    assert len(stays) == 3 and {2, 3} < set(stays)
    stays = kept(capped(held(*rows), "domain", 1, "max_per_domain"), held(*rows))
    assert len(stays) == 2 and 3 in stays


def test_an_answer_in_words_is_under_no_cap_of_intents():
    rows = held(answer("a", "x", "1"), answer("b", "y", "2"))
    assert kept(capped(rows, "intent", 1, "max_per_intent"), rows) == [0, 1]


@pytest.mark.parametrize(
    ("many", "power", "floor", "wanted"),
    [(100, 0.5, 4, 20), (100, 0.5, 100, 100), (3, 0.5, 4, 3), (100, 0.0, 4, 4), (10, 0.5, 4, 7), (100, 1.0, 4, 100)],
)
def test_a_frequent_intent_keeps_a_smaller_share(many: int, power: float, floor: int, wanted: int):
    rows = held(
        *(made(k, kind="confirmation") for k in range(many)),
        made(many),
        made(many + 1, intent="rare", kind="confirmation"),
    )
    stays = kept(sampled(rows, power, floor), rows)
    assert len([k for k in stays if k < many]) == wanted and {many, many + 1} < set(stays)


def test_the_order_of_rows_does_not_matter():
    rows = held(*(made(k, kind="confirmation") for k in range(30)))
    order = np.random.default_rng(0).permutation(30)
    turned = rows.take(pa.array(order))
    assert kept(sampled(turned, 0.5, 3), turned) == kept(sampled(rows, 0.5, 3), rows)
