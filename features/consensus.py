"""How much of the turn's own n-best supports a candidate: near misses of one wish speak for each other."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz, process

from features.confidence import Pooled
from features.interpretation import Candidates

# Candidates further apart than this in a turn's list are not compared: the tail of an n-best has next to no
# score, and the cost stays linear in the list's length.
NEAR: Final = 4


def consensus(candidates: Candidates, pooled: Pooled, near: int = NEAR) -> dict[str, npt.NDArray[np.float64]]:
    """Support from the distinct candidates of the same turn that have the same frame and like values.

    `kin_mass` is the candidate's own mass plus that of its kin, each weighted by the likeness of their slot
    values (rapidfuzz's ratio, in [0, 1]); `kin` is the highest likeness, 0 without kin. A repeat has the
    figures of the hypothesis it repeats. Never null.

    Parameters
    ----------
    candidates : Candidates
        m hypotheses.
    pooled : Pooled
        The same, pooled by what they say.
    near : int
        How many places apart two distinct candidates of a list may stand to be compared.
    """
    rows = np.flatnonzero(pooled.first)
    turn, frame, mass = candidates.turn[rows], candidates.frame_id[rows], pooled.mass[rows]
    values = candidates.values[rows]
    support, nearest = mass.copy(), np.zeros(len(rows))
    for apart in range(1, near + 1):
        left = np.flatnonzero((turn[apart:] == turn[:-apart]) & (frame[apart:] == frame[:-apart]))
        right = left + apart
        like = process.cpdist(values[left].tolist(), values[right].tolist(), scorer=fuzz.ratio, dtype=np.float64)
        like = np.asarray(like, dtype=np.float64) / 100.0
        support[left] += like * mass[right]
        support[right] += like * mass[left]
        nearest[left] = np.maximum(nearest[left], like)
        nearest[right] = np.maximum(nearest[right], like)
    place = np.zeros(len(candidates), np.int64)
    place[rows] = np.arange(len(rows))
    of_first = place[pooled.origin]
    return {"kin_mass": support[of_first], "kin": nearest[of_first]}
