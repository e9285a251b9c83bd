"""What each feature adds to a score: the path through each tree, told as steps from mean to mean.

A tree's prediction is the mean over its training rows plus, at each split on the way down, the step from a node's mean
to its child's; a step is the split feature's (Saabas 2014, "Interpreting random forests"). Unlike TreeSHAP (Lundberg
et al. 2018) it depends on the reached leaf alone, so all leaves are worked out once and a million rows cost a sparse
product. What it gives up is consistency: of two features that say the same, the one that splits lower gets more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Steps:
    """Contributions by leaf over all trees of a booster.

    Attributes
    ----------
    by_leaf : scipy.sparse.csr_matrix, shape (leaves of all trees, features)
        Summed steps of the path to each leaf.
    first : numpy.ndarray of int64, shape (trees,)
        Row of each tree's first leaf.
    """

    by_leaf: sparse.csr_matrix
    first: I64

    def of(self, leaves: npt.NDArray[np.int32]) -> F64:
        """Contributions to rows that reach the given leaves, shape (n, features).

        Parameters
        ----------
        leaves : numpy.ndarray of int32, shape (n, trees)
            Leaf of each tree, as LightGBM's `pred_leaf` gives it.
        """
        n, trees = leaves.shape
        reached = (leaves + self.first).ravel()
        starts = np.arange(0, n * trees + 1, trees)
        rows = sparse.csr_matrix((np.ones(len(reached)), reached, starts), shape=(n, self.by_leaf.shape[0]))
        return np.asarray((rows @ self.by_leaf).toarray(), dtype=np.float64)


def steps(model: str, features: int) -> Steps:
    """Work out the contributions of every leaf.

    Parameters
    ----------
    model : str
        A LightGBM text model.
    features : int
        Number of features.
    """
    leaf, feature, step = [], [], []
    first, count = [], 0
    for block in model.split("\nTree=")[1:]:
        tree = _Tree.parse(block)
        first.append(count)
        for at, (path_features, path_steps) in enumerate(tree.paths()):
            leaf += [count + at] * len(path_features)
            feature += path_features
            step += path_steps
        count += len(tree.value)
    held = sparse.csr_matrix((step, (leaf, feature)), shape=(count, features))
    return Steps(held, np.array(first, np.int64))


@dataclass(frozen=True)
class _Tree:
    """One tree of a text model. A child number below 0 is leaf `-1 - number`."""

    value: list[float]
    count: list[float]
    feature: list[int]
    left: list[int]
    right: list[int]

    @staticmethod
    def parse(block: str) -> _Tree:
        """Read the lines `name=values` of a tree's block."""
        held = dict(line.split("=", 1) for line in block.split("\n") if "=" in line)
        feature, left, right = (
            [int(v) for v in held.get(name, "").split()] for name in ("split_feature", "left_child", "right_child")
        )
        value = [float(v) for v in held["leaf_value"].split()]
        # A tree of one leaf states no counts.
        count = [float(v) for v in held.get("leaf_count", "").split()] or [1.0]
        return _Tree(value, count, feature, left, right)

    def paths(self) -> list[tuple[list[int], list[float]]]:
        """Features and steps on the way to each leaf."""
        out: list[tuple[list[int], list[float]]] = [([], []) for _ in self.value]
        if not self.feature:
            return out
        mean = self._means()
        waiting: list[tuple[int, list[int], list[float]]] = [(0, [], [])]
        while waiting:
            node, features, path = waiting.pop()
            for child in (self.left[node], self.right[node]):
                reached = self.value[-1 - child] if child < 0 else mean[child]
                way = ([*features, self.feature[node]], [*path, reached - mean[node]])
                if child < 0:
                    out[-1 - child] = way
                else:
                    waiting.append((child, *way))
        return out

    def _means(self) -> list[float]:
        """Mean value of the training rows below each inner node. A child is numbered higher than its parent."""
        mean, rows = [0.0] * len(self.feature), [0.0] * len(self.feature)
        for node in range(len(self.feature) - 1, -1, -1):
            total = 0.0
            for child in (self.left[node], self.right[node]):
                number = self.count[-1 - child] if child < 0 else rows[child]
                total += number * (self.value[-1 - child] if child < 0 else mean[child])
                rows[node] += number
            mean[node] = total / rows[node]
        return mean
