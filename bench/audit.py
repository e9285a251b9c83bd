"""How often the intervals of an audit cover, and how wide they are, beside other methods.

python -m bench.audit [--audits 1000] [--out out/audit.json]

Each scenario is a finite log of domains with a known truth in every cell. An audit draws 300 of its turns as
`afterword audit` does, and each method gives its 95% intervals. Nothing of the product was fitted to the scenarios but
`models.melding.DELTA`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, norm

from models.audit import Strata, correction_precision, defect_figures
from models.melding import DELTA, Figure
from models.sampling import DECISIONS, AuditOptions, cells_that_fit, shared_out
from pipeline import storage

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
FIGURES: Final = ("prevalence", "precision", "recall", "correction precision")
DRAWS: Final = 1_000
METHODS: Final = ("wald", "korn-graubard", "posterior", "melded", "melded 1/4", "melded 1/2")
# From so many turns judged on, a domain's figures are counted.
DOMAIN_TURNS: Final = 10
# There are many of them in an audit.
DOMAINS_EVERY: Final = 10


@dataclass(frozen=True)
class Scenario:
    """Turns of each cell, shape (domains, decisions), the share wrong in each, and the share of corrections right."""

    name: str
    sizes: I64
    wrong: F64
    right: F64


def scenarios(seed: int = 5) -> Iterator[Scenario]:
    """Logs of several shapes."""
    rng = np.random.default_rng(seed)
    even, many = np.full(6, 2_000), np.full(22, 900)
    zipf = (60_000 / np.arange(1, 21) ** 1.3).astype(np.int64)
    small = np.concatenate([[20_000], rng.integers(20, 60, 30)])
    yield _scenario("even", even, 0.2, 0.85, 0.04, 0.8)
    yield _scenario("rare defects", many, 0.03, 0.6, 0.004, 0.85)
    yield _scenario("rare defects, skewed", zipf, 0.02, 0.7, 0.002, 0.9)
    yield _scenario("skewed, the largest domain worst", zipf, 0.15, 0.8, 0.03, 0.8, np.linspace(1.8, 0.2, 20))
    yield _scenario("skewed, the smallest domain worst", zipf, 0.15, 0.8, 0.03, 0.8, np.linspace(0.2, 1.8, 20))
    yield _scenario("precision near 1", many, 0.15, 0.98, 0.02, 0.98)
    yield _scenario("precision 1, nothing missed", even, 0.15, 1.0, 0.0, 1.0)
    yield _scenario("small domains", small, 0.2, 0.85, 0.05, 0.8)
    yield _scenario("half are defects", zipf, 0.4, 0.75, 0.3, 0.6)
    yield _scenario("a small log", np.array([150, 120, 80, 60]), 0.2, 0.85, 0.05, 0.8)


def _scenario(
    name: str, turns: I64, flagged: float, precision: float, missed: float, right: float, factor: F64 | None = None
) -> Scenario:
    """A third of the defective turns are corrected, and more surely defective. `factor` scales the rates by domain."""
    by = np.ones(len(turns)) if factor is None else factor
    defective = np.maximum(1, np.round(turns * np.minimum(flagged * by, 0.8))).astype(np.int64)
    corrected = defective // 3
    sizes = np.column_stack([corrected, defective - corrected, turns - defective])
    surer = precision + (1.0 - precision) / 2.0
    wrong = np.column_stack(
        [np.full(len(turns), surer), np.full(len(turns), precision), np.minimum(missed * by, 1.0)]
    ).clip(0.0, 1.0)
    return Scenario(name, sizes, wrong, np.full(len(turns), right))


def truth(sizes: I64, wrong: I64, right: I64) -> dict[str, float]:
    """Figures of the whole log from the positives of each cell, shapes (domains, decisions) and (domains,)."""
    flagged, found = sizes[:, :2].sum(), wrong[:, :2].sum()
    corrected = sizes[:, 0].sum()
    return {
        "prevalence": wrong.sum() / sizes.sum(),
        "precision": found / flagged if flagged else np.nan,
        "recall": found / wrong.sum() if wrong.sum() else np.nan,
        "correction precision": right.sum() / corrected if corrected else np.nan,
    }


def melded(wrong: Strata, right: Strata, delta: float = DELTA) -> dict[str, Figure]:
    """The product's own."""
    out = defect_figures(wrong, delta, DRAWS)
    return out | {"correction precision": correction_precision(right, delta, DRAWS)}


