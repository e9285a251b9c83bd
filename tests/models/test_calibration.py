import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.calibration import BetaCalibration, fit_beta
from models.metrics import ece


def test_the_default_leaves_scores_as_they_are():
    score = np.array([0.01, 0.3, 0.99])
    assert BetaCalibration()(score) == pytest.approx(score)


def test_distorted_scores_are_put_right():
    generator = np.random.default_rng(4)
    p = generator.uniform(0.02, 0.98, 20_000)
    truth = (generator.random(20_000) < p).astype(float)
    distorted = p**3
    assert ece(truth, distorted) > 0.1
    assert ece(truth, fit_beta(distorted, truth)(distorted)) < 0.02


@given(st.integers(0, 1000))
def test_the_order_of_scores_is_kept(seed):
    generator = np.random.default_rng(seed)
    score = generator.random(200)
    truth = (generator.random(200) < 0.5).astype(float)
    fitted = fit_beta(score, truth)(np.sort(score))
    assert (np.diff(fitted) >= 0).all()


def test_one_class_gives_the_identity():
    assert fit_beta(np.array([0.2, 0.4]), np.ones(2)) == BetaCalibration()


def test_rows_of_no_weight_do_not_count():
    generator = np.random.default_rng(5)
    score, truth = generator.random(500), (generator.random(500) < 0.3).astype(float)
    weight = np.append(np.ones(500), np.zeros(500))
    doubled = fit_beta(np.append(score, generator.random(500)), np.append(truth, np.ones(500)), weight)
    assert doubled == fit_beta(score, truth)
