import numpy as np
import pytest

from models.boost import TrainingError, fit_folds
from models.design import Design


def _data(n=400, seed=6):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(n, 3)).astype(np.float32)
    label = (values[:, 0] + 0.3 * generator.normal(size=n) > 0).astype(float)
    return Design(values, ("a", "b", "c")), label, np.arange(n) % 4


def _fit(design, label, fold, weight=None, seed=1):
    return fit_folds(design, label, np.ones(len(label)) if weight is None else weight, fold, 4, seed, rounds=20)


def test_the_same_data_and_seed_give_the_same_bytes():
    design, label, fold = _data()
    assert _fit(design, label, fold)[0] == _fit(design, label, fold)[0]
    assert _fit(design, label, fold)[0] != _fit(design, label, fold, seed=99)[0]


def test_a_row_is_scored_by_a_booster_that_has_not_seen_its_fold():
    design, label, fold = _data()
    _, before = _fit(design, label, fold)
    changed = label.copy()
    changed[fold == 2] = 1 - changed[fold == 2]
    _, after = _fit(design, changed, fold)
    assert np.array_equal(before[fold == 2], after[fold == 2])
    assert not np.array_equal(before[fold == 1], after[fold == 1])


def test_a_row_of_no_weight_is_not_learned_from_but_scored():
    design, label, fold = _data()
    weight = np.where(np.arange(len(label)) < 200, 1.0, 0.0)
    changed = np.where(weight > 0, label, 1 - label)
    assert np.array_equal(_fit(design, label, fold, weight)[1], _fit(design, changed, fold, weight)[1])


def test_a_fold_with_one_class_is_refused():
    design, label, fold = _data()
    with pytest.raises(TrainingError, match="one class only"):
        _fit(design, np.zeros(len(label)), fold)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.1, 1.1])
def test_labels_that_are_no_shares_are_refused(bad):
    design, label, fold = _data()
    label[3] = bad
    with pytest.raises(TrainingError, match=r"\[0, 1\]"):
        _fit(design, label, fold)


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a", "c"), ("a", "b", "d")])
def test_a_column_missing_or_in_another_order_is_refused(names):
    design, label, fold = _data()
    model, _ = _fit(design, label, fold)
    with pytest.raises(ValueError, match="features"):
        model.predict(Design(design.values[:, : len(names)], names), fold)


def test_contributions_add_up_to_the_log_odds():
    design, label, fold = _data()
    model, score = _fit(design, label, fold)
    total = model.contributions(design, fold).sum(axis=1)
    odds = np.log(score / (1 - score))
    # Up to each booster's own base value.
    for k in range(4):
        assert np.ptp((odds - total)[fold == k]) < 1e-6
