from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from build import turns

from features.text import normalise
from pipeline.transforms.retries import RetryOptions, retries

OPTIONS = RetryOptions(turns=2, gap=25.0, likeness=0.5)


def found(*words: str, served: list[bool] | None = None, **fields: list[Any]) -> int:
    """The retry of the first turn; turns are 10 s apart."""
    rows = [{"utterance": w, "subject_id": "u"} | {k: v[at] for k, v in fields.items()} for at, w in enumerate(words)]
    table = turns(*rows)
    judgements = pa.table({"session_id": ["s"] * len(words)})
    good = np.array([False] + [True] * (len(words) - 1) if served is None else served)
    return int(retries(table, judgements, normalise(table["utterance"]), np.array([0]), good, OPTIONS)[0])


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("weather in accra", "Weather in Accra!", True),
        ("weather in accra", "the weather in accra please", True),
        ("the weather in accra please", "weather in accra", True),
        ("weather in accra", "weather in delhi", False),
        ("weather in accra", "play some jazz", False),
    ],
)
def test_one_of_the_two_has_all_words_of_the_other(first: str, second: str, same: bool):
    assert found(first, second) == (1 if same else -1)


def test_the_first_that_was_served_is_taken():
    again = ["go on"] * 3
    assert found(*again) == 1
    assert found(*again, served=[False, False, True]) == 2
    assert found(*again, served=[False, False, False]) == -1


def test_within_turns_time_and_conversation():
    assert found("go on", "a", "go on") == 2
    assert found("go on", "a", "b", "go on") == -1
    assert found("go on", "go on", at=[0.0, 25.0]) == 1
    assert found("go on", "go on", at=[0.0, 25.1]) == -1
    assert found("go on", "go on", conversation_id=["c", "d"]) == -1


def test_a_last_turn_has_none():
    assert found("go on") == -1
