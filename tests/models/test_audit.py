from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from models.audit import Strata, correction_precision, defect_figures, pooled
from models.melding import Share, ratio, weighted
from models.sampling import DECISIONS

CORRECTED, DEFECTIVE, SATISFIED = range(3)


def strata(*rows: tuple[int, int, int, float]) -> Strata:
    """Cells as (decision, turns, judged, yes)."""
    decision, size, answered, total = zip(*rows, strict=True)
    return Strata(np.array(decision), np.array(size), np.array(answered), np.array(total, np.float64))


def test_the_estimates_weigh_each_cell_by_its_turns():
    cells = strata((CORRECTED, 100, 10, 9.0), (DEFECTIVE, 300, 10, 5.0), (SATISFIED, 1_600, 20, 1.0))
    found = defect_figures(cells)
    assert found["precision"].value == pytest.approx((90 + 150) / 400)
    assert found["prevalence"].value == pytest.approx((90 + 150 + 80) / 2_000)
    assert found["recall"].value == pytest.approx(240 / 320)


def test_two_domains_of_unlike_size_are_not_averaged_plainly():
    cells = strata((DEFECTIVE, 900, 10, 10.0), (DEFECTIVE, 100, 10, 0.0), (SATISFIED, 50, 5, 0.0))
    assert defect_figures(cells)["precision"].value == pytest.approx(0.9)


def test_one_cell_without_a_finite_log_is_clopper_and_pearsons_interval_at_delta_0():
    found = weighted([Share(10**9, 40, 36 / 40, 40.0, 0.0)], delta=0.0, draws=200_000)
    assert found.low == pytest.approx(beta.ppf(0.025, 36, 5), abs=0.002)
    assert found.high == pytest.approx(beta.ppf(0.975, 37, 4), abs=0.002)


def test_of_a_log_judged_whole_nothing_is_left_to_chance():
    found = defect_figures(strata((DEFECTIVE, 20, 20, 15.0), (SATISFIED, 80, 80, 5.0)))
    assert all(f.low == f.value == f.high for f in found.values())
    assert found["recall"].value == pytest.approx(0.75)


def test_no_error_in_few_turns_proves_little_and_in_many_much():
    few = correction_precision(strata((CORRECTED, 10_000, 5, 5.0)))
    many = correction_precision(strata((CORRECTED, 10_000, 200, 200.0)))
    assert few.value == many.value == few.high == many.high == 1.0
    assert few.low < 0.65 and 0.97 < many.low < 1.0


def test_cells_of_which_none_was_judged_may_hold_anything():
    cells = strata((DEFECTIVE, 500, 50, 50.0), (DEFECTIVE, 500, 0, 0.0), (SATISFIED, 10, 10, 0.0))
    found = defect_figures(cells)["precision"]
    assert found.low < 0.5 and found.high == 1.0


def test_where_nothing_is_known_the_interval_is_all_there_is():
    nothing = correction_precision(strata((DEFECTIVE, 10, 5, 1.0)))
    assert np.isnan(nothing.value) and (nothing.low, nothing.high) == (0.0, 1.0)
    unjudged = defect_figures(strata((DEFECTIVE, 10, 0, 0.0), (SATISFIED, 10, 0, 0.0)))
    assert all(np.isnan(f.value) and (f.low, f.high) == (0.0, 1.0) for f in unjudged.values())


def test_unlike_weights_tell_less_than_like_ones():
    like = pooled(strata((DEFECTIVE, 500, 20, 10.0), (DEFECTIVE, 500, 20, 10.0)))
    unlike = pooled(strata((DEFECTIVE, 950, 20, 10.0), (DEFECTIVE, 50, 20, 10.0)))
    assert like.answered == unlike.answered == 40
    assert unlike.effective < 0.7 * like.effective


def test_recall_falls_with_what_may_have_been_missed():
    found = [Share(100, 50, 0.9, 50.0, 0.0)]
    sure, unsure = (ratio(found, [Share(10_000, n, 0.0, float(n), 0.0)]) for n in (2_000, 50))
    assert sure.value == unsure.value == 1.0
    assert unsure.low < 0.3 < sure.low


CELL = st.tuples(st.sampled_from([0, 1, 2]), st.integers(1, 5_000), st.integers(0, 60), st.floats(0.0, 1.0))


@given(st.lists(CELL, min_size=1, max_size=12))
def test_an_interval_holds_its_estimate_and_stays_between_0_and_1(cells: list[tuple[int, int, int, float]]):
    rows = [(d, size, min(n, size), round(p * min(n, size))) for d, size, n, p in cells]
    held = strata(*rows)
    figures = [*defect_figures(held, draws=500).values(), correction_precision(held, draws=500)]
    for figure in figures:
        assert 0.0 <= figure.low <= figure.high <= 1.0
        assert np.isnan(figure.value) or figure.low <= figure.value <= figure.high


def test_the_same_answers_give_the_same_interval():
    cells = strata((CORRECTED, 100, 10, 9.0), (DEFECTIVE, 300, 10, 5.0), (SATISFIED, 1_600, 20, 1.0))
    assert defect_figures(cells) == defect_figures(cells)
    assert len(DECISIONS) == 3
