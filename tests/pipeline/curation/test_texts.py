"""What of an example is compared, and what makes two teach the same."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from golden_views import answer, context_turn, example, slot, table

from pipeline.curation.texts import labels, texts


def test_all_that_an_example_says_is_compared():
    before = [context_turn("Hello!", "hi"), context_turn("news", "none", "get_news", slot("city", "Oslo"))]
    held = table(
        example("a", utterance="To Rome, please"),
        answer("b", "and now", "Fine.", context=before),
        answer("c", "and now", None),
        example("d", utterance="yes") | {"rejected": rejected(response="No way")},
    )
    assert texts(held).to_pylist() == [
        "to rome please",
        "hello hi news get news oslo none and now fine",
        "and now",
        "yes no way",
    ]
    assert texts(held.slice(1, 2)).to_pylist() == texts(held).to_pylist()[1:3]


def rejected(**fields: Any) -> dict[str, Any]:
    return {"domain": None, "intent": None, "slots": None, "response": None} | fields


SAME = example("same", slots=[slot("to", "Rome"), slot("day", "1")])


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"slots": [slot("day", "1"), slot("to", "rome", 3, 7)]}, True),
        ({"kind": "confirmation", "support": 9, "utterance": "rome"}, True),
        ({"kind": "rejection"}, False),
        ({"intent": "come"}, False),
        ({"domain": None}, False),
        ({"slots": [slot("to", "rome")]}, False),
        ({"slots": [slot("to", "oslo"), slot("day", "1")]}, False),
        ({"locale": "de"}, False),
        ({"split": "test"}, False),
        ({"rejected": rejected(intent="come")}, False),
    ],
)
def test_examples_teach_the_same_if_only_their_words_differ(other: dict[str, Any], same: bool):
    first, second = labels(table(SAME, SAME | {"example_id": "other"} | other)).tolist()
    assert (first == second) is same
    assert labels(table()).tolist() == []


def test_answers_in_words_teach_what_they_say():
    first, second, call = labels(
        table(answer("a", "x", "yes"), answer("b", "y", "no"), answer("c", "x", "z", intent="i"))
    )
    assert first == second != call
    assert isinstance(texts(table()), pa.Array)
