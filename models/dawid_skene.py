"""How much each labelling function is worth, found from the votes alone (Dawid and Skene 1979), by EM.

Every function has a confusion matrix: how often it answers what, given the truth. Truth and matrices are estimated in
turn, from the majority vote on. The method takes the functions to be independent given the truth; where two say the
same, it takes that for agreement of strangers.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# Steps at most, and the gain of the mean log-likelihood below which the last is reached. Equal rows are worked out
# once, so steps cost little, and EM creeps at its end.
STEPS: Final = 1_000
TOLERANCE: Final = 1e-9
# So that an answer never seen is unlikely, not impossible.
_LEAST: Final = 1e-10


def dawid_skene(answers: I64, start: F64, steps: int = STEPS) -> F64:
    """Probability of each class for each task, shape (n, classes).

    Parameters
    ----------
    answers : numpy.ndarray of int64, shape (n, workers)
        Each worker's answer, from 0; -1 = none given. To abstain can be an answer like any other: for a function that
        only ever says one thing, whether it speaks at all is what it tells.
    start : numpy.ndarray, shape (n, classes)
        Where to begin: shares of votes, say. Rows sum to 1.
    steps : int
        Most steps.
    """
    patterns, row = np.unique(answers, axis=0, return_inverse=True)
    row = row.ravel()
    weight = np.bincount(row, minlength=len(patterns)).astype(np.float64)
    belief = np.zeros((len(patterns), start.shape[1]))
    np.add.at(belief, row, start)
    belief /= np.maximum(weight, 1.0)[:, None]
    given = _one_hot(patterns)
    before = -np.inf
    for _ in range(steps):
        prior = (weight @ belief) / weight.sum()
        joint = _log_joint(given, belief * weight[:, None], prior)
        top = joint.max(axis=1, keepdims=True)
        evidence = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
        belief = np.exp(joint - evidence[:, None])
        likelihood = float(weight @ evidence) / float(weight.sum())
        if likelihood - before < TOLERANCE:
            break
        before = likelihood
    return np.asarray(belief[row], dtype=np.float64)


def _one_hot(patterns: I64) -> F64:
    """Which answers each pattern gives, shape (patterns, workers, answers); all 0 where none was given."""
    kinds = int(patterns.max(initial=0)) + 1
    return np.asarray(patterns[:, :, None] == np.arange(kinds), dtype=np.float64)


def _log_joint(given: F64, counted: F64, prior: F64) -> F64:
    """Log-probability of each pattern together with each class, shape (patterns, classes)."""
    confusion = np.einsum("pwa,pc->wca", given, counted)
    total = confusion.sum(axis=2, keepdims=True)
    rates = np.where(total > 0, confusion / np.maximum(total, _LEAST), 0.0)
    logs = np.log(np.maximum(rates, _LEAST))
    joint: F64 = np.einsum("pwa,wca->pc", given, logs) + np.log(np.maximum(prior, _LEAST))
    return joint
