"""Figures pooled over subjects by key, kept apart by fold of subject so that nobody reads their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from models.packing import pack, unpack

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

# Subjects with the overall mean that each pooled mean starts from: three, so that one user alone moves it by
# a quarter.
STRENGTH: Final = 3.0
# A key of one subject tells others little, and most keys of a large log are such: left out, the pool stays small.
# Counted without a row's own fold, or the row would learn that its own subject comes back to the key.
MIN_SUBJECTS: Final = 2
_ARRAYS: Final = ("keys", "subjects", "count", "total", "all_count", "all_total")


@dataclass(frozen=True)
class Pool:
    """Means of some figures by key and fold of subject; each subject counts once a key.

    Attributes
    ----------
    keys : numpy.ndarray of int64, shape (k,)
        Ascending.
    subjects : numpy.ndarray of float64, shape (k, folds)
        Distinct subjects.
    count, total : numpy.ndarray of float64, shape (k, folds, figures)
        Subjects with the figure, and the sum of their means.
    all_count, all_total : numpy.ndarray of float64, shape (folds, figures)
        The same over all keys, those among them that are not kept.
    """

    keys: I64
    subjects: F64
    count: F64
    total: F64
    all_count: F64
    all_total: F64

    def look_up(self, key: I64, fold: I64, without: int | None = None) -> F32:
        """`subjects` (as log(1 + n)) and the smoothed means of each key over the other folds, shape (m, 1 +
        figures); the fold `without` is left out too where one is given.

        The key 0 stands for "has none" and gives NaN. A key that fewer than `MIN_SUBJECTS` of the other folds'
        subjects have is unknown: no subjects and the overall means.
        """
        if without is not None:
            return self._less(without).look_up(key, fold)
        place = np.minimum(np.searchsorted(self.keys, key), max(len(self.keys) - 1, 0))
        found = self.keys[place] == key if len(self.keys) else np.zeros(len(key), bool)
        keys, folds, width = self._told.shape
        at = np.where(found, place, keys - 1) * folds + fold
        out: F32 = self._told.reshape(-1, width).take(at, axis=0)
        out[key == 0] = np.nan
        return out

    @cached_property
    def _told(self) -> F32:
        """What each key tells each fold, the unknown key behind the others, shape (k + 1, folds, 1 + figures)."""
        others = np.maximum(self.all_count.sum(axis=0) - self.all_count, 1.0)
        overall = (self.all_total.sum(axis=0) - self.all_total) / others
        subjects, count, total = map(_others, (self.subjects, self.count, self.total))
        known = subjects >= MIN_SUBJECTS
        out = np.empty((*subjects.shape, 1 + total.shape[2]), np.float32)
        out[:, :, 0] = np.log1p(np.where(known, subjects, 0.0))
        count, total = (np.where(known[:, :, None], values, 0.0) for values in (count, total))
        out[:, :, 1:] = (total + STRENGTH * overall) / (count + STRENGTH)
        return out

    def _less(self, fold: int) -> Pool:
        """The pool as if a fold had no subjects."""

        def emptied(values: F64, axis: int) -> F64:
            out = values.copy()
            out[(slice(None),) * axis + (fold,)] = 0.0
            return out

        subjects, count, total = (emptied(values, 1) for values in (self.subjects, self.count, self.total))
        return Pool(self.keys, subjects, count, total, emptied(self.all_count, 0), emptied(self.all_total, 0))

    def plain(self) -> dict[str, str | list[int]]:
        """The arrays as base64 of little-endian bytes, for a JSON file, and the shape of `total`."""
        arrays = {name: pack(getattr(self, name), _form(name)) for name in _ARRAYS}
        return {"shape": list(self.total.shape), **arrays}

    @staticmethod
    def from_plain(held: Mapping[str, str | list[int]]) -> Pool:
        """Read what `plain` gave."""
        keys, folds, figures = (int(n) for n in held["shape"])
        shapes = (
            (keys,),
            (keys, folds),
            (keys, folds, figures),
            (keys, folds, figures),
            (folds, figures),
            (folds, figures),
        )
        arrays = [
            unpack(str(held[name]), _form(name)).reshape(shape) for name, shape in zip(_ARRAYS, shapes, strict=True)
        ]
        return Pool(arrays[0].astype(np.int64), *(a.astype(np.float64) for a in arrays[1:]))


def _others(values: F64) -> F64:
    """The sum over the folds other than each, by key and fold; behind the keys 0 for the unknown one."""
    unknown = np.zeros((1, *values.shape[1:]))
    return np.concatenate([values.sum(axis=1, keepdims=True) - values, unknown])


def fit_pool(key: I64, subject: I64, fold: I64, figures: pd.DataFrame, folds: int) -> Pool:
    """Pool figures by key and fold of subject.

    Parameters
    ----------
    key, subject, fold : numpy.ndarray of int64, shape (n,)
        Of each row; the key 0 stands for "has none".
    figures : pandas.DataFrame
        n rows; NaN = has no such figure.
    folds : int
    """
    names = list(figures.columns)
    rows = key != 0
    frame = figures[rows].assign(key=key[rows], fold=fold[rows], subject=subject[rows])
    once = frame.groupby(["key", "fold", "subject"])[names].mean()
    every = once.groupby(level="fold")
    shared = once.groupby(level="key").size()
    keys = shared.index[shared >= MIN_SUBJECTS].to_numpy(np.int64)
    by_fold = once[once.index.get_level_values("key").isin(keys)].groupby(level=["key", "fold"])
    index = pd.MultiIndex.from_product([keys, range(folds)])

    def whole(values: pd.DataFrame | pd.Series) -> F64:
        filled = values.reindex(index, fill_value=0).to_numpy(np.float64)
        return np.asarray(filled.reshape((len(keys), folds, *filled.shape[1:])), dtype=np.float64)

    def of_all(values: pd.DataFrame) -> F64:
        return np.asarray(values.reindex(range(folds), fill_value=0).to_numpy(np.float64))

    counted = (whole(by_fold.size()), whole(by_fold.count()), whole(by_fold.sum()))
    return Pool(keys, *counted, of_all(every.count()), of_all(every.sum()))


def _form(name: str) -> str:
    """How the numbers of an array are kept."""
    return "<i8" if name == "keys" else "<f8"
