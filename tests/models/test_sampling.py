from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.sampling import AuditOptions, allocate, cells_that_fit, draw_order, lowest, shared_out

SIZES = st.lists(st.integers(0, 5_000), min_size=1, max_size=30).map(lambda s: np.array(s, np.int64))


def test_the_rest_is_shared_by_the_root_of_the_size():
    assert allocate(np.array([10_000, 2_500, 400]), 85, 0, 0.5).tolist() == [50, 25, 10]
    # Five of each first; then 70 by 100 : 50 : 20, what no cell gets whole to the largest.
    assert allocate(np.array([10_000, 2_500, 400]), 85, 5, 0.5).tolist() == [47, 25, 13]


def test_small_cells_are_taken_whole_and_what_they_leave_goes_to_the_others():
    assert allocate(np.array([3, 1_000, 1_000]), 103, 5, 0.5).tolist() == [3, 50, 50]
    assert allocate(np.array([3, 4]), 100, 5, 0.5).tolist() == [3, 4]


def test_more_than_n_at_least_is_refused():
    with pytest.raises(ValueError, match="more than 7"):
        allocate(np.array([10, 10]), 7, 5, 0.5)


@given(SIZES, st.integers(1, 600), st.floats(0.0, 1.0))
def test_an_allocation_adds_up_and_never_asks_for_more_than_there_is(sizes: np.ndarray, n: int, power: float):
    drawn = shared_out(sizes, AuditOptions(n=n, power=power))
    assert drawn.sum() == min(n, sizes.sum())
    assert (drawn <= sizes).all() and (drawn >= 0).all()


@given(
    st.lists(st.tuples(*[st.integers(0, 400)] * 3), min_size=1, max_size=200), st.integers(AuditOptions().smallest, 300)
)
def test_every_turn_has_a_chance_however_many_domains_there_are(sizes: list[tuple[int, int, int]], n: int):
    options = AuditOptions(n=n)
    table = np.array(sizes, np.int64)
    own = cells_that_fit(table, options)
    cells = np.vstack([table[own], table[~own].sum(axis=0)]).ravel()
    drawn = shared_out(cells, options)
    assert (drawn[cells > 0] > 0).all()
    # The largest domains keep cells of their own.
    assert own.all() or not own.any() or table[own].sum(axis=1).min() >= table[~own].sum(axis=1).max()


def test_which_turns_are_drawn_hangs_on_their_ids_and_the_seed_alone():
    ids = np.array([f"t{k}" for k in range(500)], dtype=object)
    cell = np.arange(500) % 2
    drawn = set(ids[lowest(draw_order(ids, 0), cell, np.array([20, 5]))])
    shuffled = np.random.default_rng(1).permutation(500)
    again = set(ids[shuffled][lowest(draw_order(ids[shuffled], 0), cell[shuffled], np.array([20, 5]))])
    assert drawn == again and len(drawn) == 25
    assert sum(int(t[1:]) % 2 == 0 for t in drawn) == 20
    assert drawn != set(ids[lowest(draw_order(ids, 1), cell, np.array([20, 5]))])


def test_each_turn_of_a_cell_is_drawn_equally_often():
    ids = np.array([f"t{k}" for k in range(40)], dtype=object)
    cell, wanted = np.zeros(40, np.int64), np.array([10])
    times = np.bincount(
        np.concatenate([lowest(draw_order(ids, seed), cell, wanted) for seed in range(800)]), minlength=40
    )
    # 200 each; the square sum of 39 degrees of freedom lies below 72.05 in 99.9%.
    assert ((times - 200) ** 2 / (200 * 0.75)).sum() * 39 / 40 < 72.05
