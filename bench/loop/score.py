"""Scores of the loop: errors by domain, rows won and lost, the share of the oracle's gain, domains that got worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from models.metrics import auc as ranked

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Names = npt.NDArray[np.object_]

# Non-inferiority: a domain is worse where its error rises by more than one point; a domain of the test fold has
# some 60 rows, so less cannot be seen at all.
MARGIN: Final = 0.01
CONFIDENCE: Final = 0.95


@dataclass(frozen=True)
class Outcome:
    """Which test rows a model gets right, before and after, and what is best possible; shapes (n,)."""

    before: Mask
    after: Mask
    oracle: Mask

    @property
    def win(self) -> int:
        """Rows that were wrong and are right."""
        return int((~self.before & self.after).sum())

    @property
    def loss(self) -> int:
        """Rows that were right and are wrong."""
        return int((self.before & ~self.after).sum())

    @property
    def oracle_share(self) -> float:
        """Gain in rows right over the gain that all true labels give; 0 where these give none."""
        most = int(self.oracle.sum()) - int(self.before.sum())
        return (int(self.after.sum()) - int(self.before.sum())) / most if most > 0 else 0.0


def error_by_domain(right: Mask, domain: Names) -> dict[str, float]:
    """Share of each domain's rows that are wrong."""
    return {str(name): float((~right[domain == name]).mean()) for name in sorted(set(domain.tolist()))}


def rises(before: list[dict[str, float]], after: list[dict[str, float]]) -> dict[str, F64]:
    """Rise of each domain's error, one number a seed; of domains that every seed has."""
    shared = sorted(set.intersection(*(set(errors) for errors in before))) if before else []
    return {name: np.array([a[name] - b[name] for b, a in zip(before, after, strict=True)]) for name in shared}


def is_worse(rise: F64, margin: float = MARGIN) -> bool:
    """Whether the mean rise is above the margin with 95% confidence over the seeds (one-sided t test).

    One seed alone shows no spread and proves nothing.
    """
    if len(rise) < 2:
        return False
    error = float(rise.std(ddof=1)) / np.sqrt(len(rise))
    return bool(rise.mean() - student.ppf(CONFIDENCE, len(rise) - 1) * error > margin)


def precision(meant: I64, label: I64) -> float:
    """Share of labels that were meant; 0 where there is none."""
    return float((meant == label).mean()) if len(label) else 0.0


def auc(truth: Mask, value: F64) -> float:
    """Area under the ROC curve of a score; 0.5 where only one class is there."""
    return ranked(truth.astype(np.float64), value) if truth.any() and not truth.all() else 0.5
