from __future__ import annotations

import pytest
from build import evidence, interpretation, turns
from rapidfuzz import fuzz

from features.signals import signals


def kin(*nbest):
    got = signals(turns({"nbest": list(nbest)}))
    return evidence(got, "kin_mass")[0], evidence(got, "kin")[0]


def stop(value, score, intent="ask"):
    return interpretation(intent, score, to=value)


def test_like_values_of_one_frame_support_each_other():
    mass, nearest = kin(stop("mary street", 0.4), stop("marys street", 0.2))
    like = fuzz.ratio("mary street", "marys street") / 100
    assert mass == pytest.approx([0.4 + like * 0.2, 0.2 + like * 0.4])
    assert nearest == pytest.approx([like, like])


def test_another_frame_does_not_count():
    mass, nearest = kin(stop("x", 0.4), stop("x", 0.2, intent="other"))
    assert mass == pytest.approx([0.4, 0.2])
    assert nearest == [0.0, 0.0]


def test_a_repeat_is_pooled_first_and_has_the_same_figures():
    mass, nearest = kin(stop("aa", 0.3), stop("ab", 0.2), stop("aa", 0.1))
    assert mass == pytest.approx([0.4 + 0.5 * 0.2, 0.2 + 0.5 * 0.4, 0.4 + 0.5 * 0.2])
    assert nearest == pytest.approx([0.5, 0.5, 0.5])


def test_candidates_further_apart_than_the_limit_are_not_compared():
    nbest = [stop(value, 0.1) for value in ("aaaa", "b", "c", "d", "e", "aaaa x")]
    assert kin(*nbest)[1][0] == 0.0
    assert kin(*nbest[:4], nbest[5])[1][0] > 0.5


def test_a_missing_score_counts_as_none():
    assert kin(interpretation("ask", None, to="x"))[0] == [0.0]
