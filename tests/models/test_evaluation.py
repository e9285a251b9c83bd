from __future__ import annotations

import numpy as np
import pytest

from models.evaluation import curve, decided, scored


def test_ranking_takes_the_majority_and_calibration_the_share():
    share, p = np.array([0.4, 0.6, 0.0, 1.0]), np.array([0.4, 0.6, 0.0, 1.0])
    found = scored(share, p)
    assert found["rows"] == 4 and found["positive"] == 2
    assert found["auc"] == 1.0 and found["ap"] == 1.0 and found["ece"] == 0.0


def test_half_of_the_raters_are_enough():
    assert scored(np.array([0.5, 0.0]), np.array([0.9, 0.1]))["positive"] == 1


def test_what_is_not_defined_is_none():
    one_class = scored(np.ones(3), np.array([0.2, 0.4, 0.6]))
    assert one_class["auc"] is None and one_class["ap"] == 1.0
    nothing = scored(np.zeros(0), np.zeros(0))
    assert nothing["rows"] == 0 and nothing["ece"] is None
    assert decided(np.zeros(2), np.zeros(2, bool)) == {"taken": 0, "precision": None, "recall": None}


def test_precision_and_recall_of_a_decision():
    found = decided(np.array([1.0, 1.0, 0.0, 0.0, 1.0]), np.array([True, True, True, False, False]))
    assert found == {"taken": 3, "precision": pytest.approx(2 / 3), "recall": pytest.approx(2 / 3)}


def test_the_curve_has_parts_of_nearly_equal_size_lowest_first():
    p = np.linspace(0.0, 1.0, 45)
    points = curve((p > 0.5).astype(float), p)
    assert [point["rows"] for point in points] == [12, 11, 11, 11]
    assert points[0]["share"] == 0.0 and points[-1]["share"] == 1.0
    assert [point["probability"] for point in points] == sorted(point["probability"] for point in points)
    assert curve(np.ones(9), np.ones(9)) == []
