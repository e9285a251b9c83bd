from __future__ import annotations

from itertools import pairwise

import pytest
from build import column, interpretation, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from features.signals import signals

COLUMNS = ("slots_kept_next", "slots_changed_next", "partial_rephrase")


def after(first: list[dict], second: list[dict]) -> tuple:
    got = signals(turns({"nbest": first}, {"nbest": second}))
    return tuple(column(got, name)[0] for name in COLUMNS)


def go(intent: str = "go", **slots: str) -> list[dict]:
    return [interpretation(intent, **slots)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (go(to="Ely", day="Friday"), go(to="York", day="friday"), (1, 1, True)),
        (go(to="ely", day="friday", at="noon"), go(to="york", day="friday", at="one"), (1, 2, False)),
        (go(to="ely"), go(to="york"), (0, 1, False)),
        (go(to="ely", day="friday"), go(to="ely", day="friday"), (2, 0, False)),
        (go(to="ely", day="friday"), go(to="york"), (0, 1, False)),
        (go(to="ely", day="friday"), go("back", to="york", day="friday"), (1, 1, False)),
        (go(to="ely"), go(day="friday"), (0, 0, False)),
        (go(), go(), (0, 0, False)),
        (go(to="ely"), [], (None, None, None)),
        ([], go(to="ely"), (None, None, None)),
    ],
)
def test_slots_are_kept_changed_or_gone(first, second, expected):
    assert after(first, second) == expected


def test_only_leading_hypotheses_count():
    first = [interpretation(to="ely"), interpretation(to="york")]
    assert after(first, [interpretation(to="york"), interpretation(to="ely")]) == (0, 1, False)


def test_of_a_slot_with_several_values_each_is_looked_at():
    def stops(*values: str) -> list[dict]:
        held = [{"name": "stop", "value": v, "start": None, "end": None} for v in values]
        return [{"domain": "d", "intent": "go", "slots": held, "score": 0.9}]

    assert after(stops("ely", "york"), stops("york", "bath")) == (1, 1, True)


def test_nothing_is_told_over_a_sessions_end():
    rows = turns({"nbest": go(to="ely")}, {"nbest": go(to="ely"), "at": 301.0}, {"nbest": go(), "subject_id": "v"})
    assert column(signals(rows), "slots_kept_next") == [None, None, None]


SLOTS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"), max_size=4)


@settings(deadline=None)
@given(st.lists(SLOTS, min_size=2, max_size=6))
def test_it_is_what_a_comparison_of_dictionaries_says(said):
    got = signals(turns(*({"nbest": go(**slots)} for slots in said)))
    for k, (one, other) in enumerate(pairwise(said)):
        kept = sum(other.get(name) == value for name, value in one.items())
        changed = sum(name in other and other[name] != value for name, value in one.items())
        partial = set(one) == set(other) and changed == 1 and kept >= 1
        assert tuple(column(got, name)[k] for name in COLUMNS) == (kept, changed, partial)
