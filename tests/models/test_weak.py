from __future__ import annotations

import numpy as np
import pytest
from build import interpretation, turns
from hypothesis import given
from hypothesis import strategies as st

from features.signals import signals
from models.design import Design, candidate_table, turn_design
from models.prior import fit_prior
from models.weak import doubt, views, weak_labels, with_mean


def log(seed=0, subjects=60, scores=True):
    """Turns of which a third is misunderstood: low score, then corrected by the next turn."""
    generator = np.random.default_rng(seed)
    rows, wrong = [], []
    for k in range(subjects):
        value = f"v{generator.integers(5)}"
        missed = generator.random() < 0.33
        score = float(np.clip(generator.normal(0.35 if missed else 0.8, 0.12), 0, 1)) if scores else None
        first = interpretation("go", score, to="zzz" if missed else value)
        rows.append(
            {
                "subject_id": f"s{k:03d}",
                "at": 0.0,
                "nbest": [first],
                "utterance": "to town",
                "prompt": "Hello.",
                "response": "Which day?",
            }
        )
        rows.append(
            {
                "subject_id": f"s{k:03d}",
                "at": 9.0,
                "nbest": [interpretation("go", 0.9 if scores else None, to=value)],
                "utterance": "monday",
                "response": "Fine.",
            }
        )
        wrong += [missed, False]
    return signals(turns(*rows)), np.array(wrong)


def labels(rows, folds=3):
    fold = np.arange(rows.num_rows) // 2 % folds
    return weak_labels(turn_design(rows), fold, folds, 1)


@pytest.fixture(scope="module")
def both():
    rows, wrong = log()
    return labels(rows), wrong


def test_misunderstood_turns_stand_out(both):
    p, wrong = both
    assert p[wrong].min() > p[~wrong].mean()
    assert ((p >= 0) & (p <= 1)).all()


def test_the_same_data_give_the_same_labels(both):
    assert np.array_equal(labels(log()[0]), both[0])


def test_without_scores_the_view_before_stands_alone():
    rows, _ = log(scores=False)
    p = labels(rows)
    assert np.isfinite(p).all()


def test_no_view_sees_both_sides():
    rows, _ = log(subjects=4)
    fold = np.zeros(rows.num_rows, np.int64)
    table = candidate_table(rows, fit_prior(rows, fold, 2), fold)
    before, after = views(turn_design(rows, table))
    assert not set(before.names) & set(after.names)
    assert {"top_score", "top.earlier_top", "top.prior.candidate.later_top"} <= set(before.names)
    assert {"top.later_top", "apologises", "confirmation", "other.echo"} <= set(after.names)
    assert "explicit_rating" not in before.names + after.names


def test_doubt_is_the_interpreters_else_the_recognisers():
    design = Design(
        np.array([[0.8, 0.1], [np.nan, 0.3], [np.nan, np.nan], [7.0, 0.1], [-1.0, 0.1]], np.float32),
        ("top_score", "asr_confidence"),
    )
    value, known = doubt(design)
    assert value.tolist() == pytest.approx([0.2, 0.7, 0.5, 0.0, 1.0])
    assert known.tolist() == [True, True, False, True, True]


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=20), st.floats(0.02, 0.98))
def test_a_shift_reaches_the_wished_mean_and_keeps_the_order(odds, mean):
    z = np.array(odds)
    p = with_mean(z, mean)
    assert p.mean() == pytest.approx(mean, abs=1e-6)
    assert (np.diff(p[np.argsort(z)]) >= 0).all()