def posterior(wrong: Strata, right: Strata, generator: np.random.Generator) -> dict[str, Figure]:
    """Beta-binomial of what was not drawn, cell by cell; the prior is one turn like those of the same decision."""
    positive = _posterior(wrong, generator)
    group = [positive[wrong.decision == k].sum(axis=0) for k in range(len(DECISIONS))]
    size = [int(wrong.size[wrong.decision == k].sum()) for k in range(len(DECISIONS))]
    found, missed = group[0] + group[1], group[2]
    correct = _posterior(right, generator)[right.decision == 0].sum(axis=0)
    return {
        "prevalence": _quantiles((found + missed) / sum(size)),
        "precision": _quantiles(found / max(size[0] + size[1], 1)),
        "recall": _quantiles(np.divide(found, found + missed, out=np.ones(DRAWS), where=found + missed > 0)),
        "correction precision": _quantiles(correct / max(size[0], 1)),
    }


def _posterior(strata: Strata, generator: np.random.Generator) -> F64:
    out = np.zeros((len(strata.size), DRAWS))
    for decision in range(len(DECISIONS)):
        rows = np.flatnonzero(strata.decision == decision)
        mean = (strata.total[rows].sum() + 0.5) / (strata.answered[rows].sum() + 1.0)
        for k in rows:
            n, s = strata.answered[k], strata.total[k]
            p = generator.beta(s + mean, n - s + 1.0 - mean, DRAWS)
            out[k] = s + generator.binomial(strata.size[k] - n, p)
    return out


def _quantiles(values: F64) -> Figure:
    low, high = np.quantile(values, [0.025, 0.975])
    return Figure(float(values.mean()), float(low), float(high))


def linear(wrong: Strata, right: Strata, exact: bool) -> dict[str, Figure]:
    """Taylor linearisation of the ratio (Wald), or Clopper and Pearson's at the effective number it gives."""
    flagged = (wrong.decision < 2).astype(np.float64)
    every = np.ones(len(wrong.size))
    return {
        "prevalence": _linear(wrong, every, every, 0.0, exact),
        "precision": _linear(wrong, flagged, flagged, 0.0, exact),
        "recall": _linear(wrong, flagged, every, 1.0, exact),
        "correction precision": _linear(right, (right.decision == 0) * 1.0, (right.decision == 0) * 1.0, 0.0, exact),
    }


def _linear(strata: Strata, top: F64, bottom: F64, of_positives: float, exact: bool) -> Figure:
    """sum(top N p) / sum(bottom N), or / sum(bottom N p)."""
    used = (bottom > 0) & (strata.answered > 0)
    size, n = strata.size[used].astype(float), strata.answered[used].astype(float)
    mean, top, bottom = strata.total[used] / n, top[used], bottom[used]
    base = float((size * bottom * (mean if of_positives else 1.0)).sum())
    if base <= 0.0:
        return Figure(np.nan, 0.0, 1.0)
    value = float((size * top * mean).sum()) / base
    slope = (top - value) if of_positives else top
    variance = (1.0 - n / strata.size[used]) * mean * (1.0 - mean) / np.maximum(n - 1.0, 1.0)
    spread = float((size**2 * slope**2 * variance).sum()) / base**2
    if not exact:
        half = norm.ppf(0.975) * np.sqrt(spread)
        return Figure(value, max(value - half, 0.0), min(value + half, 1.0))
    number = value * (1.0 - value) / spread if spread > 0 else float(n.sum())
    yes = value * number
    low = beta.ppf(0.025, yes, number - yes + 1.0) if yes > 0 else 0.0
    high = beta.ppf(0.975, yes + 1.0, number - yes) if number - yes > 1e-9 else 1.0
    return Figure(value, float(low), float(high))


def methods(generator: np.random.Generator) -> dict[str, Callable[[Strata, Strata], dict[str, Figure]]]:
    """All that are compared."""
    return {
        "wald": partial(linear, exact=False),
        "korn-graubard": partial(linear, exact=True),
        "posterior": partial(posterior, generator=generator),
        "melded": melded,
        "melded 1/4": partial(melded, delta=0.25),
        "melded 1/2": partial(melded, delta=0.5),
    }


