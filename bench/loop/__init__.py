"""The loop: traffic that a weak NLU model served teaches it, with no label of a person (Park et al. 2021, in the open).

    python -m bench.loop --data ../shared/data --out out/loop.json

A model trained on a tenth of HWU64's rows an intent serves the other training rows to simulated users
(`bench.loop.sessions`); the pipeline curates the log, seeing only what a log shows; the model is trained again on the
tenth and what was released, and scored on the test fold. The oracle has the traffic under its true labels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from bench.loop.corpus import TEST_FOLD, load
from bench.loop.experiment import Found, Loop, one_seed, weeks
from bench.loop.nlu import features
from bench.loop.score import is_worse, rises

# Not those that anything was chosen with (101 and 102, on another fold).
SEEDS: Final = (1, 2, 3, 4, 5)


def figures(data: Path, test_fold: int = TEST_FOLD, seeds: tuple[int, ...] = SEEDS) -> dict[str, float]:
    """Means over the seeds, and their spread as `.std`; empty where the data is absent or lacks the test fold."""
    corpus = load(data)
    if corpus is None or not (corpus.fold == test_fold).any():
        return {}
    rows = features(corpus.text)
    return summary([seed_figures(Loop(corpus, test_fold, seed, rows)) for seed in seeds])


def seed_figures(loop: Loop) -> Found:
    """Figures of one seed, and its errors by domain before and after."""
    once, *errors = one_seed(loop)
    return once | weeks(loop), *errors


def summary(found: list[Found]) -> dict[str, float]:
    """Means over the seeds, their spread as `.std`, and the domains."""
    each = [one for one, *_ in found]
    out = {key: float(np.mean([f[key] for f in each])) for key in each[0]}
    out |= {f"{key}.std": float(np.std([f[key] for f in each], ddof=min(1, len(each) - 1))) for key in each[0]}
    before, after, alone = ([errors[k] for errors in found] for k in (1, 2, 3))
    return out | _domains(before, after) | {"baseline.domains_worse": float(_worse(before, alone))}


def _worse(before: list[dict[str, float]], after: list[dict[str, float]]) -> int:
    """Domains whose rise is proved over the seeds."""
    return sum(is_worse(rise) for rise in rises(before, after).values())


def _domains(before: list[dict[str, float]], after: list[dict[str, float]]) -> dict[str, float]:
    """Errors by domain, and how many domains are worse: proved over the seeds, and on average in one seed."""
    rise = rises(before, after)
    out = {"domains": float(len(rise)), "domains_worse": float(_worse(before, after))}
    out["domains_risen"] = float(np.mean([[r[k] > 0 for r in rise.values()] for k in range(len(before))])) * len(rise)
    for name in rise:
        out[f"domain.{name}.error.before"] = float(np.mean([errors[name] for errors in before]))
        out[f"domain.{name}.error.after"] = float(np.mean([errors[name] for errors in after]))
    return out
