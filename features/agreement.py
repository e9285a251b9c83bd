"""Intent signals: what the session's other interpretations, and its confirmations, say of each candidate.

The idea is self-annotation by what the user settles on (Falke et al. 2020; Park et al. 2021, arXiv 2010.12251): an
interpretation that later turns repeat, or that a later confirmation affirms, is what was meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numpy.dtypes import StringDType

from features.confidence import Pooled
from features.hashing import strings
from features.interpretation import Candidates
from features.text import likeness
from features.timeline import Timeline

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

# How many turns away evidence still speaks of the same wish.
HORIZON: Final = 10


@dataclass(frozen=True)
class Occurrences:
    """Where each key occurs in each session, searchable by position."""

    keys: I64
    code: I64
    cumulative: F64
    stride: int
    horizon: int

    @staticmethod
    def of(session: I64, position: I64, key: I64, weight: F64, horizon: int) -> Occurrences:
        """Index the occurrences of `key`; all arguments have shape (m,)."""
        stride = int(position.max(initial=0)) + 2 * horizon + 2
        order = np.lexsort((position, key, session))
        pairs = _pairs(session[order], key[order])
        group = np.cumsum(np.concatenate([[True], pairs[1:] != pairs[:-1]])) - 1 if len(order) else pairs
        code = group * stride + position[order] + horizon
        sums = np.concatenate([[0.0], np.cumsum(weight[order])])
        first = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]])) if len(order) else group
        return Occurrences(pairs[first], code, sums, stride, horizon)

    def window(self, session: I64, position: I64, key: I64, after: bool) -> tuple[I64, F64, I64]:
        """Count, summed weight and first offset (0 = none) of a key's occurrences before or after a position.

        The turn itself is never counted.
        """
        if not len(self.keys):
            zero = np.zeros(len(key), np.int64)
            return zero, zero.astype(np.float64), zero
        wanted = _pairs(session, key)
        group = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        known = self.keys[group] == wanted
        here = group * self.stride + position + self.horizon
        if after:
            low = np.searchsorted(self.code, here, "right")
            high = np.searchsorted(self.code, here + self.horizon, "right")
        else:
            low = np.searchsorted(self.code, here - self.horizon, "left")
            high = np.searchsorted(self.code, here, "left")
        low, high = np.where(known, low, 0), np.where(known, high, 0)
        found = high > low
        offset = np.where(found, self.code[np.minimum(low, len(self.code) - 1)] - here, 0)
        return high - low, self.cumulative[high] - self.cumulative[low], offset


def _pairs(session: I64, key: I64) -> npt.NDArray[np.void]:
    """(session, key) as one sortable value, in the order of a lexsort on both."""
    out = np.empty(len(key), dtype=[("session", np.int64), ("key", np.int64)])
    out["session"], out["key"] = session, key
    return out


@dataclass(frozen=True)
class Windows:
    """For each candidate, the turns of its session within the horizon that satisfy a mask, as flat pairs."""

    candidate: I64
    turn: I64


def pairs_within(line: Timeline, mask: npt.NDArray[np.bool_], turn: I64, first: int, last: int) -> Windows:
    """Pairs (candidate, turn j) with `mask[j]`, j in the candidate's session and first <= j - its turn <= last."""
    marked = np.flatnonzero(mask)
    start = line.starts[turn]
    low = np.searchsorted(marked, np.maximum(turn + first, start), "left")
    high = np.searchsorted(marked, np.minimum(turn + last, start + line.length[turn] - 1), "right")
    count = np.maximum(high - low, 0)
    owner = np.repeat(np.arange(len(turn)), count)
    inside = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    return Windows(owner, marked[np.repeat(low, count) + inside])


