"""Labels without gold: two views of a turn that teach each other (co-training, Blum and Mitchell 1998).

The *before* view is what was known when the turn was interpreted: confidence, n-best, the session so far,
other users' turns. The *after* view is what the system and the user did next. Given whether the turn was
understood, the errors of one view have little to do with those of the other. So a model of the before view
learns the votes of the labelling functions, which read the after view; a model of the after view learns the
interpreter's own doubt, which is of the before view; neither can copy its teacher's noise. Their odds
multiply.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from models.boost import TrainingError, at_once, fit_folds
from models.design import Design
from models.labelling import Votes, majority, votes, voting, waterfall
from models.wishes import NAMES as WISHES
from schemas.signals import ANSWER, CANDIDATE_COLUMNS, SIGNALS

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

_AFTER: Final = {c.name for c in (*SIGNALS.columns, *CANDIDATE_COLUMNS) if c.needs_reaction} | set(ANSWER)
# The user's own rating is a verdict: it votes, and no view may learn from it.
_VERDICTS: Final = {"explicit_rating"}
# These put before and after together.
_WISHES: Final = tuple(f".{name}" for name in WISHES)
_EDGE: Final = 1e-4
# Fewer trees than the final models have: what they learn is a teacher's noisy opinion.
WEAK_ROUNDS: Final = 80
# Functions that vote at all, up to which there is nothing to be learned from where they agree: the majority decides.
FEW: Final = 2


def views(design: Design) -> tuple[Design, Design]:
    """A turn design cut into what was known before the answer, and what came after."""
    after = [n for n in design.names if _is_after(n)]
    verdicts = [n for n in design.names if n in _VERDICTS]
    whole = [n for n in design.names if n.endswith(_WISHES)]
    before = [n for n in design.names if n not in {*after, *verdicts, *whole}]
    return design.select(tuple(before)), design.select(tuple(after))


def _is_after(name: str) -> bool:
    return "prior." not in name and name.rpartition(".")[2] in _AFTER


def doubt(design: Design) -> tuple[F64, npt.NDArray[np.bool_]]:
    """How unsure the interpreter was of its best hypothesis, else the recogniser; and where one of them says.

    1 less the score, which counts as 0 below 0 and as 1 above 1; 0.5 where there is none.
    """
    scores = design.values[:, [design.names.index("top_score"), design.names.index("asr_confidence")]]
    score = np.where(np.isnan(scores[:, 0]), scores[:, 1], scores[:, 0]).astype(np.float64)
    known = ~np.isnan(score)
    return np.where(known, 1.0 - np.clip(score, 0.0, 1.0), 0.5), known


def weak_labels(design: Design, fold: I64, folds: int, seed: int, fit_rows: npt.NDArray[np.bool_] | None = None) -> F64:
    """p(defect) of each turn from labelling functions and doubt alone, shape (n,).

    Every value comes from models that have not seen the turn's subject. Where the log has no scores, or one and the
    same everywhere, there is no doubt to learn from: then the after view learns the functions' votes too. Where no more
    than `FEW` functions ever vote, the label is their majority, and the mean of it where they abstain.

    Parameters
    ----------
    design : Design
        n turns, from `models.design.turn_design`.
    fold : numpy.ndarray of int64, shape (n,)
    folds : int
    seed : int
    fit_rows : numpy.ndarray of bool, shape (n,), optional
        Turns that may be trained on; by default all.

    Raises
    ------
    models.boost.TrainingError
        If the functions' votes are of one class only, or none is cast.
    """
    allowed = np.ones(len(fold), bool) if fit_rows is None else fit_rows
    cast_votes = votes(design)
    if len(voting(cast_votes[allowed])) <= FEW:
        return by_majority(cast_votes, allowed)
    before, after = views(design)
    label, voted = waterfall(cast_votes)
    cast = voted & allowed
    teacher, taught = doubt(design)
    taught &= allowed
    if not taught.any() or np.ptp(teacher[taught]) == 0.0:
        teacher, taught = label, cast

    def out_of_fold(view: Design, target: F64, counted: npt.NDArray[np.bool_]) -> F64:
        return fit_folds(view, target, counted.astype(np.float64), fold, folds, seed, WEAK_ROUNDS)[1]

    by_before, by_after = at_once(lambda: out_of_fold(before, label, cast), lambda: out_of_fold(after, teacher, taught))
    return with_mean(_log_odds(by_before) + _log_odds(by_after), float(by_before.mean()))


def by_majority(cast: Votes, allowed: npt.NDArray[np.bool_]) -> F64:
    """Share of votes that say defect; where none is cast, its mean over the rows of `allowed`, shape (n,)."""
    share, counted = majority(cast)
    learned = allowed & (counted > 0)
    if not learned.any():
        raise TrainingError("no labelling function votes on any turn, and there is no gold")
    return np.where(counted > 0, share, share[learned].mean())


def with_mean(log_odds: F64, mean: float) -> F64:
    """Probabilities that differ from `log_odds` by one constant, chosen so that they average `mean`."""
    low, high = -40.0 - float(log_odds.max(initial=0.0)), 40.0 - float(log_odds.min(initial=0.0))
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if float(_sigmoid(log_odds + middle).mean()) < mean else (low, middle)
    return _sigmoid(log_odds + low)


def _log_odds(p: F64) -> F64:
    clipped = np.clip(p, _EDGE, 1.0 - _EDGE)
    return np.asarray(np.log(clipped) - np.log1p(-clipped), dtype=np.float64)


def _sigmoid(z: F64) -> F64:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(z, -50.0, 50.0))), dtype=np.float64)
