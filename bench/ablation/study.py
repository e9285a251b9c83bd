"""A model that can be fitted without a part of what it reads, and what is lost then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.ablation.groups import groups_in, without
from models.design import Design
from models.metrics import ap, auc

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Of the boosters, far enough apart that no fold of one has the seed of another's. A group is left out with the same
# seeds as nothing is, so that what seeds do on their own shows beside what the group adds.
SEEDS: Final = (7, 107, 207)


@dataclass(frozen=True)
class Study:
    """One model on one set.

    Attributes
    ----------
    name : str
        For the key, such as `letsgo.gold`.
    groups : tuple of str
        What can be left out, one at a time.
    figures : callable
        Given the group to leave out (None = nothing) and a seed, fits the model and gives its figures by name.
    """

    name: str
    groups: tuple[str, ...]
    figures: Callable[[str | None, int], dict[str, float]]


def ranking(truth: F64, score: F64) -> dict[str, float]:
    """AUC and AP."""
    return {"auc": auc(truth, score), "ap": ap(truth, score)}


def of_design(name: str, design: Design, score: Callable[[Design, int], F64], truth: F64, at: Mask) -> Study:
    """A study of a model that reads a design and nothing else.

    Parameters
    ----------
    name : str
    design : Design
        n rows.
    score : callable
        Fits on a design of these columns with a seed and gives out-of-fold scores, shape (n,).
    truth : numpy.ndarray, shape (n,)
        0 or 1.
    at : numpy.ndarray of bool, shape (n,)
        Rows that are scored.
    """

    def figures(group: str | None, seed: int) -> dict[str, float]:
        return ranking(truth[at], score(without(design, group), seed)[at])

    return Study(name, groups_in(design), figures)


def ablate(study: Study, seeds: tuple[int, ...] = SEEDS) -> dict[str, float]:
    """Figures with everything and without each group, means over the seeds; the change and its deviation over them."""
    everything = [study.figures(None, seed) for seed in seeds]
    out = {f"{study.name}.all.{m}": float(np.mean([held[m] for held in everything])) for m in everything[0]}
    for group in study.groups:
        left = [study.figures(group, seed) for seed in seeds]
        for metric in left[0]:
            change = np.array([few[metric] - held[metric] for few, held in zip(left, everything, strict=True)])
            key = f"{study.name}.without.{group.replace(' ', '_')}.{metric}"
            out |= {key: float(np.mean([few[metric] for few in left])), f"{key}.change": float(change.mean())}
            out[f"{key}.change.std"] = float(change.std(ddof=1)) if len(seeds) > 1 else 0.0
    return out


def table(figures: dict[str, float]) -> str:
    """Figures as lines: each without a group, and what is lost then, with the deviation over the seeds."""
    lines = [f"{'study':<20}{'without':<26}{'figure':<8}{'value':>8}{'change':>9}{'+-':>8}"]
    for key, value in figures.items():
        if key.endswith((".change", ".std")):
            continue
        stem, _, metric = key.rpartition(".")
        name, _, group = stem.removesuffix(".all").partition(".without.")
        change = f"{figures[f'{key}.change']:>+9.4f}{figures[f'{key}.change.std']:>8.4f}" if group else ""
        lines.append(f"{name:<20}{group.replace('_', ' ') or '-':<26}{metric:<8}{value:>8.4f}{change}")
    return "\n".join(lines)
