"""What people said of like candidates: shares called right, pooled over users, as evidence for a candidate.

An interpreter errs in the same ways again and again: where it takes "61C" for best, "61A" further down is often what
was meant; where it gives an intent that a question rarely gets for an answer, it is seldom right. Gold tells so by
what the candidate says, by what it says in the place of the best one, by what it says in answer to the question, and
by its values alone.

A booster must not learn from a column that has seen the row's own label, nor be judged on a subject that its column
has seen. The pools are kept by fold of subject, so both are left out by subtraction: booster k learns from rows of fold
j with what the folds other than j and k say, and judges rows of fold k with what the folds other than k say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from features.hashing import mix, strings
from features.interpretation import list_offsets
from features.text import flat
from models.design import CandidateTable, Design
from models.pool import Pool, fit_pool

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

KINDS: Final = ("candidate", "instead", "asked", "value")
NAMES: Final = tuple(f"verdict.{kind}.{figure}" for kind in KINDS for figure in ("subjects", "right"))


@dataclass(frozen=True)
class Judged:
    """Candidates by the keys that verdicts are pooled by, in the order of `KINDS`; 0 = has none.

    Attributes
    ----------
    keys : tuple of numpy.ndarray of int64, shape (m,)
    subject : numpy.ndarray of int64, shape (m,)
        Number of the turn's subject.
    """

    keys: tuple[I64, ...]
    subject: I64

    @staticmethod
    def of(signals: pa.Table, table: CandidateTable) -> Judged:
        """Of a table's candidates."""
        turn, candidate = table.turn, table.candidate_id
        top = np.zeros(signals.num_rows, np.int64)
        top[turn[table.is_top]] = candidate[table.is_top]
        question = signals["question_id"].fill_null(0).to_numpy()[turn]
        keys = (
            candidate,
            np.where((top[turn] != 0) & ~table.is_top, mix(candidate, top[turn]), 0),
            np.where(question != 0, mix(candidate, question), 0),
            _values(signals, table),
        )
        subject = pd.factorize(strings(signals["subject_id"]))[0].astype(np.int64)
        return Judged(keys, subject[turn])

    def take(self, rows: I64) -> Judged:
        """The given candidates only."""
        return Judged(tuple(key[rows] for key in self.keys), self.subject[rows])


def _values(signals: pa.Table, table: CandidateTable) -> I64:
    """Hash of each candidate's slot values; 0 = no values, or the candidate is not of the turn's list."""
    lists = flat(signals["candidates"])
    offsets = list_offsets(lists)
    listed = (table.offset >= 0) & (table.entry < np.diff(offsets)[table.turn])
    value = np.append(lists.flatten().field("value_id").to_numpy(), 0)
    return np.asarray(value[np.where(listed, offsets[table.turn] + table.entry, -1)], dtype=np.int64)


@dataclass(frozen=True)
class Verdicts:
    """One pool a kind of key, in the order of `KINDS`; each subject counts once a key."""

    pools: tuple[Pool, ...]

    def columns(self, judged: Judged, fold: I64, without: int | None = None) -> Design:
        """What other folds' verdicts tell of each candidate, shape (m, len(NAMES)).

        NaN where it has no such key; no subjects and the overall share where the key is unknown.

        Parameters
        ----------
        judged : Judged
            m candidates.
        fold : numpy.ndarray of int64, shape (m,)
            Fold of the subject of each candidate's turn, as at the fit.
        without : int, optional
            Another fold to leave out.
        """
        parts = [pool.look_up(key, fold, without) for pool, key in zip(self.pools, judged.keys, strict=True)]
        return Design(np.hstack(parts), NAMES)

    def stacked(self, judged: Judged, fold: I64, folds: int) -> list[Design]:
        """Each booster's own view, as `models.boost.fit_folds` wants it."""
        return [self.columns(judged, fold, k) for k in range(folds)]

    def plain(self) -> list[dict[str, str | list[int]]]:
        """The pools as plain data, for a JSON file."""
        return [pool.plain() for pool in self.pools]

    @staticmethod
    def from_plain(held: Sequence[dict[str, Any]]) -> Verdicts:
        """Read what `plain` gave."""
        return Verdicts(tuple(Pool.from_plain(entry) for entry in held))


def fit_verdicts(judged: Judged, right: F64, rows: Mask, fold: I64, folds: int) -> Verdicts:
    """Pool the verdicts on candidates.

    Parameters
    ----------
    judged : Judged
        m candidates.
    right : numpy.ndarray, shape (m,)
        Share of raters who call the candidate right.
    rows : numpy.ndarray of bool, shape (m,)
        Candidates whose verdict is known and may be learned from.
    fold : numpy.ndarray of int64, shape (m,)
    folds : int
    """
    at = np.flatnonzero(rows)
    figures = pd.DataFrame({"right": right[at]})
    few = judged.take(at)
    return Verdicts(tuple(fit_pool(key, few.subject, fold[at], figures, folds) for key in few.keys))
