"""What people said of like candidates, as columns."""

from __future__ import annotations

import numpy as np
import pytest

from models.pool import STRENGTH
from models.verdicts import KINDS, NAMES, Judged, Verdicts, fit_verdicts

FOLDS = 3


def judged(keys: list[int], subjects: list[int]) -> Judged:
    """Candidates of one key each, of all kinds."""
    return Judged(tuple(np.array(keys, np.int64) for _ in KINDS), np.array(subjects, np.int64))


def test_shares_are_those_of_other_folds_with_each_user_once() -> None:
    asked = judged([5, 5, 5, 5, 5], [0, 0, 1, 2, 3])
    fold = np.array([0, 0, 1, 1, 2])
    right = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    columns = fit_verdicts(asked, right, np.ones(5, bool), fold, FOLDS).columns(asked, fold)
    assert columns.names == NAMES
    # Fold 0 reads subjects 1, 2 and 3, of whom two say right; overall the same two of three.
    assert columns.values[0, 0] == pytest.approx(np.log1p(3))
    assert columns.values[0, 1] == pytest.approx((2 + STRENGTH * 2 / 3) / (3 + STRENGTH))
    # Fold 2 reads subject 0, who is half sure, and 1 and 2.
    assert columns.values[4, 1] == pytest.approx((2.5 + STRENGTH * 2.5 / 3) / (3 + STRENGTH))


def test_a_booster_sees_neither_its_fold_nor_the_rows_own() -> None:
    asked = judged([5] * 6, list(range(6)))
    fold = np.array([0, 0, 1, 1, 2, 2])
    rows = np.ones(6, bool)
    right = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    stacked = fit_verdicts(asked, right, rows, fold, FOLDS).stacked(asked, fold, FOLDS)
    for k in range(FOLDS):
        for j in range(FOLDS):
            unseen = np.isin(fold, (k, j))
            other = fit_verdicts(asked, np.where(unseen, 1.0 - right, right), rows, fold, FOLDS)
            there = other.stacked(asked, fold, FOLDS)[k].values[fold == j]
            assert np.array_equal(there, stacked[k].values[fold == j], equal_nan=True)


def test_no_key_is_null_and_an_unknown_one_has_the_overall_share() -> None:
    asked = judged([5, 5, 5, 0, 7], [0, 1, 2, 3, 4])
    fold = np.array([0, 1, 1, 2, 2])
    right = np.array([1.0, 1.0, 0.0, 0.0, 0.0])
    values = fit_verdicts(asked, right, np.arange(5) < 3, fold, FOLDS).columns(asked, fold).values
    assert np.isnan(values[3]).all()
    assert values[4, 0] == 0.0
    assert values[4, 1] == pytest.approx(2 / 3)


def test_they_read_back_as_they_were_written() -> None:
    asked = judged([5, 6, 5, 6], [0, 1, 2, 3])
    fold = np.array([0, 1, 1, 0])
    fitted = fit_verdicts(asked, np.array([1.0, 0.0, 0.5, 1.0]), np.ones(4, bool), fold, 2)
    held = Verdicts.from_plain(fitted.plain())
    assert np.array_equal(held.columns(asked, fold).values, fitted.columns(asked, fold).values, equal_nan=True)
