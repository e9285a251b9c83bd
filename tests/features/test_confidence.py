from __future__ import annotations

import math

import numpy as np
import pytest
from build import column, evidence, interpretation, turns
from hypothesis import given
from hypothesis import strategies as st

from features.confidence import pool
from features.interpretation import flatten
from features.signals import signals

NBEST = st.lists(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, 0.0, 0.2, 0.5])), max_size=5),
    max_size=6,
)


def table(lists):
    return turns(*({"nbest": [interpretation(name, score) for name, score in entries]} for entries in lists))


@given(NBEST)
def test_pooling_equals_brute_force(lists):
    candidates = flatten(table(lists)["interpretations"])
    pooled = pool(candidates)
    k = 0
    for entries in lists:
        names = [n for n, _ in entries]
        mass = {n: sum(s or 0.0 for m, s in entries if m == n) for n in names}
        distinct = sorted(mass, key=lambda n: (-mass[n], names.index(n)))
        total = sum(mass.values())
        for at, name in enumerate(names):
            assert pooled.first[k] == (names.index(name) == at)
            assert pooled.mass[k] == pytest.approx(mass[name])
            assert pooled.repeats[k] == names.count(name)
            assert pooled.rank[k] == distinct.index(name)
            assert pooled.origin[k] == k - at + names.index(name)
            if total > 0:
                assert pooled.share[k] == pytest.approx(mass[name] / total)
            else:
                assert np.isnan(pooled.share[k])
            k += 1
    assert k == len(candidates)


def test_best_score_margin_and_entropy_over_distinct_candidates():
    got = signals(table([[("a", 0.5), ("b", 0.2), ("a", 0.3)], [("a", 0.5)], [("a", None)], []]))
    assert column(got, "top_score") == [0.5, 0.5, None, None]
    assert column(got, "score_margin")[0] == pytest.approx(0.6)
    assert column(got, "score_margin")[1:] == [None, None, None]
    expected = -(0.8 * math.log(0.8) + 0.2 * math.log(0.2))
    assert column(got, "score_entropy")[0] == pytest.approx(expected, abs=1e-6)
    assert column(got, "score_entropy")[1:] == [0.0, None, None]
    assert column(got, "candidates_distinct") == [2, 1, 1, 0]
    assert column(got, "top_score_next") == [0.5, None, None, None]


def test_a_share_without_scores_is_null_not_nan():
    assert evidence(signals(table([[("a", None), ("b", 0.0)]])), "share") == [[None, None]]


def test_recognition_confidence_margin_and_count():
    def heard(*confidences):
        return {"asr": [{"text": "x", "confidence": c} for c in confidences]}

    got = signals(turns(heard(0.75, 0.25), heard(0.5), {"asr": []}, {"asr": None}))
    assert column(got, "asr_confidence") == [0.75, 0.5, None, None]
    assert column(got, "asr_margin") == [0.5, None, None, None]
    assert column(got, "asr_hypotheses") == [2, 1, 0, None]
    assert column(got, "asr_confidence_next") == [0.5, None, None, None]
