"""Absorbing Markov chains, solved sparse.

Kemeny and Snell, Finite Markov Chains (1960), chapter 3: with the moves Q between transient states, the fundamental
matrix N = (I - Q)^-1 holds how often the chain is expected to be in each state before it is absorbed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags, eye, vstack
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# Numbers held dense at once while solving: 8 MB.
_DENSE: Final = 1 << 20
# Expected visits below this are dropped: they would fill the matrix with what nobody does.
_LEAST: Final = 1e-12


def fundamental(moves: csr_matrix) -> csr_matrix:
    """Expected visits of each state (column) from each state (row) before absorption: (I - Q)^-1, sparse.

    States without moves of their own need no solving. The others fall into components that do not reach each other;
    one LU factorisation serves all, and one right-hand side holds a start of every component, so there are as many as
    the largest component has states.

    Parameters
    ----------
    moves : scipy.sparse.csr_matrix of float64, shape (n, n)
        Q: probability of moving from row to column; what a row lacks to 1 is absorbed. From every state absorption is
        reached with probability above 0.
    """
    n = moves.shape[0]
    moving = np.flatnonzero(np.diff(moves.indptr) > 0)
    among = moves[moving][:, moving]
    inner = _among(_inverse(among.tocsr()), moving, n)
    # The others are entered from those that move, and keep the chain until it is absorbed.
    rest = np.ones(n)
    rest[moving] = 0.0
    # In this order only what is few is multiplied and added: of a large log the visits alone are 100 MB.
    entered = inner @ (moves @ diags(rest))
    return csr_matrix(inner + (entered + diags(rest)))


def _among(held: csr_matrix, places: I64, n: int) -> csr_matrix:
    """A matrix of some states, ascending, as one of all n; its numbers are shared."""
    sizes = np.zeros(n, np.int64)
    sizes[places] = np.diff(held.indptr)
    return csr_matrix((held.data, places.astype(np.int32)[held.indices], np.append(0, np.cumsum(sizes))), shape=(n, n))


def _inverse(moves: csr_matrix) -> csr_matrix:
    """(I - Q)^-1 of states that all have moves."""
    n = moves.shape[0]
    if not n:
        return csr_matrix((0, 0))
    count, component = connected_components(moves, directed=False)
    turn = _place(component)
    start = np.full((count, int(turn.max()) + 1), -1, np.int64)
    start[component, turn] = np.arange(n)
    solver = splu((eye(n, format="csc") - moves.T).tocsc())
    step = max(1, _DENSE // n)
    states, visits = [], []
    for first in range(0, start.shape[1], step):
        inside = np.flatnonzero((turn >= first) & (turn < first + step))
        right = np.zeros((n, min(step, start.shape[1] - first)))
        right[inside, turn[inside] - first] = 1.0
        solved = solver.solve(right)
        at, column = np.nonzero(solved > _LEAST)
        row = np.searchsorted(inside, start[component[at], column + first])
        states.append(inside)
        visits.append(csr_matrix((solved[at, column], (row, at)), shape=(len(inside), n)))
    found = vstack(visits, format="csr")
    visits.clear()
    return found[np.argsort(np.concatenate(states))]


def _place(component: npt.NDArray[np.int32]) -> I64:
    """Place of each state in its component, from 0."""
    order = np.argsort(component, kind="stable")
    sizes = np.bincount(component)
    place = np.empty(len(component), np.int64)
    place[order] = np.arange(len(component)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place
