"""Folds by subject: a turn is never judged by a model that has seen its user."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.hashing import hash64, strings

I64 = npt.NDArray[np.int64]

_KEY = "afterword/fold/1"


def subject_folds(subjects: pa.Array | pa.ChunkedArray, folds: int, key: str = _KEY) -> I64:
    """Fold of each row by a stable hash of its subject, in [0, folds), shape (n,).

    Parameters
    ----------
    subjects : pyarrow.StringArray
        subject_id.
    folds : int
        How many.
    key : str
        16 characters; another key gives another assignment.
    """
    return np.asarray(hash64(strings(subjects), key) % np.uint64(folds), dtype=np.int64)
