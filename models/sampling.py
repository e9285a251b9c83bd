"""A stratified random sample of judged turns: how many of each cell, and which."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from features.hashing import hash64, join

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

# What was decided of a turn: defective with an accepted correction, defective without one, or not defective.
DECISIONS: Final = ("corrected", "defective", "satisfied")
# Domains that are too many for the sample share their cells under this name.
OTHER: Final = "(other domains)"
_KEY: Final = "afterword/audit1"


@dataclass(frozen=True)
class AuditOptions:
    """Numbers that decide what is drawn.

    Attributes
    ----------
    n : int
        Turns to draw.
    least : int
        Turns of each cell at least, or all it has: below five a domain's figures say next to nothing. Where the cells
        are too many for it, fewer.
    fewest : int
        Where not even so many of each cell can be had, the smallest domains share their cells: of one turn alone no
        spread is known.
    spread : float
        Share of n that the least of all cells may take together: the rest goes where most turns are, or the figures
        over all domains would be no better than those of one.
    power : float
        What is left is shared by (turns of the cell) ** power (Bankier 1988): 1 is best for the figures over all
        domains, 0 for those of each; 0.5 is between.
    seed : int
        Another seed draws other turns.
    """

    n: int = 300
    least: int = 5
    fewest: int = 2
    spread: float = 0.5
    power: float = 0.5
    seed: int = 0

    @property
    def smallest(self) -> int:
        """The least n that gives every turn a chance: `fewest` of each decision within `spread`."""
        return math.ceil(len(DECISIONS) * self.fewest / self.spread)


def allocate(sizes: I64, n: int, least: int, power: float) -> I64:
    """Turns to draw from each cell, shape (cells,): `least` of each, the rest by size ** power, none above its size.

    Parameters
    ----------
    sizes : numpy.ndarray of int64, shape (cells,)
        Turns of each cell.
    n : int
        Turns to draw; all of them where there are fewer.
    least : int
    power : float

    Raises
    ------
    ValueError
        If the least of all cells is more than n.
    """
    out = np.minimum(sizes, least)
    if out.sum() > n:
        raise ValueError(f"{least} of each of {len(sizes)} cells is {out.sum()}, more than {n}")
    left = min(n, int(sizes.sum())) - int(out.sum())
    while left:
        room = sizes - out
        weight = np.where(room > 0, sizes.astype(np.float64) ** power, 0.0)
        ideal = left * weight / weight.sum()
        given = np.minimum(np.floor(ideal).astype(np.int64), room)
        if not given.any():
            # Less than one for each: to the largest cells, earlier ones first among equals.
            first = np.argsort(-np.where(room > 0, ideal, -1.0), kind="stable")[:left]
            given[first] = np.minimum(1, room[first])
        out += given
        left -= int(given.sum())
    return out


def cells_that_fit(sizes: I64, options: AuditOptions) -> npt.NDArray[np.bool_]:
    """Domains that get cells of their own, shape (domains,); the others share one set.

    Parameters
    ----------
    sizes : numpy.ndarray of int64, shape (domains, decisions)
        Turns of each cell.
    options : AuditOptions
    """
    n, fewest = int(options.n * options.spread), options.fewest
    order = np.argsort(-sizes.sum(axis=1), kind="stable")
    own = np.ones(len(sizes), bool)
    for domain in order[::-1]:
        shared = sizes[~own].sum(axis=0)
        if np.minimum(sizes[own], fewest).sum() + np.minimum(shared, fewest).sum() <= n:
            break
        own[domain] = False
    return own


def shared_out(sizes: I64, options: AuditOptions) -> I64:
    """Turns to draw from each cell as the options have it, shape (cells,)."""
    most = options.n * options.spread
    fitting = [k for k in range(1, options.least + 1) if np.minimum(sizes, k).sum() <= most]
    return allocate(sizes, options.n, max(fitting, default=0), options.power)


def draw_order(turn_ids: npt.NDArray[np.object_], seed: int) -> U64:
    """A number of each turn, shape (n,); the turns of a cell with the lowest are drawn.

    It hangs on the turn's id and the seed alone, so that every run draws the same, whatever the order of its rows.
    """
    seeds = np.full(len(turn_ids), str(seed), dtype=object)
    return hash64(join(turn_ids, seeds), _KEY)


def lowest(order: U64, cell: I64, wanted: I64) -> I64:
    """Rows of the `wanted[cell]` lowest numbers of each cell, ascending.

    Parameters
    ----------
    order : numpy.ndarray of uint64, shape (n,)
    cell : numpy.ndarray of int64, shape (n,)
        Cell of each row.
    wanted : numpy.ndarray of int64, shape (cells,)
    """
    rows = np.lexsort((order, cell))
    starts = np.searchsorted(cell[rows], np.arange(len(wanted)))
    rank = np.arange(len(rows)) - starts[cell[rows]]
    return np.sort(rows[rank < wanted[cell[rows]]])