def says(values: npt.NDArray[np.object_], texts: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Whether each text holds each value as whole words; an empty value is never said."""
    spaced = (" " + values + " ").astype(StringDType())
    held = np.strings.find((" " + texts + " ").astype(StringDType()), spaced) >= 0
    return np.asarray(held & (values != ""), dtype=bool)


def candidate_evidence(
    candidates: Candidates,
    pooled: Pooled,
    line: Timeline,
    response: pa.Array,
    confirmation: pa.Array,
    horizon: int = HORIZON,
) -> dict[str, npt.NDArray[np.generic]]:
    """Evidence for each candidate from the session around it.

    Parameters
    ----------
    candidates : Candidates
        m hypotheses of n turns.
    pooled : Pooled
        The same, pooled by what they say.
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
        The evidence columns of `schemas.signals.CANDIDATE_COLUMNS`, each of shape (m,).
    """
    turn = candidates.turn
    session, position = line.session[turn], line.position[turn]
    once = pooled.first
    lead = np.zeros(len(candidates), bool)
    lead[candidates.offsets[:-1][np.diff(candidates.offsets) > 0]] = True

    def index(mask: npt.NDArray[np.bool_], key: I64, weight: F64) -> Occurrences:
        return Occurrences.of(session[mask], position[mask], key[mask], weight[mask], horizon)

    tops = index(lead, candidates.candidate_id, np.ones(len(turn)))
    frames = index(lead, candidates.frame_id, np.ones(len(turn)))
    masses = index(once, candidates.candidate_id, pooled.mass)
    later_top, _, support = tops.window(session, position, candidates.candidate_id, after=True)
    earlier_top, _, _ = tops.window(session, position, candidates.candidate_id, after=False)
    same_frame, _, _ = frames.window(session, position, candidates.frame_id, after=True)
    _, later_mass, _ = masses.window(session, position, candidates.candidate_id, after=True)
    _, earlier_mass, _ = masses.window(session, position, candidates.candidate_id, after=False)
    out: dict[str, npt.NDArray[np.generic]] = {
        "earlier_top": earlier_top,
        "earlier_mass": earlier_mass,
        "later_top": later_top,
        "later_mass": later_mass,
        "later_frame": same_frame - later_top,
        "support_offset": support,
    }
    out |= _echoes(candidates, line, strings(response), confirmation, horizon)
    out["next_value_similarity"] = _next_values(candidates, line)
    return out


def _echoes(
    candidates: Candidates,
    line: Timeline,
    response: npt.NDArray[np.object_],
    confirmation: pa.Array,
    horizon: int,
) -> dict[str, npt.NDArray[np.generic]]:
    """Answers that say a candidate's values, and how the confirmations among them ended."""
    turn, m = candidates.turn, len(candidates)
    values = candidates.values
    outcome = confirmation.fill_null(0).to_numpy()

    def count(mask: npt.NDArray[np.bool_], first: int, last: int) -> I64:
        near = pairs_within(line, mask, turn, first, last)
        said = says(values[near.candidate], response[near.turn])
        return np.bincount(near.candidate[said], minlength=m)

    return {
        "echo": says(values, response[turn]),
        "affirmed_after": count(outcome > 0, 0, horizon),
        "denied_after": count(outcome < 0, 0, horizon),
        "affirmed_before": count(outcome > 0, -horizon, -1),
        "denied_before": count(outcome < 0, -horizon, -1),
        "later_echo": count(response != "", 1, horizon),
    }


def _next_values(candidates: Candidates, line: Timeline) -> npt.NDArray[np.float32]:
    """Likeness of a candidate's values to the next turn's best hypothesis' values; NaN where either has none."""
    following, exists = line.neighbour(1)
    lead = candidates.offsets[:-1][following]
    exists = exists & (np.diff(candidates.offsets)[following] > 0)
    out = np.full(len(candidates), np.nan, np.float32)
    rows = np.flatnonzero(exists[candidates.turn])
    other = candidates.values[lead[candidates.turn[rows]]] if len(rows) else np.zeros(0, object)
    spoken = (candidates.values[rows] != "") & (other != "")
    rows, other = rows[spoken], other[spoken]
    out[rows] = likeness(candidates.values[rows].tolist(), other.tolist())
    return out


def next_agreement(candidates: Candidates, line: Timeline) -> dict[str, pa.Array]:
    """Whether the next turn's best hypothesis says the same, or has the same frame; null where either has none."""
    n = len(line)
    following, exists = line.neighbour(1)
    has = np.diff(candidates.offsets) > 0
    both = exists & has & has[following]
    rows = np.flatnonzero(both)
    lead, other = candidates.offsets[:-1][rows], candidates.offsets[:-1][following[rows]]
    out = {}
    for name, key in (("same_interpretation_next", candidates.candidate_id), ("same_frame_next", candidates.frame_id)):
        equal = np.zeros(n, bool)
        equal[rows] = key[lead] == key[other]
        out[name] = pa.array(equal, mask=~both)
    return out