def measure(
    scenario: Scenario, audits: int, seed: int = 0, names: tuple[str, ...] = METHODS
) -> list[dict[str, object]]:
    """Coverage and mean width of each method's intervals, for all turns and for each domain by itself; and how far its
    estimates are off on average.
    """
    rng = np.random.default_rng(seed)
    held = {k: v for k, v in methods(rng).items() if k in names}
    options = AuditOptions()
    own = cells_that_fit(scenario.sizes, options)
    group = np.where(own, np.arange(len(own)), len(own))
    sizes = scenario.sizes.ravel()
    wrong = np.round(sizes * scenario.wrong.ravel()).astype(np.int64)
    right = np.round(scenario.sizes[:, 0] * scenario.right).astype(np.int64)
    cells = _cells(group, scenario.sizes, wrong, right)
    wanted = shared_out(cells.size, options)
    seen: dict[tuple[str, str, str], list[tuple[bool, float, float]]] = {}
    for number in range(audits):
        said = rng.hypergeometric(cells.wrong, cells.size - cells.wrong, wanted)
        fixed = rng.hypergeometric(cells.right, np.maximum(cells.size - cells.right, 0), wanted) * (cells.decision == 0)
        for scope, rows in _scopes(cells, wanted, number % DOMAINS_EVERY == 0):
            true = cells.truth(rows)
            one = Strata(cells.decision[rows], cells.size[rows], wanted[rows], said[rows].astype(float))
            other = Strata(cells.decision[rows], cells.size[rows], wanted[rows], fixed[rows].astype(float))
            for name, method in held.items():
                for figure, found in method(one, other).items():
                    if not np.isnan(true[figure]):
                        inside = found.low - 1e-9 <= true[figure] <= found.high + 1e-9
                        told = (inside, found.high - found.low, found.value - true[figure])
                        seen.setdefault((scope, name, figure), []).append(told)
    return [
        {
            "scenario": scenario.name,
            "scope": scope,
            "method": name,
            "figure": figure,
            "intervals": len(found),
            "coverage": round(float(np.mean([f[0] for f in found])), 4),
            "width": round(float(np.mean([f[1] for f in found])), 4),
            "bias": round(float(np.nanmean([f[2] for f in found])), 4),
        }
        for (scope, name, figure), found in seen.items()
    ]


@dataclass(frozen=True)
class Cells:
    """The log's cells as they are drawn from, flat."""

    domain: I64
    decision: I64
    size: I64
    wrong: I64
    right: I64

    def truth(self, rows: npt.NDArray[np.bool_]) -> dict[str, float]:
        """True figures over some cells."""
        table = np.zeros((3, 3), np.int64)
        for k in range(3):
            at = rows & (self.decision == k)
            table[k] = self.size[at].sum(), self.wrong[at].sum(), self.right[at].sum()
        return truth(table[None, :, 0], table[None, :, 1], table[None, 0, 2])


def _cells(group: I64, sizes: I64, wrong: I64, right: I64) -> Cells:
    domains = np.unique(group)
    wrong = wrong.reshape(sizes.shape)
    size, bad = (np.array([table[group == d].sum(axis=0) for d in domains]) for table in (sizes, wrong))
    good = np.zeros_like(size)
    good[:, 0] = [right[group == d].sum() for d in domains]
    keep = size.ravel() > 0
    decision = np.tile(np.arange(3), len(domains))
    columns = (np.repeat(domains, 3), decision, size.ravel(), bad.ravel(), good.ravel())
    return Cells(*(c[keep] for c in columns))


def _scopes(cells: Cells, wanted: I64, domains: bool) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    yield "all", np.ones(len(cells.size), bool)
    for domain in np.unique(cells.domain) if domains else ():
        rows = cells.domain == domain
        if wanted[rows].sum() >= DOMAIN_TURNS:
            yield "a domain", rows


def table(rows: list[dict[str, object]]) -> str:
    """Coverage (width) by scenario and figure, a column a method."""
    names = [m for m in METHODS if any(r["method"] == m for r in rows)]
    lines = [f"{'scenario':<36}{'scope':<10}{'figure':<22}" + "".join(f"{m:>16}" for m in names)]
    held = {(r["scenario"], r["scope"], r["figure"], r["method"]): r for r in rows}
    for key in dict.fromkeys(k[:3] for k in held):
        cells = [held[(*key, m)] for m in names]
        shown = "".join(f"{c['coverage']:>9.3f} {c['width']:.3f} " for c in cells)
        lines.append(f"{key[0]:<36}{key[1]:<10}{key[2]:<22}{shown}".rstrip())
    return "\n".join(lines)


def main() -> int:
    """Measure all scenarios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=1_000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    for scenario in scenarios():
        rows += measure(scenario, arguments.audits)
        print(table([r for r in rows if r["scenario"] == scenario.name]), flush=True)
    if arguments.out:
        storage.write_bytes(str(arguments.out), storage.readable_json(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
