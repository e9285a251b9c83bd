"""The trees of a LightGBM text model, in one form: null goes left, and leaves are numbered from left to right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]

# Bits of a split's `decision_type`.
_BY_CATEGORY: Final = 1
_NULL_LEFT: Final = 2
_MISSING: Final = 12
# The two values of the last that occur here: training saw no null there, and NaN is null.
_NEVER, _NAN = 0, 8


@dataclass(frozen=True)
class Tree:
    """One tree.

    A split sends a row right where a feature, or its negative, is at least a number; what has no value is not, and goes
    left. A split that LightGBM sends null right at is told by the negative, its children the other way round.

    Attributes
    ----------
    value, count : list of float
        Of each leaf, from left to right: what it adds to the score, and its training rows.
    feature : list of int
        Of each inner node, the root first; a child is numbered higher than its parent.
    negative : list of bool
        Whether the feature's negative is looked at.
    least : numpy.ndarray of float32, shape (inner nodes,)
        NaN = no row goes right.
    left, right : list of int
        Children; below 0 stands leaf `-1 - number`.
    """

    value: list[float]
    count: list[float]
    feature: list[int]
    negative: list[bool]
    least: F32
    left: list[int]
    right: list[int]

    @staticmethod
    def parse(block: str) -> Tree:
        """Read the lines `name=values` of a tree's block.

        Raises
        ------
        ValueError
            If a split is by category, or takes zero for null.
        """
        held = {name: values.split() for name, _, values in (line.partition("=") for line in block.split("\n"))}
        # A tree of one leaf states neither splits nor counts.
        feature, left, right, kinds = (
            [int(v) for v in held.get(name, ())]
            for name in ("split_feature", "left_child", "right_child", "decision_type")
        )
        threshold, value, count = (
            [float(v) for v in held.get(name, ())] for name in ("threshold", "leaf_value", "leaf_count")
        )
        if any(kind & _BY_CATEGORY or kind & _MISSING not in (_NEVER, _NAN) for kind in kinds):
            raise ValueError(f"splits of kinds {sorted(set(kinds))}; wanted: numerical ones for which NaN is null")
        negative = [not _null_left(*split) for split in zip(kinds, threshold, strict=True)]
        sides = [(b, a) if turned else (a, b) for a, b, turned in zip(left, right, negative, strict=True)]
        order = list(_leaves(sides, 0 if sides else -1))
        place = {-1 - leaf: -1 - at for at, leaf in enumerate(order)}
        return Tree(
            value=[value[leaf] for leaf in order],
            count=[count[leaf] for leaf in order] if count else [1.0],
            feature=feature,
            negative=negative,
            least=_least(np.array(threshold), np.array(negative, bool)),
            left=[place.get(a, a) for a, _ in sides],
            right=[place.get(b, b) for _, b in sides],
        )


def trees(model: str) -> list[Tree]:
    """The trees of a text model, in order."""
    return [Tree.parse(block) for block in model.split("\nTree=")[1:]]


def _null_left(kind: int, threshold: float) -> bool:
    """A split that training saw no null at takes it for 0."""
    return bool(kind & _NULL_LEFT) if kind & _MISSING == _NAN else threshold >= 0.0


def _leaves(sides: list[tuple[int, int]], node: int) -> Iterator[int]:
    """Numbers of the leaves below a node, from left to right."""
    if node < 0:
        yield -1 - node
    else:
        for child in sides[node]:
            yield from _leaves(sides, child)


def _least(threshold: npt.NDArray[np.float64], negative: npt.NDArray[np.bool_]) -> F32:
    """Bounds for floats x of double t: x > t where x >= the float above t; x <= t where -x >= -t, t rounded down."""
    below = threshold.astype(np.float32)
    high = below > threshold
    below[high] = np.nextafter(below[high], np.float32(-np.inf))
    above = np.nextafter(below, np.float32(np.inf))
    return np.where(negative, -below, np.where(np.isposinf(threshold), np.float32(np.nan), above))
