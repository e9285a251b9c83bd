"""Rephrase: the user says nearly the same again, soon.

Contextual rephrase detection uses text and the time gap over several turns (methods.md section 1; Park et al.
2021, arXiv 2010.12251, list rephrase among the dissatisfaction signals).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from features.hashing import strings
from features.neighbours import masked
from features.text import likeness, token_count
from features.timeline import Timeline

# A rephrase further away than this is a new request more often than a repair.
REPHRASE_TURNS: Final = 3
REPHRASE_GAP_S: Final = 60.0


def rephrase(
    normalised: pa.Array, line: Timeline, turns: int = REPHRASE_TURNS, gap: float = REPHRASE_GAP_S
) -> dict[str, pa.Array]:
    """Likeness of each utterance to the next ones.

    `rephrase_next` looks at the next turn whatever its gap. `rephrase_best` is the highest likeness among the
    next `turns` turns that start within `gap` seconds (the bound counts as within); the nearest wins a tie.
    It is null where no turn is in reach.

    Parameters
    ----------
    normalised : pyarrow.StringArray
        Normalised utterances, shape (n,).
    line : Timeline
        Sessions, n turns.
    turns : int
        How many turns to look ahead.
    gap : float
        Seconds.
    """
    words = strings(normalised)
    n = len(line)
    best = np.full(n, -1.0, np.float32)
    offset = np.zeros(n, np.int64)
    seconds = np.zeros(n, np.float64)
    following = np.zeros(n, np.float32)
    for k in range(1, turns + 1):
        index, exists = line.neighbour(k)
        apart = line.seconds[index] - line.seconds
        near = exists & (apart <= gap)
        rows = np.flatnonzero(exists if k == 1 else near)
        like = np.zeros(n, np.float32)
        like[rows] = likeness(words[rows].tolist(), words[index[rows]].tolist())
        better = near & (like > best)
        best[better], offset[better], seconds[better] = like[better], k, apart[better]
        if k == 1:
            following = like
    reached = best >= 0
    _, has_next = line.neighbour(1)
    before, has_previous = line.neighbour(-1)
    return {
        "utterance_tokens": token_count(normalised),
        "rephrase_before": masked(following[before], has_previous, pa.float32()),
        "rephrase_next": masked(following, has_next, pa.float32()),
        "rephrase_best": masked(best, reached, pa.float32()),
        "rephrase_offset": masked(offset, reached, pa.int32()),
        "rephrase_gap": masked(seconds, reached, pa.float32()),
    }
