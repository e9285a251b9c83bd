"""Words as evidence of a defect: a linear model over what user and system said, as columns of the defect model.

A logistic regression over hashed words and pairs (`features.grams`) of the utterance, the answer and the reaction, and
over how the reaction begins after which words, learns what no list of phrases holds: how the users of this log show
that an answer was wrong. Its log-odds join the other signals, so the boosters weigh them against what needs no words
(stacking, Wolpert 1992).

It answers "was this turn a defect", for the defect model, and learns from the labels. What words are taken to MEAN is
asked elsewhere: by `models.reading` for the correction model, from labels, and by `models.wish_words` for the wishes,
without any.

A booster must not learn from a column that has seen the row's own label, nor be judged on a subject that its column
has seen. So a regression is fitted for each PAIR of folds, on all others: booster k learns from rows of fold j with
the regression that has seen neither j nor k, and judges rows of fold k with the mean of those that have not seen k.
The mean of linear models is one linear model, so judging reads one set of weights a fold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.grams import BITS, Grams, exchange, grams
from models.boost import TrainingError
from models.design import Design
from models.logistic import Field, fit_logistic
from models.options import LEAST_FOLDS
from models.packing import pack, unpack

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# The last is made of two: how the reaction begins, with each word of the answer.
FIELDS: Final = ("utterance", "answer", "reaction", "exchange")
# One regression a field, and one over all of them: the fields' own say where the evidence is, and hold where the
# others are missing.
PARTS: Final[dict[str, tuple[str, ...]]] = {**{f: (f,) for f in FIELDS}, "all": FIELDS}
NAMES: Final = tuple(f"words.{part}" for part in PARTS)
# Rows that the regressions learn from, evenly spread over the table: they are done with long before the boosters.
ROWS: Final = 100_000
_THREADS: Final = 2


@dataclass(frozen=True)
class Weights:
    """Weights of one field's columns in one part, by fold.

    Attributes
    ----------
    columns : numpy.ndarray of int64, shape (c,)
        Columns of `features.grams` with a weight, ascending.
    values : numpy.ndarray of float16, shape (c, folds)
    """

    columns: I64
    values: npt.NDArray[np.float16]

    @staticmethod
    def of(dense: F64) -> Weights:
        """From weights of every column, shape (2 ** BITS, folds)."""
        rounded = dense.astype(np.float16)
        columns = np.flatnonzero(rounded.any(axis=1))
        return Weights(columns, rounded[columns])

    def dense(self) -> F64:
        """Weights of every column, shape (2 ** BITS, folds)."""
        out = np.zeros((1 << BITS, self.values.shape[1]))
        out[self.columns] = self.values
        return out

    def plain(self) -> dict[str, str]:
        """The arrays as base64 of little-endian bytes, for a JSON file."""
        return {"columns": pack(self.columns, "<i4"), "values": pack(self.values, "<f2")}

    @staticmethod
    def from_plain(held: Mapping[str, str], folds: int) -> Weights:
        """Read what `plain` gave."""
        columns = unpack(held["columns"], "<i4").astype(np.int64)
        return Weights(columns, unpack(held["values"], "<f2").reshape(len(columns), folds).astype(np.float16))


@dataclass(frozen=True)
class WordsModel:
    """Regressions over words; the weights of fold k have not seen the subjects of fold k.

    Attributes
    ----------
    folds : int
    intercept : dict of str to list of float
        By part, one a fold.
    weights : dict of str to dict of str to Weights
        By part and field.
    rarity : dict of str to numpy.ndarray of float16, shape (2 ** BITS,)
        By field, `Grams.rarity` of the table that it was fitted on. Reads no label.
    """

    folds: int
    intercept: dict[str, list[float]]
    weights: dict[str, dict[str, Weights]]
    rarity: dict[str, npt.NDArray[np.float16]]

    def columns(self, said: pa.Table, fold: I64) -> Design:
        """Log-odds of each row by each part, from weights that have not seen its subject, shape (n, len(NAMES)).

        NaN where all the texts that a part reads are null.

        Parameters
        ----------
        said : pyarrow.Table
            n Said rows.
        fold : numpy.ndarray of int64, shape (n,)
            Fold of each row's subject, as at the fit.
        """
        return self.columns_of(lambda f: field_grams(said, f).weighted(self.rarity[f].astype(np.float64)), fold)

    def columns_of(self, held: Callable[[str], Grams], fold: I64) -> Design:
        """The same from a field's words, weighted by `rarity`; each field is asked for once."""
        rows = np.arange(len(fold))
        out = np.zeros((len(fold), len(NAMES)))
        known = np.zeros(out.shape, bool)
        for field in FIELDS:
            reading = [(at, part) for at, (part, fields) in enumerate(PARTS.items()) if field in fields]
            grams_of = held(field)
            score = grams_of.product(np.hstack([self._dense[part, field] for _, part in reading]))
            for number, (at, _) in enumerate(reading):
                out[:, at] += score[rows, number * self.folds + fold]
                known[:, at] |= grams_of.text >= 0
        out += np.array([self.intercept[part] for part in PARTS])[:, fold].T
        return Design(np.where(known, out, np.nan).astype(np.float32), NAMES)

    def plain(self) -> dict[str, Any]:
        """The model as plain data, for a JSON file."""
        weights = {p: {f: w.plain() for f, w in fields.items()} for p, fields in self.weights.items()}
        rarity = {f: pack(values, "<f2") for f, values in self.rarity.items()}
        return {"folds": self.folds, "intercept": self.intercept, "weights": weights, "rarity": rarity}

    @staticmethod
    def from_plain(held: Mapping[str, Any]) -> WordsModel:
        """Read what `plain` gave."""
        folds = int(held["folds"])
        weights = {
            p: {f: Weights.from_plain(w, folds) for f, w in fields.items()} for p, fields in held["weights"].items()
        }
        rarity = {f: unpack(text, "<f2").astype(np.float16) for f, text in held["rarity"].items()}
        return WordsModel(folds, held["intercept"], weights, rarity)

    @cached_property
    def _dense(self) -> dict[tuple[str, str], F64]:
        """Weights of every column by part and field, worked out once."""
        return {(p, f): w.dense() for p, fields in self.weights.items() for f, w in fields.items()}


