"""What the arrays say is what LightGBM says, wherever nulls and bounds may lead a row another way."""

import lightgbm as lgb
import numpy as np
import pytest

from models.forest import Forest
from models.trees import Tree, trees

COLUMNS = 6


def _values(seed, n=3000):
    """Few values, so that many stand on a bound; nulls, which column 4 has none of, and infinities."""
    generator = np.random.default_rng(seed)
    values = np.round(generator.normal(size=(n, COLUMNS)), 1).astype(np.float32)
    values[:, :4][generator.random((n, 4)) < 0.2] = np.nan
    values[:, 3][generator.random(n) < 0.02] = np.inf
    values[:, 5] = np.where(generator.random(n) < 0.7, np.nan, np.arange(n))
    return values


def _booster(seed, **parameters):
    values = _values(seed)
    label = (np.nan_to_num(values[:, 0], posinf=3) > np.isnan(values[:, 1])) + 0.2 * (values[:, 4] > 0)
    asked = {"objective": "cross_entropy", "extra_trees": True, "num_leaves": 15, "verbosity": -1, "seed": seed}
    data = lgb.Dataset(values, np.clip(label, 0, 1))
    return lgb.train(asked | {"deterministic": True, "num_threads": 1} | parameters, data, num_boost_round=30)


def _forest(booster):
    return Forest.of(trees(booster.model_to_string()), COLUMNS)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("leaves", [2, 15, 16, 40])
def test_scores_are_those_of_lightgbm(seed, leaves):
    booster = _booster(seed, num_leaves=leaves)
    # The fourth column has nulls here that training did not see.
    rows = np.vstack([_values(seed + 10), np.full((1, COLUMNS), np.nan, np.float32)])
    rows[::7, 4] = np.nan
    forest = _forest(booster)
    assert np.allclose(forest.score(forest.leaves(rows)), booster.predict(rows), rtol=1e-15, atol=0)


def test_rows_reach_the_leaves_of_lightgbm():
    booster, rows = _booster(4), _values(5)
    leaves, theirs = _forest(booster).leaves(rows), booster.predict(rows, pred_leaf=True).T
    for ours, other in zip(leaves, theirs, strict=True):
        pairs = set(zip(ours.tolist(), other.tolist(), strict=True))
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_a_float_between_a_bound_and_the_next_float_is_told_apart():
    # The bound lies between two floats: 1 is below it, the next above.
    bound = 1.0 + 2.0**-30
    block = (
        f"split_feature=0\nthreshold={bound!r}\ndecision_type=8\nleft_child=-1\nright_child=-2\nleaf_value=1 2"
        "\nleaf_count=1 1"
    )
    rows = np.array([[1.0], [np.nextafter(np.float32(1), np.float32(2))], [np.nan]], np.float32)
    for kind, reached in ((8, [1, 2, 2]), (10, [1, 2, 1]), (2, [1, 2, 1])):
        tree = Tree.parse(block.replace("=8", f"={kind}"))
        forest = Forest.of([tree], 1)
        assert forest.value[0, forest.leaves(rows)[0]].tolist() == reached


def test_trees_without_a_split_and_no_rows():
    booster = lgb.train({"objective": "cross_entropy", "verbosity": -1}, lgb.Dataset(_values(1), np.full(3000, 0.3)), 2)
    forest, rows = _forest(booster), _values(2)
    assert np.allclose(forest.score(forest.leaves(rows)), booster.predict(rows), rtol=1e-15, atol=0)
    assert forest.leaves(rows[:0]).shape == (len(forest.value), 0)


@pytest.mark.parametrize("kind", [1, 4, 6])
def test_splits_of_other_kinds_are_refused(kind):
    with pytest.raises(ValueError, match="kinds"):
        Tree.parse(f"split_feature=0\nthreshold=1\ndecision_type={kind}\nleft_child=-1\nright_child=-2\nleaf_value=1 2")


def test_trees_of_too_many_leaves_are_refused():
    with pytest.raises(ValueError, match="at most 64"):
        _forest(_booster(1, num_leaves=80))
