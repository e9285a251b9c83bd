"""Domains that a model has not seen: each is scored by models that were fitted on other domains alone.

Domains are left out in groups, so that a figure costs a handful of fits; each model has then seen fewer domains than if
one were left out alone. What is left out is left out of everything: of the pooled prior and of the labels' models too.
In every arm a turn is scored by a model that has not seen its user.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import strings
from models.boost import fit_folds
from models.design import candidate_table, numbers, turn_design
from models.folds import subject_folds
from models.metrics import auc
from models.prior import fit_prior
from models.weak import weak_labels

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

GROUPS: Final = 5
FOLDS: Final = 2
SEED: Final = 7
# Turns of each kind that a domain needs, for its AUC to say something.
LEAST: Final = 40


def figures(signals: pa.Table, wrong: F64) -> dict[str, float]:
    """AUC by domain, mean and worst, with the domain left out and with it, from truth and from no labels.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows of whole sessions, in order.
    wrong : numpy.ndarray, shape (n,)
        Truth: 1 = the leading interpretation is wrong.
    """
    domain = strings(signals["domain"].combine_chunks().fill_null(""))
    names = [d for d in sorted(set(domain.tolist())) if d and _enough(wrong[domain == d])]
    if len(names) < GROUPS:
        return {}
    apart = {source: np.full(len(wrong), np.nan) for source in ("gold", "weak")}
    for group in range(GROUPS):
        out = np.isin(domain, names[group::GROUPS])
        for source, score in _scores(signals, wrong, ~out).items():
            apart[source][out] = score[out]
    within = _scores(signals, wrong, np.ones(len(wrong), bool))
    doubt = 1.0 - np.nan_to_num(numbers(signals["top_score"])).astype(np.float64)
    found: dict[str, float] = {"domains": float(len(names))}
    for source in apart:
        arms = {source: apart[source], f"{source}.within": within[source], f"{source}.baseline": doubt}
        for arm, score in arms.items():
            by = [auc(wrong[domain == d], score[domain == d]) for d in names]
            found |= {f"{arm}.auc": float(np.mean(by)), f"{arm}.worst": float(np.min(by))}
    return found


def _enough(wrong: F64) -> bool:
    return min(float(wrong.sum()), float(len(wrong) - wrong.sum())) >= LEAST


def _scores(signals: pa.Table, wrong: F64, learned: Mask) -> dict[str, F64]:
    """Scores of all turns by models of the rows `learned`, from truth and from no labels."""
    fold = subject_folds(signals["subject_id"], FOLDS)
    prior = fit_prior(signals.filter(pa.array(learned)), fold[learned], FOLDS)
    design = turn_design(signals, candidate_table(signals, prior, fold))
    weak = weak_labels(design, fold, FOLDS, SEED, learned)
    labels = {"gold": wrong, "weak": weak}
    weight = learned.astype(np.float64)
    return {source: fit_folds(design, label, weight, fold, FOLDS, SEED)[1] for source, label in labels.items()}
