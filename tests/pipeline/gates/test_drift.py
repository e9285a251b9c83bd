from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.gates.drift import baseline, divergence, moved, profile, shifts
from pipeline.transforms.profile import profile_counts

MIXES = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 50), min_size=1)


def like(*rows: tuple[str | None, str | None, int]) -> pa.Table:
    """Signals rows: domain, intent, tokens."""
    domain, intent, tokens = zip(*rows, strict=True)
    return pa.table(
        {
            "domain": pa.array(domain, pa.string()),
            "intent": pa.array(intent, pa.string()),
            "utterance_tokens": pa.array(tokens, pa.int32()),
        }
    )


def test_what_a_log_is_like():
    rows = [("music", "play", 1), ("music", "play", 2), ("music", None, 40), (None, "x", 3), ("music", "stop", 4)]
    found = profile(profile_counts(like(*rows)), {"music": {"turns": 4, "defects": 1, "corrected": 1}})
    assert found == {
        "(none)": {"intents": {"x": 1}, "lengths": {"4": 1}, "turns": {"turns": 0, "defects": 0}},
        "music": {
            "intents": {"(none)": 1, "play": 2, "stop": 1},
            "lengths": {"1": 1, "2": 1, "33+": 1, "4": 1},
            "turns": {"turns": 4, "defects": 1},
        },
    }


def test_very_many_intents_stand_by_their_hash_in_every_release_alike():
    rows = [("d", f"i{k:03d}", 1) for k in range(250)]
    first, second = (profile(profile_counts(like(*r)), {})["d"]["intents"] for r in (rows, rows[::-1]))
    assert first == second and sum(first.values()) == 250 and len(first) <= 200
    more = profile(profile_counts(like(*rows, *rows)), {})["d"]["intents"]
    assert more == {name: 2 * n for name, n in first.items()}


def test_mixes_by_value():
    assert divergence({"a": 1}, {"a": 7}) == 0.0
    assert divergence({"a": 1}, {"b": 1}) == pytest.approx(1.0)
    # Each has half of its own: (1/2) log2 2 a side.
    assert divergence({"a": 1, "b": 1}, {"b": 1, "c": 1}) == pytest.approx(0.5)


@given(MIXES, MIXES, st.integers(1, 9))
def test_a_divergence_is_symmetric_and_of_shares(first: dict[str, int], second: dict[str, int], times: int):
    found = divergence(first, second)
    assert 0.0 <= found <= 1.0 + 1e-9 and math.isclose(found, divergence(second, first), abs_tol=1e-12)
    more = {name: n * times for name, n in first.items()}
    assert math.isclose(found, divergence(more, second), abs_tol=1e-9)


def side(intents: dict[str, int], turns: int, defects: int = 0) -> dict[str, dict[str, int]]:
    return {"intents": intents, "lengths": {"1": turns}, "turns": {"turns": turns, "defects": defects}}


def test_only_domains_with_enough_turns_in_both_are_held_against_each_other():
    now = {"big": side({"b": 300}, 300, 90), "small": side({"a": 299}, 299), "new": side({"a": 900}, 900)}
    before = {"big": side({"a": 400}, 400, 40), "small": side({"a": 900}, 900), "gone": side({"a": 900}, 900)}
    assert shifts(now, before, 300) == {
        "big": {
            "defect_shift": pytest.approx(0.2),
            "intent_shift": pytest.approx(1.0, abs=0.002),
            "length_shift": 0.0,
        }
    }


def test_two_draws_of_one_mix_have_not_moved():
    draw = np.random.default_rng(3)
    for names, turns in ((300, 600), (400, 1000), (30, 300)):
        first, second = (
            {str(k): int(n) for k, n in enumerate(draw.multinomial(turns, np.full(names, 1 / names))) if n}
            for _ in range(2)
        )
        assert moved(first, second) < 0.1 < divergence(first, second) or names == 30


def test_a_quarantined_domain_is_held_against_its_last_good_state_again():
    good, bad, few = side({"a": 400}, 400), side({"b": 400}, 400), side({"c": 9}, 9)
    assert baseline({"d": bad}, {"d": good}, {"d"}, 300) == {"d": good}
    assert baseline({"d": bad}, {"d": good}, set(), 300) == {"d": bad}
    assert baseline({"d": few}, {"d": good}, set(), 300) == {"d": good}
    assert baseline({"d": few}, {}, set(), 300) == {"d": few}
    assert baseline({}, {"d": good}, set(), 300) == {"d": good}
