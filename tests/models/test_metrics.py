import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.metrics import clopper_pearson_high, clopper_pearson_low, ece, ece_floor, reliability


def test_clopper_pearson_needs_29_labels_without_an_error_for_090():
    assert clopper_pearson_low(28, 28) < 0.90 <= clopper_pearson_low(29, 29)


def test_clopper_pearson_needs_46_labels_with_one_error_for_090():
    assert clopper_pearson_low(44, 45) < 0.90 <= clopper_pearson_low(45, 46)


def test_clopper_pearson_is_zero_with_nothing_right():
    assert clopper_pearson_low(0, 10) == 0.0
    assert clopper_pearson_low(0, 0) == 0.0


def test_clopper_pearson_bound_covers_in_95_percent():
    generator = np.random.default_rng(1)
    seen = generator.binomial(60, 0.9, 4000)
    covered = np.mean([clopper_pearson_low(int(k), 60) <= 0.9 for k in seen])
    assert covered >= 0.94


def test_ece_by_value_over_two_bins():
    probability = np.array([0.1, 0.1, 0.9, 0.9])
    truth = np.array([0.0, 1.0, 1.0, 1.0])
    assert ece(truth, probability, bins=2) == pytest.approx(0.5 * 0.4 + 0.5 * 0.1)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=60))
def test_ece_is_a_share(rows):
    truth = np.array([float(t) for t, _ in rows])
    assert 0.0 <= ece(truth, np.array([p for _, p in rows])) <= 1.0


def test_a_calibrated_model_has_the_floor_and_a_shifted_one_does_not():
    generator = np.random.default_rng(2)
    p = generator.uniform(0.05, 0.95, 5000)
    truth = (generator.random(5000) < p).astype(float)
    floor = ece_floor(p)
    assert ece(truth, p) < 2 * floor
    assert ece(truth, np.clip(p + 0.1, 0, 1)) > 4 * floor


def test_the_reliability_curve_has_the_mean_and_the_share_of_each_part():
    p = np.array([0.9, 0.1, 0.3, 0.7])
    truth = np.array([1.0, 0.0, 1.0, 0.5])
    assert reliability(truth, p, bins=2) == [
        (pytest.approx(0.2), pytest.approx(0.5), 2),
        (pytest.approx(0.8), pytest.approx(0.75), 2),
    ]


def test_the_floor_is_the_mean_ece_of_labels_drawn_from_the_scores():
    generator = np.random.default_rng(0)
    p = np.random.default_rng(5).random(101)
    drawn = [(generator.random(101) < p).astype(float) for _ in range(20)]
    assert ece_floor(p, draws=20) == pytest.approx(np.mean([ece(truth, p) for truth in drawn]))


def test_the_two_bounds_mirror_each_other():
    assert clopper_pearson_high(3, 9) == pytest.approx(1.0 - clopper_pearson_low(6, 9))
    assert clopper_pearson_high(9, 9) == clopper_pearson_high(0, 0) == 1.0
