"""What each feature adds to a score: the path through each tree, told as steps from mean to mean.

A tree's prediction is the mean over its training rows plus, at each split on the way down, the step from a node's mean
to its child's; a step is the split feature's (Saabas 2014, "Interpreting random forests"). Unlike TreeSHAP (Lundberg
et al. 2018) it depends on the reached leaf alone, so all leaves are worked out once and a million rows cost a sparse
product. What it gives up is consistency: of two features that say the same, the one that splits lower gets more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from models.trees import Tree

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

    def of(self, leaves: npt.NDArray[np.uint8]) -> F64:
        """Contributions to rows that reach the given leaves, shape (n, features).

        Parameters
        ----------
        leaves : numpy.ndarray of uint8, shape (trees, n)
            As `models.forest.Forest.leaves` gives them.
        """
        trees, n = leaves.shape
        reached = (leaves.T + self.first).ravel()
        starts = np.arange(n + 1) * trees
        rows = sparse.csr_matrix((np.ones(len(reached)), reached, starts), shape=(n, self.by_leaf.shape[0]))
        return np.asarray((rows @ self.by_leaf).toarray(), dtype=np.float64)


def steps(trees: Sequence[Tree], features: int) -> Steps:
    """Work out the contributions of every leaf.

    Parameters
    ----------
    trees : sequence of Tree
        Of a booster.
    features : int
        Number of features.
    """
    leaf, feature, step = [], [], []
    first, count = [], 0
    for tree in trees:
        first.append(count)
        for at, (path_features, path_steps) in enumerate(_paths(tree)):
            leaf += [count + at] * len(path_features)
            feature += path_features
            step += path_steps
        count += len(tree.value)
    held = sparse.csr_matrix((step, (leaf, feature)), shape=(count, features))
    return Steps(held, np.array(first, np.int64))


def _paths(tree: Tree) -> list[tuple[list[int], list[float]]]:
    """Features and steps on the way to each leaf."""
    out: list[tuple[list[int], list[float]]] = [([], []) for _ in tree.value]
    if not tree.feature:
        return out
    mean = _means(tree)
    waiting: list[tuple[int, list[int], list[float]]] = [(0, [], [])]
    while waiting:
        node, features, path = waiting.pop()
        for child in (tree.left[node], tree.right[node]):
            reached = tree.value[-1 - child] if child < 0 else mean[child]
            way = ([*features, tree.feature[node]], [*path, reached - mean[node]])
            if child < 0:
                out[-1 - child] = way
            else:
                waiting.append((child, *way))
    return out


def _means(tree: Tree) -> list[float]:
    """Mean value of the training rows below each inner node."""
    mean, rows = [0.0] * len(tree.feature), [0.0] * len(tree.feature)
    for node in reversed(range(len(tree.feature))):
        total = 0.0
        for child in (tree.left[node], tree.right[node]):
            number = tree.count[-1 - child] if child < 0 else rows[child]
            total += number * (tree.value[-1 - child] if child < 0 else mean[child])
            rows[node] += number
        mean[node] = total / rows[node]
    return mean
