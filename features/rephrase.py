"""Rephrase: the user says nearly the same again, soon.

Contextual rephrase detection uses text and the time gap over several turns (methods.md section 1; Park et al.
2021, arXiv 2010.12251, list rephrase among the dissatisfaction signals).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.neighbours import masked
from features.text import F32, distinct, likeness, likeness_held, token_count
from features.timeline import Mask, Timeline

# A rephrase further away than this is a new request more often than a repair.
REPHRASE_TURNS: Final = 3
REPHRASE_GAP_S: Final = 60.0


@dataclass(frozen=True)
class Ahead:
    """The turns `offset` ahead, and how like they are. All arrays have shape (n,).

    Attributes
    ----------
    offset : int
        Turns ahead.
    row : numpy.ndarray of int64
        Row of the later turn; the row itself where there is none.
    exists, near : numpy.ndarray of bool
        Whether there is one in the session, and whether it also starts within the time gap.
    seconds, like : numpy.ndarray
        How long after, and likeness of the words; 0 where it was not looked at.
    """

    offset: int
    row: npt.NDArray[np.int64]
    exists: Mask
    near: Mask
    seconds: npt.NDArray[np.float64]
    like: F32


def look_ahead(
    normalised: pa.Array, line: Timeline, turns: int = REPHRASE_TURNS, gap: float = REPHRASE_GAP_S
) -> list[Ahead]:
    """Compare each utterance with the next ones: the first whatever its gap, the others where they are near.

    Parameters
    ----------
    normalised : pyarrow.StringArray
        Normalised utterances, shape (n,).
    line : Timeline
        Sessions, n turns.
    turns : int
        How many turns to look ahead.
    gap : float
        Seconds; the bound counts as near.
    """
    words = distinct(normalised)
    out = []
    for k in range(1, turns + 1):
        row, exists = line.neighbour(k)
        apart = line.seconds[row] - line.seconds
        near = exists & (apart <= gap)
        compared = exists if k == 1 else near
        other = pa.DictionaryArray.from_arrays(
            pc.if_else(pa.array(compared), words.indices.take(pa.array(row)), None), words.dictionary
        )
        like = np.nan_to_num(likeness_held(words, other, likeness))
        out.append(Ahead(k, row, exists, near, apart, like))
    return out


def rephrase(normalised: pa.Array, line: Timeline, ahead: Sequence[Ahead]) -> dict[str, pa.Array]:
    """Likeness of each utterance to the next ones.

    `rephrase_next` looks at the next turn whatever its gap. `rephrase_best` is the highest likeness among the turns
    that are near; the nearest wins a tie. It is null where none is.

    Parameters
    ----------
    normalised : pyarrow.StringArray
        Normalised utterances, shape (n,).
    line : Timeline
        Sessions, n turns.
    ahead : sequence of Ahead
        From `look_ahead`, nearest first.
    """
    n = len(line)
    best = np.full(n, -1.0, np.float32)
    offset = np.zeros(n, np.int64)
    seconds = np.zeros(n, np.float64)
    for later in ahead:
        better = later.near & (later.like > best)
        best[better], offset[better], seconds[better] = later.like[better], later.offset, later.seconds[better]
    reached = best >= 0
    following = ahead[0]
    before, has_previous = line.neighbour(-1)
    return {
        "utterance_tokens": token_count(normalised),
        "rephrase_before": masked(following.like[before], has_previous, pa.float32()),
        "rephrase_next": masked(following.like, following.exists, pa.float32()),
        "rephrase_best": masked(best, reached, pa.float32()),
        "rephrase_offset": masked(offset, reached, pa.int32()),
        "rephrase_gap": masked(seconds, reached, pa.float32()),
    }
