"""The interpretation that ended the friction: what the user settled on after rephrasing, denying or correcting.

What a rephrase that satisfied was taken for is the label of the request that it repairs (self-annotation by paraphrase,
Falke et al. 2020); over several turns the chain of them is followed to its end (reformulation chains, Ponnusamy et al.
2019, arXiv 1911.02557).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from features.asked import REPHRASE_LIKENESS, Asked
from features.interpretation import Candidates
from features.rephrase import Ahead

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Chains:
    """Where the friction after each of n turns ends.

    Attributes
    ----------
    end : numpy.ndarray of int64, shape (n,)
        Row of the first turn, from the turn itself on, that no friction follows.
    told : numpy.ndarray of bool, shape (n,)
        Whether friction follows the turn, and ended with a request within the horizon.
    """

    end: I64
    told: Mask


def chains(ahead: Ahead, denies: Mask, requests: Mask, horizon: int, likeness: float = REPHRASE_LIKENESS) -> Chains:
    """Follow each turn to where the friction after it ends.

    Friction follows a turn where the next one is near (`Ahead`) and repeats it (`likeness` counts as alike) or denies
    it. After a denial that asks for nothing ("no") the chain goes on to the next turn that is near, where the wish is
    said again; no chain starts at such a turn.

    Parameters
    ----------
    ahead : Ahead
        The next turn, n turns.
    denies : numpy.ndarray of bool, shape (n,)
        Whether each turn's words deny, correct or complain.
    requests : numpy.ndarray of bool, shape (n,)
        Whether each turn has a leading hypothesis that is a request and no act of the dialog.
    horizon : int
        Turns; an end further away says nothing.
    likeness : float
    """
    n = len(denies)
    bare = denies & ~requests
    linked = ahead.near & ((ahead.like >= likeness) | denies[ahead.row] | bare)
    rows = np.arange(n, dtype=np.int64)
    end = np.minimum.accumulate(np.where(linked, n, rows)[::-1])[::-1]
    told = linked & ~bare & (end - rows <= horizon)
    # The last turn of a session is never linked, so every end is a row.
    return Chains(end, told & requests[end])


def ends_friction(candidates: Candidates, wanted: Asked, found: Chains) -> npt.NDArray[np.float32]:
    """Whether each candidate is what the friction after its turn ended with, shape (k,).

    NaN where nothing tells (`Chains.told`), and where none of the candidates asked about at the turn is it: then the
    user went on to something else, which speaks against no reading.
    """
    lead = candidates.offsets[:-1][found.end[wanted.turn]]
    # Where nothing is told there may be no leading hypothesis; the place is then any that there is.
    lead = np.minimum(lead, max(len(candidates) - 1, 0))
    settled = found.told[wanted.turn] & (candidates.candidate_id[lead] == candidates.candidate_id[wanted.entry])
    known = np.zeros(len(found.told), bool)
    known[wanted.turn[settled]] = True
    return np.where(known[wanted.turn], settled, np.nan).astype(np.float32)
