"""How sure the recogniser and the NLU were: ASR confidence, n-best margin and entropy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import Candidates, list_offsets
from features.neighbours import masked, shift
from features.occurrences import groups
from features.timeline import Timeline

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pooled:
    """Candidates of a turn that say the same, pooled. All arrays have shape (m,), one entry a hypothesis.

    `origin` is the entry of the turn's first hypothesis that says the same; the others are columns of
    Signals.
    """

    first: npt.NDArray[np.bool_]
    mass: F64
    rank: I64
    share: F64
    repeats: I64
    origin: I64


def pool(candidates: Candidates) -> Pooled:
    """Sum the scores of hypotheses that say the same, and rank the distinct ones by it.

    A missing score counts as 0 in `mass`; `share` is NaN where the turn's scores sum to 0. Ties keep n-best
    order.
    """
    m = len(candidates)
    if m == 0:
        empty = np.zeros(0)
        none = np.zeros(0, np.int64)
        return Pooled(np.zeros(0, bool), empty, none, empty, none, none)
    score = np.nan_to_num(candidates.score)
    group = groups(candidates.turn, candidates.candidate_id)
    # Groups are numbered as they come, so each begins where the highest number so far rises.
    first = np.diff(np.maximum.accumulate(group), prepend=-1) > 0
    origin = np.flatnonzero(first)[group]
    mass = np.asarray(np.bincount(group, weights=score)[group], dtype=np.float64)
    repeats = np.bincount(group)[group]
    total = np.bincount(candidates.turn, weights=score)[candidates.turn]
    share = np.divide(mass, total, out=np.full(m, np.nan), where=total > 0)
    return Pooled(first, mass, _rank(candidates, first, mass)[origin], share, repeats, origin)


def _rank(candidates: Candidates, first: npt.NDArray[np.bool_], mass: F64) -> I64:
    """Rank of each distinct candidate of a turn, at its first hypothesis; at the others it means nothing."""
    rows = np.flatnonzero(first)
    turn = candidates.turn[rows]
    # Both sorts are stable, so ties keep n-best order; a turn's candidates stay in its places.
    order = np.lexsort((-mass[rows], turn))
    starts = np.searchsorted(turn, turn, "left")
    rank = np.zeros(len(candidates), np.int64)
    rank[rows[order]] = np.arange(len(rows)) - starts
    return rank


def nbest(candidates: Candidates, pooled: Pooled, line: Timeline) -> dict[str, pa.Array]:
    """Best score, margin and entropy per turn, over distinct candidates.

    `top_score` is null without a scored hypothesis, `score_margin` with fewer than two distinct candidates,
    `score_entropy` (nats) where no score is above 0.
    """
    n = len(line)
    turn = candidates.turn
    distinct = np.bincount(turn, weights=pooled.first, minlength=n).astype(np.int64)
    top = np.full(n, np.nan)
    has = np.diff(candidates.offsets) > 0
    top[has] = candidates.score[candidates.offsets[:-1][has]]
    ranked = np.zeros((n, 2))
    for k in (0, 1):
        at = pooled.first & (pooled.rank == k)
        ranked[turn[at], k] = pooled.mass[at]
    p = np.where(pooled.first & (pooled.share > 0), pooled.share, 1.0)
    entropy = np.bincount(turn, weights=-p * np.log(p), minlength=n)
    scored = np.bincount(turn, weights=pooled.share > 0, minlength=n) > 0
    top_score = masked(top, ~np.isnan(top), pa.float32())
    return {
        "top_score": top_score,
        "top_score_next": shift(top_score, line, 1),
        "score_margin": masked(ranked[:, 0] - ranked[:, 1], distinct > 1, pa.float32()),
        "score_entropy": masked(entropy, scored, pa.float32()),
        "candidates_distinct": pa.array(distinct, pa.int32()),
    }


def asr(hypotheses: pa.Array, line: Timeline) -> dict[str, pa.Array]:
    """Best recognition confidence, its margin, and how many hypotheses; null where none was logged."""
    offsets = list_offsets(hypotheses)
    confidence = hypotheses.flatten().field("confidence").to_numpy(zero_copy_only=False).astype(np.float64)
    count = np.diff(offsets)
    best = np.full(len(line), np.nan)
    second = np.full(len(line), np.nan)
    best[count > 0] = confidence[offsets[:-1][count > 0]]
    second[count > 1] = confidence[offsets[:-1][count > 1] + 1]
    margin = best - second
    own = masked(best, ~np.isnan(best), pa.float32())
    return {
        "asr_confidence": own,
        "asr_confidence_next": shift(own, line, 1),
        "asr_margin": masked(margin, ~np.isnan(margin), pa.float32()),
        "asr_hypotheses": pc.if_else(hypotheses.is_valid(), pa.array(count, pa.int32()), pa.scalar(None, pa.int32())),
    }
