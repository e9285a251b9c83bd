from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from models import absorption
from models.absorption import fundamental


def test_a_chain_of_three_states_solved_by_hand():
    # a -> b with 1/2, b -> a with 1/4 and -> c with 1/4; c is left at once.
    moves = csr_matrix([[0, 0.5, 0], [0.25, 0, 0.25], [0, 0, 0]])
    visits = fundamental(moves).toarray()
    # det(I - Q) over a, b = 1 - 1/8.
    assert visits == pytest.approx(np.array([[8, 4, 1], [2, 8, 2], [0, 0, 7]]) / 7)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.floats(0.01, 1)), max_size=30))
def test_it_equals_a_dense_solve_and_absorption_sums_to_one(edges):
    dense = np.zeros((12, 12))
    for start, end, weight in edges:
        dense[start, end] += weight
    dense *= 0.9 / np.maximum(dense.sum(axis=1, keepdims=True), 0.9)
    visits = fundamental(csr_matrix(dense)).toarray()
    assert visits == pytest.approx(np.linalg.inv(np.eye(12) - dense), abs=1e-9)
    success = np.linspace(0, 1, 12) * (1 - dense.sum(axis=1))
    failure = 1 - dense.sum(axis=1) - success
    assert visits @ success + visits @ failure == pytest.approx(np.ones(12))


def test_components_apart_are_solved_as_if_alone():
    block = np.array([[0.1, 0.5, 0.0], [0.2, 0.0, 0.3], [0.0, 0.4, 0.0]])
    both = np.zeros((7, 7))
    both[:3, :3], both[4:, 4:] = block, block[::-1, ::-1]
    visits = fundamental(csr_matrix(both)).toarray()
    assert visits[:3, :3] == pytest.approx(np.linalg.inv(np.eye(3) - block))
    assert not visits[:3, 4:].any()
    assert visits[3].tolist() == [0, 0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("at_once", [1, 2, 3, 99])
def test_however_many_columns_are_solved_at_once_every_state_has_its_own_row(at_once, monkeypatch):
    # Two components of three states, one after the other, and a state that is left at once.
    dense = np.zeros((7, 7))
    dense[0, 1], dense[1, 2], dense[2, 0], dense[2, 6] = 0.5, 0.6, 0.2, 0.3
    dense[3, 4], dense[4, 3], dense[4, 5], dense[5, 4] = 0.7, 0.1, 0.4, 0.8
    moving = 6
    monkeypatch.setattr(absorption, "_DENSE", at_once * moving)
    visits = fundamental(csr_matrix(dense)).toarray()
    assert visits == pytest.approx(np.linalg.inv(np.eye(7) - dense))


def test_no_states():
    assert fundamental(csr_matrix((0, 0))).shape == (0, 0)
