"""Intent signals: what the session's other interpretations say of each candidate.

The idea is self-annotation by what the user settles on (Falke et al. 2020; Park et al. 2021, arXiv
2010.12251): an interpretation that later turns repeat, or that a later confirmation affirms, is what was
meant.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.asked import Asked
from features.confidence import Pooled
from features.echo import echoes
from features.hashing import strings
from features.interpretation import Candidates
from features.occurrences import Occurrences, groups
from features.text import likeness
from features.timeline import Timeline

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

# How many turns away evidence still speaks of the same wish.
HORIZON: Final = 10


def candidate_evidence(
    candidates: Candidates,
    pooled: Pooled,
    wanted: Asked,
    line: Timeline,
    response: pa.Array,
    confirmation: pa.Array,
    horizon: int = HORIZON,
) -> dict[str, npt.NDArray[np.generic]]:
    """Evidence for each candidate from the session around its turn; the turn itself is never counted as its neighbour.

    Parameters
    ----------
    candidates : Candidates
        m hypotheses of n turns.
    pooled : Pooled
        The same, pooled by what they say.
    wanted : Asked
        The k candidates asked about.
    line : Timeline
        Sessions of the n turns.
    response : pyarrow.StringArray
        Normalised answers, shape (n,).
    confirmation : pyarrow.Int32Array
        How each answer's confirmation ended, shape (n,); see `features.acts.confirmation`.
    horizon : int
        Turns on either side.

    Returns
    -------
    dict of numpy.ndarray
        The evidence columns of `schemas.signals.CANDIDATE_COLUMNS`, each of shape (k,).
    """
    out = _repeats(candidates, pooled, wanted, line, horizon)
    out |= echoes(candidates, wanted, line, strings(response), confirmation, horizon)
    out["next_value_similarity"] = _next_values(candidates, wanted, line)
    return out


def _repeats(
    candidates: Candidates, pooled: Pooled, wanted: Asked, line: Timeline, horizon: int
) -> dict[str, npt.NDArray[np.generic]]:
    """How often, how strongly and how soon other turns of the session say the same, or use the same frame."""
    turn = candidates.turn
    position, longest = line.position[turn], int(line.length.max(initial=0))
    lead = np.zeros(len(candidates), bool)
    lead[candidates.offsets[:-1][np.diff(candidates.offsets) > 0]] = True
    same = groups(line.session[turn], candidates.candidate_id)
    frame = groups(line.session[turn], candidates.frame_id)
    one = np.ones(len(turn))
    here = line.position[wanted.turn]

    def index(mask: npt.NDArray[np.bool_], group: I64, weight: F64) -> Occurrences:
        return Occurrences.of(group[mask], position[mask], weight[mask], horizon, longest)

    tops, masses = index(lead, same, one), index(pooled.first, same, pooled.mass)
    same_asked, frame_asked = same[wanted.entry], frame[wanted.entry]
    later_top, _, support = tops.window(same_asked, here, 1, horizon)
    return {
        "earlier_top": tops.window(same_asked, here, -horizon, -1)[0],
        "earlier_mass": masses.window(same_asked, here, -horizon, -1)[1],
        "later_top": later_top,
        "later_mass": masses.window(same_asked, here, 1, horizon)[1],
        "later_frame": index(lead, frame, one).window(frame_asked, here, 1, horizon)[0] - later_top,
        "support_offset": support,
    }


def _next_values(candidates: Candidates, wanted: Asked, line: Timeline) -> npt.NDArray[np.float32]:
    """Likeness of a candidate's values to the next turn's best hypothesis' values; NaN where either has none."""
    following, exists = line.neighbour(1)
    exists = exists & (np.diff(candidates.offsets)[following] > 0)
    rows = np.flatnonzero(exists[wanted.turn] & (candidates.value_id[wanted.entry] != 0))
    other = candidates.offsets[:-1][following[wanted.turn[rows]]]
    spoken = candidates.value_id[other] != 0
    rows, other = rows[spoken], other[spoken]
    out = np.full(len(wanted), np.nan, np.float32)
    out[rows] = likeness(candidates.values[wanted.entry[rows]].tolist(), candidates.values[other].tolist())
    return out


def next_agreement(candidates: Candidates, line: Timeline) -> dict[str, pa.Array]:
    """Whether the next turn's best hypothesis says the same, or has the same frame; null where either has
    none.
    """
    n = len(line)
    following, exists = line.neighbour(1)
    has = np.diff(candidates.offsets) > 0
    both = exists & has & has[following]
    rows = np.flatnonzero(both)
    lead, other = candidates.offsets[:-1][rows], candidates.offsets[:-1][following[rows]]
    out = {}
    keys = {"same_interpretation_next": candidates.candidate_id, "same_frame_next": candidates.frame_id}
    for name, key in keys.items():
        equal = np.zeros(n, bool)
        equal[rows] = key[lead] == key[other]
        out[name] = pa.array(equal, mask=~both)
    return out
