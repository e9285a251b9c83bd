"""Thresholds by domain: proved on a domain's own gold where that suffices, else on pooled gold, else estimated.

What a domain gets, the first that holds:

1. `domain`: its own later gold, one turn a subject, proves the wished precision (`models.certify.certify`).
2. `pooled`: the later gold of the domains without a proof of their own proves it for them together. That is a statement
   about their mixture as it was labelled, not about each.
3. `abstain`: its gold is enough for a proof, or refutes the pooled threshold, and no threshold reaches the wish:
   nothing is taken.
4. `estimated`: chosen on earlier gold, its own where it has enough or that refutes the pooled one; not proved.
5. `option`: there is no gold, or too little to tell; an option says it.

A domain that training has not seen is `unknown`: it gets the pooled threshold and is never certified.

Each proof holds with 95% confidence for what it is about. No correction is made for the number of domains: of a hundred
domains that miss the wished precision up to five are called certified. Whoever needs all to hold at once asks for more
than the wished precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from models.certify import CONFIDENCE, Threshold, certify, least_labels, one_per_subject
from models.metrics import clopper_pearson_high
from schemas.judgement import NO_DOMAIN

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Names = npt.NDArray[np.object_]
# Scores, labels, wished precision, fallback; to a threshold.
Estimator = Callable[[F64, F64, float, float], float]

# No probability reaches it, and no lead; see `models.correction.rounded`.
ABSTAIN: Final = 1.0
UNKNOWN: Final = "unknown"


@dataclass(frozen=True)
class Limits:
    """What is known of each row's threshold.

    Attributes
    ----------
    value : numpy.ndarray, shape (n,)
        Rows at or above it are taken.
    certified_at : numpy.ndarray, shape (n,)
        Taken rows at or above it are certified; infinite where nothing is proved.
    basis : pyarrow.StringArray
        One of `schemas.judgement.BASES`.
    """

    value: F64
    certified_at: F64
    basis: pa.StringArray

    def certifies(self, score: F64) -> Mask:
        """Whether each score is taken and certified, shape (n,)."""
        return np.asarray((score >= self.value) & (score >= self.certified_at), dtype=bool)


@dataclass(frozen=True)
class Thresholds:
    """The pooled threshold, and that of each domain that training has seen."""

    pooled: Threshold
    domains: Mapping[str, Threshold] = field(default_factory=dict)

    def look_up(self, domain: pa.Array | pa.ChunkedArray) -> Limits:
        """The threshold of each row by its domain; null is a domain of its own, `NO_DOMAIN`.

        Parameters
        ----------
        domain : pyarrow.StringArray
            n domains.
        """
        names = pc.fill_null(flat(domain).cast(pa.string()), NO_DOMAIN)
        # A name that is not there gives the last entry, that of unknown domains.
        at = pc.index_in(names, value_set=pa.array(self.domains, pa.string())).fill_null(len(self.domains)).to_numpy()
        held = [*self.domains.values(), replace(self.pooled, certified_at=None, basis=UNKNOWN)]
        value = np.array([t.value for t in held], np.float64)
        proved = np.array([np.inf if t.certified_at is None else t.certified_at for t in held], np.float64)
        basis = pa.array([t.basis for t in held], pa.string())
        return Limits(value[at], proved[at], basis.take(pa.array(at)))


@dataclass(frozen=True)
class Scored:
    """Rows that a decision may take, with what decides; shapes (n,).

    Attributes
    ----------
    score, truth : numpy.ndarray
        Truth in [0, 1]; NaN = no gold.
    may : numpy.ndarray of bool
        Rows that the decision is about.
    early : numpy.ndarray of bool
        Rows that may have been trained on.
    domain, subject, turn_id : numpy.ndarray of object
    """

    score: F64
    truth: F64
    may: Mask
    early: Mask
    domain: Names
    subject: Names
    turn_id: Names

    @cached_property
    def known(self) -> Mask:
        """Rows with gold."""
        return self.may & ~np.isnan(self.truth)

    def of(self, domain: str) -> Mask:
        """Rows of a domain."""
        number, names = self._numbered
        return np.asarray(number == names[domain], dtype=bool)

    def domains(self, at: Mask) -> set[str]:
        """Domains of some rows."""
        number, names = self._numbered
        there = set(np.unique(number[at]).tolist())
        return {name for name, k in names.items() if k in there}

    @cached_property
    def _numbered(self) -> tuple[npt.NDArray[np.int64], dict[str, int]]:
        """Each row's domain as a number, as texts are slow to compare; and the number of each domain."""
        number, names = pd.factorize(self.domain)
        return number, {str(name): k for k, name in enumerate(names)}


