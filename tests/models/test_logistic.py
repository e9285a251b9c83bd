import numpy as np
import pyarrow as pa
from sklearn.linear_model import LogisticRegression

from features.grams import grams
from models import logistic
from models.logistic import Field, fit_logistic

WORDS = np.array(["yes", "no", "rome", "oslo", "please", "wrong"])


def some(rows=300, seed=0):
    generator = np.random.default_rng(seed)
    texts = [" ".join(WORDS[generator.integers(0, 6, generator.integers(1, 5))]) for _ in range(rows)]
    label = np.array([float("wrong" in t) if generator.random() < 0.9 else float("no" in t) for t in texts])
    return grams(pa.array(texts), letters=()), label


def test_it_agrees_with_a_solver_of_another_kind(monkeypatch):
    monkeypatch.setattr(logistic, "STEPS", 30)
    monkeypatch.setattr(logistic, "INNER_STEPS", 200)
    monkeypatch.setattr(logistic, "_CLOSE", 1e-12)
    held, label = some()
    weights, intercept = fit_logistic([Field.of(held, np.arange(300))], label, np.ones(300), ridge=2.0)
    other = LogisticRegression(C=0.5, tol=1e-8, max_iter=1000).fit(held.matrix(), label)
    np.testing.assert_allclose(weights, other.coef_[0], atol=2e-3)
    assert abs(intercept - other.intercept_[0]) < 2e-3


def test_a_shared_label_weighs_as_its_two_halves():
    held, label = some(60)
    rows = np.arange(60)
    soft, _ = fit_logistic([Field.of(held, rows)], 0.25 * label + 0.5, np.ones(60))
    twice = np.concatenate([rows, rows])
    share = 0.25 * label + 0.5
    hard, _ = fit_logistic([Field.of(held, twice)], np.repeat([1.0, 0.0], 60), np.concatenate([share, 1.0 - share]))
    np.testing.assert_allclose(soft, hard, atol=1e-9)


def test_a_null_text_has_no_columns_and_fields_stand_one_after_the_other():
    held = grams(pa.array(["no", None, "yes", None]), letters=())
    other = grams(pa.array(["rome", "rome", None, "oslo"]), letters=())
    first = Field.of(held, np.array([1, 2, 3]))
    assert first.forward(np.ones(held.counts.shape[1]))[[0, 2]].tolist() == [0.0, 0.0]
    assert first.backward(np.array([5.0, 0.0, 7.0])).sum() == 0.0
    weights, _ = fit_logistic(
        [Field.of(held, np.arange(4)), Field.of(other, np.arange(4))], np.array([1.0, 0, 0, 0]), np.ones(4)
    )
    columns = held.counts.shape[1]
    assert len(weights) == 2 * columns
    assert np.flatnonzero(weights[:columns]).tolist() == np.unique(held.counts.indices).tolist()
