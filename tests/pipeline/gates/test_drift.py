from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.gates.drift import divergence, profile, profile_counts, shifts

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
    found = profile(profile_counts(like(*rows)))
    assert found == {
        "(none)": {"intents": {"x": 1}, "lengths": {"4": 1}},
        "music": {
            "intents": {"(none)": 1, "play": 2, "stop": 1},
            "lengths": {"1": 1, "2": 1, "33+": 1, "4": 1},
        },
    }


def test_rare_intents_stand_together():
    rows = [("d", f"i{k:03d}", 1) for k in range(250)] + [("d", "i249", 1)]
    intents = profile(profile_counts(like(*rows)))["d"]["intents"]
    assert len(intents) == 201 and intents["(other)"] == 50 and intents["i249"] == 2
    assert sum(intents.values()) == 251


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


def test_only_domains_with_enough_turns_in_both_are_held_against_each_other():
    mix = {"intents": {"a": 1}, "lengths": {"1": 1}}
    now = {"big": {"intents": {"b": 1}, "lengths": {"1": 1}}, "small": mix, "new": mix}
    before = {"big": mix, "small": mix, "gone": mix}
    defects = {"big": {"turns": 300, "defects": 90}, "small": {"turns": 299}, "new": {"turns": 900}}
    earlier = {"big": {"turns": 400, "defects": 40}, "small": {"turns": 900}}
    assert shifts(now, before, defects, earlier, 300) == {
        "big": {
            "defect_shift": pytest.approx(0.2),
            "intent_shift": pytest.approx(1.0),
            "length_shift": 0.0,
        }
    }