def fit_thresholds(rows: Scored, wished: float, option: float, by: Estimator) -> Thresholds:
    """Estimate thresholds on earlier gold, then prove them on later gold.

    A domain has a threshold of its own where its earlier gold would suffice for a proof without an error
    (`least_labels` subjects with a turn at or above `option`), or where it refutes the pooled one with 95% confidence.

    Parameters
    ----------
    rows : Scored
    wished : float
        Precision.
    option : float
        Threshold where there is too little gold to tell.
    by : callable
        `models.certify.estimate` or `estimate_each`.
    """
    pooled = _estimated(rows, rows.known, wished, by) or _without(rows, wished, option)
    found = dict.fromkeys(sorted(rows.domains(rows.early)), pooled)
    for name in found.keys() & rows.domains(rows.known):
        found[name] = _of_domain(rows, rows.of(name), wished, option, pooled, by)
    tested = _tested_together(rows, found)
    together = _proved(rows, tested, pooled)
    if together.certified_at is None:
        return Thresholds(pooled, found)
    took_part = rows.domains(tested)
    return Thresholds(
        replace(together, basis="pooled"),
        {d: _shared(t, together) if d in took_part else t for d, t in found.items()},
    )


def _of_domain(rows: Scored, of: Mask, wished: float, option: float, pooled: Threshold, by: Estimator) -> Threshold:
    """The threshold that a domain's own gold gives; the pooled one where it is too little and does not refute it."""
    at = of & rows.known
    tells = _enough(rows, at, wished, option) or _refutes(rows, at, pooled)
    chosen = (_estimated(rows, at, wished, by) or Threshold(ABSTAIN, wished, basis="abstain")) if tells else pooled
    proved = _proved(rows, at & ~rows.early, chosen)
    return chosen if proved.certified_at is None else replace(proved, basis="domain")


def _estimated(rows: Scored, known: Mask, wished: float, by: Estimator) -> Threshold | None:
    """The threshold that some earlier rows of gold give; None where none reaches the wish."""
    at = known & rows.early
    value = by(rows.score[at], rows.truth[at], wished, np.nan)
    return None if np.isnan(value) else Threshold(value, wished)


def _refutes(rows: Scored, known: Mask, pooled: Threshold) -> bool:
    """Whether the earlier of some rows of gold, one turn a subject, show that the pooled threshold misses the wish.

    A domain that is unlike the others would otherwise hide among them. Later gold is not asked, so that the proof on it
    stays one.
    """
    taken = np.flatnonzero(known & rows.early & (rows.score >= pooled.value))
    picked = taken[one_per_subject(rows.subject[taken], rows.turn_id[taken])]
    right = int((rows.truth[picked] >= 0.5).sum())
    return clopper_pearson_high(right, len(picked), CONFIDENCE) < pooled.wished


def _without(rows: Scored, wished: float, option: float) -> Threshold:
    """Where no threshold reaches the wish: nothing is taken, if there is enough gold to say so."""
    if _enough(rows, rows.known, wished, option):
        return Threshold(ABSTAIN, wished, basis="abstain")
    return Threshold(option, wished, basis="option")


def _enough(rows: Scored, known: Mask, wished: float, option: float) -> bool:
    """Whether the earlier of some rows of gold would suffice for a proof without an error."""
    taken = known & rows.early & (rows.score >= option)
    return len(set(rows.subject[taken].tolist())) >= least_labels(wished)


def _proved(rows: Scored, at: Mask, chosen: Threshold) -> Threshold:
    """Test a threshold, and those stricter than it, on some later rows of gold."""
    if chosen.basis == "abstain":
        return chosen
    found = certify(
        rows.score[at], rows.truth[at] >= 0.5, rows.subject[at], rows.turn_id[at], chosen.wished, chosen.value
    )
    return replace(found, basis=chosen.basis)


def _tested_together(rows: Scored, found: Mapping[str, Threshold]) -> Mask:
    """Later rows of gold that are taken, of domains that have no proof of their own.

    Labels decide who stays in, but they can only make the proof harder: the domains that leave are those whose labels
    looked best.
    """
    out = np.zeros(len(rows.score), bool)
    for name, threshold in found.items():
        if threshold.basis not in ("domain", "abstain"):
            out |= rows.of(name) & (rows.score >= threshold.value)
    return out & ~rows.early & rows.known


def _shared(own: Threshold, together: Threshold) -> Threshold:
    """A domain's threshold with the proof that it shares with others."""
    return replace(together, value=own.value, basis="pooled")
