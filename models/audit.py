"""Precision, recall and prevalence from a stratified sample that people have judged, with intervals.

Turns are drawn within cells of (domain, decision), each turn of a cell with the same probability, so the share of a
cell is estimated by its sample's mean and a domain's, or the whole log's, by the mean of cells weighted by their turns
(Horvitz and Thompson 1952). What is estimated are shares of the finite log, not of a population behind it: how turns
hang together by user does not matter to that.

The interval: the cells of one decision are put together to a share and the number of turns that, drawn by themselves,
would tell it as well (Kish 1965; Korn and Graubard 1998 for its use with an exact interval). Each of the at most three
shares then has a lower and an upper confidence distribution, Beta(s + d, n - s + 1 - d) and Beta(s + 1 - d, n - s + d);
d = 0 gives Clopper and Pearson's, 1/2 Jeffreys'. A figure that rises with one share and falls with another, as recall
does, takes the one from its lower and the other from its upper distribution for its lower limit (melding; Fay, Proschan
and Brittain 2015). bench/audit.py measures how often the intervals cover, beside other methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from models.sampling import DECISIONS

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

CONFIDENCE: Final = 0.95
# Between Clopper and Pearson's interval, which covers too often, and Jeffreys', which now and then covers too rarely
# where a share is near 0 or 1.
DELTA: Final = 0.25
DRAWS: Final = 20_000
_SEED: Final = 20210


@dataclass(frozen=True)
class Strata:
    """Cells of the sample with what people said.

    Attributes
    ----------
    decision : numpy.ndarray of int64, shape (h,)
        Place in `DECISIONS`.
    size : numpy.ndarray of int64, shape (h,)
        Turns of the log in the cell.
    answered : numpy.ndarray of int64, shape (h,)
        Turns that people could judge. Those they could not are taken to be like the others of their cell.
    total : numpy.ndarray of float64, shape (h,)
        Sum over them of the share of raters who say yes.
    """

    decision: I64
    size: I64
    answered: I64
    total: F64

    def take(self, rows: npt.NDArray[np.bool_]) -> Strata:
        """Some of the cells."""
        return Strata(self.decision[rows], self.size[rows], self.answered[rows], self.total[rows])


@dataclass(frozen=True)
class Share:
    """A share over some cells.

    Attributes
    ----------
    size : int
        Turns of the log.
    answered : int
        Turns judged.
    share : float
        Estimate over the cells of which any turn was judged; NaN if none was.
    effective : float
        Turns drawn from the whole at random that would tell it as well; infinite where all were judged.
    unseen : float
        Share of the turns that lie in cells of which none was judged: of these anything may be true.
    """

    size: int
    answered: int
    share: float
    effective: float
    unseen: float


@dataclass(frozen=True)
class Figure:
    """An estimate with its interval, in [0, 1]; NaN, 0 and 1 where nothing is known."""

    value: float
    low: float
    high: float


def pooled(strata: Strata) -> Share:
    """The share over cells, weighted by their turns.

    The effective number is the smaller of two: that by weights alone (Kish), which supposes the same share in every
    cell, and that by the spread seen (Korn and Graubard), which is nothing to go by where few are positive.
    """
    seen = strata.answered > 0
    size, covered = int(strata.size.sum()), int(strata.size[seen].sum())
    if not covered:
        return Share(size, 0, float("nan"), 0.0, 1.0 if size else 0.0)
    n = strata.answered[seen].astype(np.float64)
    weight = strata.size[seen] / covered
    mean = strata.total[seen] / n
    share = float(weight @ mean)
    # Of a cell judged whole nothing is left to chance.
    left = weight**2 * (1.0 - n / strata.size[seen])
    by_weight, spread = float((left / n).sum()), float((left * mean * (1.0 - mean) / np.maximum(n - 1.0, 1.0)).sum())
    variance = share * (1.0 - share)
    by_spread = spread / variance if variance > 0.0 else 0.0
    worst = max(by_weight, by_spread)
    effective = 1.0 / worst if worst > 0.0 else float("inf")
    return Share(size, int(n.sum()), share, effective, 1.0 - covered / size)


def confidence_draws(share: Share, upper: bool, generator: np.random.Generator, delta: float, draws: int) -> F64:
    """Draws of a share from its lower or upper confidence distribution, shape (draws,)."""
    unknown = 1.0 if upper else 0.0
    if np.isnan(share.share):
        return np.full(draws, unknown)
    if np.isinf(share.effective):
        seen = np.full(draws, share.share)
    else:
        yes = share.share * share.effective
        no = share.effective - yes
        first, second = (yes + 1.0 - delta, no + delta) if upper else (yes + delta, no + 1.0 - delta)
        seen = _beta(first, second, generator, draws)
    return seen * (1.0 - share.unseen) + unknown * share.unseen


def _beta(first: float, second: float, generator: np.random.Generator, draws: int) -> F64:
    """Beta draws, with the points that it shrinks to where a parameter is 0."""
    if first <= 0.0 or second <= 0.0:
        return np.full(draws, 0.0 if first <= 0.0 else 1.0)
    return np.asarray(generator.beta(first, second, draws), dtype=np.float64)


def weighted(shares: list[Share], delta: float = DELTA, draws: int = DRAWS) -> Figure:
    """A share over several groups of turns, for example precision over the two ways of being judged defective."""
    size = sum(s.size for s in shares)
    if not size:
        return _figure(float("nan"), np.zeros(draws), np.ones(draws))
    known = [s for s in shares if s.size and not np.isnan(s.share)]
    value = _positives(known) / sum(s.size for s in known) if known else float("nan")
    low, high = (_total(shares, upper, delta, draws, 0) / size for upper in (False, True))
    return _figure(value, low, high)


def ratio(part: list[Share], rest: list[Share], delta: float = DELTA, draws: int = DRAWS) -> Figure:
    """Positives of `part` among those of `part` and `rest`: recall, where `part` was judged defective."""
    inside, outside = _positives(part), _positives(rest)
    both = inside + outside
    value = inside / both if both > 0.0 else float("nan")
    low = _ratio(_total(part, False, delta, draws, 0), _total(rest, True, delta, draws, 1), 0.0)
    high = _ratio(_total(part, True, delta, draws, 0), _total(rest, False, delta, draws, 1), 1.0)
    return _figure(value, low, high)


def _total(shares: list[Share], upper: bool, delta: float, draws: int, stream: int) -> F64:
    """Draws of how many turns are positive."""
    generator = np.random.default_rng([_SEED, stream])
    out = np.zeros(draws)
    for share in shares:
        if share.size:
            out += share.size * confidence_draws(share, upper, generator, delta, draws)
    return out


def _positives(shares: list[Share]) -> float:
    return float(sum(s.size * s.share for s in shares if s.size))


def _ratio(part: F64, rest: F64, where_none: float) -> F64:
    both = part + rest
    out = np.full(len(part), where_none)
    np.divide(part, both, out=out, where=both > 0.0)
    return out


def _figure(value: float, low: F64, high: F64) -> Figure:
    tail = (1.0 - CONFIDENCE) / 2.0
    lower, upper = float(np.quantile(low, tail)), float(np.quantile(high, 1.0 - tail))
    if np.isnan(value):
        return Figure(value, 0.0, 1.0)
    return Figure(value, min(lower, value), max(upper, value))


def defect_figures(strata: Strata, delta: float = DELTA, draws: int = DRAWS) -> dict[str, Figure]:
    """Precision and recall of the judgement, and prevalence of defects, over some cells.

    Parameters
    ----------
    strata : Strata
        What people said of "the interpretation is wrong".
    """
    shares = [pooled(strata.take(strata.decision == k)) for k in range(len(DECISIONS))]
    flagged, kept = shares[:2], shares[2:]
    return {
        "prevalence": weighted(shares, delta, draws),
        "precision": weighted(flagged, delta, draws),
        "recall": ratio(flagged, kept, delta, draws),
    }


def correction_precision(strata: Strata, delta: float = DELTA, draws: int = DRAWS) -> Figure:
    """Share of accepted corrections that are right.

    Parameters
    ----------
    strata : Strata
        What people said of "the correction is right"; only the cells of corrected turns count.
    """
    return weighted([pooled(strata.take(strata.decision == DECISIONS.index("corrected")))], delta, draws)