def field_grams(said: pa.Table, field: str) -> Grams:
    """Words and pairs of one field. No letter sequences: they cost five times as much and add next to nothing."""
    if field == "exchange":
        return exchange(said["answer"], said["reaction"])
    return grams(said[field], letters=())


def fit_words(said: pa.Table, label: F64, weight: F64, fold: I64, folds: int) -> tuple[WordsModel, list[Design]]:
    """Fit the regressions.

    Parameters
    ----------
    said : pyarrow.Table
        n Said rows.
    label : numpy.ndarray, shape (n,)
        In [0, 1]; shares of raters or votes are allowed.
    weight : numpy.ndarray, shape (n,)
        0 leaves a row out of the fit; it is still scored.
    fold : numpy.ndarray of int64, shape (n,)
    folds : int
        At least `LEAST_FOLDS`: a regression leaves two out.

    Returns
    -------
    model : WordsModel
    columns : list of Design, length folds
        What booster k is to see: `NAMES` for all n rows, from regressions that have seen neither the row's fold nor
        fold k.

    Raises
    ------
    models.boost.TrainingError
        If there are fewer than 3 folds, or the rows outside two folds hold one class only.
    """
    if folds < LEAST_FOLDS:
        raise TrainingError(f"{folds} folds: a model over words wants at least {LEAST_FOLDS} (train.folds)")
    plain = {f: field_grams(said, f) for f in FIELDS}
    rarity = {f: held.rarity().astype(np.float16) for f, held in plain.items()}
    held = {f: g.weighted(rarity[f].astype(np.float64)) for f, g in plain.items()}
    counted = np.flatnonzero(weight > 0)
    counted = counted[:: -(-len(counted) // ROWS) or 1]
    pairs = list(combinations(range(folds), 2))
    tasks = [(part, pair) for part in PARTS for pair in pairs]

    def fit(task: tuple[str, tuple[int, int]]) -> tuple[F64, float]:
        part, pair = task
        rows = counted[~np.isin(fold[counted], pair)]
        if not len(rows) or label[rows].min() == label[rows].max():
            raise TrainingError(
                f"folds {pair}: the {len(rows)} rows outside hold one class only; folds go by user, so more users are "
                "wanted, gold labels of both kinds, or train.words = false"
            )
        return fit_logistic([Field.of(held[f], rows) for f in PARTS[part]], label[rows], weight[rows])

    with ThreadPoolExecutor(_THREADS) as pool:
        fitted = dict(zip(tasks, pool.map(fit, tasks), strict=True))
    model = _mean_model(fitted, folds, rarity)
    return model, _booster_columns(held, fitted, fold, folds, model.columns_of(held.__getitem__, fold).values)


_Fitted = dict[tuple[str, tuple[int, int]], tuple[F64, float]]


def _mean_model(fitted: _Fitted, folds: int, rarity: dict[str, npt.NDArray[np.float16]]) -> WordsModel:
    """For each fold the mean of the regressions that have not seen it."""
    intercept, weights = {}, {}
    for part, fields in PARTS.items():
        unseen = [[fitted[part, pair] for p, pair in fitted if p == part and k in pair] for k in range(folds)]
        intercept[part] = [round(float(np.mean([b for _, b in each])), 6) for each in unseen]
        dense = np.column_stack([np.mean([w for w, _ in each], axis=0) for each in unseen])
        blocks = np.split(dense, len(fields))
        weights[part] = {f: Weights.of(block) for f, block in zip(fields, blocks, strict=True)}
    return WordsModel(folds, intercept, weights, rarity)


def _booster_columns(held: dict[str, Grams], fitted: _Fitted, fold: I64, folds: int, judged: F32) -> list[Design]:
    """Each booster's own view of the columns. What it judges, its own fold, it sees as it will: `judged`, by the
    rounded weights of the model file; thresholds are proved on no other figures than those that are used.
    """
    n = len(fold)
    out = np.full((folds, n, len(NAMES)), np.nan, np.float32)
    for at, (part, fields) in enumerate(PARTS.items()):
        pairs = [pair for p, pair in fitted if p == part]
        score = np.zeros((n, len(pairs)))
        known = np.zeros(n, bool)
        dense = np.column_stack([fitted[part, pair][0] for pair in pairs])
        for field, block in zip(fields, np.split(dense, len(fields)), strict=True):
            score += held[field].product(block)
            known |= held[field].text >= 0
        score += np.array([fitted[part, pair][1] for pair in pairs])
        score[~known] = np.nan
        for number, (k, j) in enumerate(pairs):
            for booster, other in ((k, j), (j, k)):
                rows = np.flatnonzero(fold == other)
                out[booster, rows, at] = score[rows, number]
    for k in range(folds):
        out[k, fold == k] = judged[fold == k]
    return [Design(values, NAMES) for values in out]
