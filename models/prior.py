"""What other users' turns tell of a candidate: figures pooled over subjects, without any label.

A reading that many users were confident of, that was confirmed and never denied, is likelier than one that
nobody settled on (the popularity that "reformulation chains" pool, Ponnusamy et al. 2019, arXiv 1911.02557).
Three keys are pooled: the whole candidate, its slot values under any frame, and its frame as an answer to the
system's question.

A turn never sees its own subject: the pool is kept by fold of subject, and a turn of fold k reads the other
folds. What is pooled is the training table as a whole, so for an early turn it holds other users' later sessions:
it is state of the fitted model, like the boosters, and not a signal of the turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from features.hashing import mix, strings
from features.interpretation import list_offsets
from features.text import flat
from models.pool import Pool, fit_pool

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

KINDS: Final = ("candidate", "value", "answer")
# Means over the turns whose best hypothesis has the key; of a signal, or of the best candidate's evidence.
TURN_FIGURES: Final = ("top_score", "apologises", "cannot_help", "confirmation", "question_repeat")
TOP_FIGURES: Final = ("echo", "later_top", "later_frame")
FIGURES: Final = TURN_FIGURES + TOP_FIGURES
NAMES: Final = tuple(f"prior.{kind}.{f}" for kind in KINDS for f in ("subjects", *FIGURES))


@dataclass(frozen=True)
class Prior:
    """One pool a kind of key, in the order of `KINDS`."""

    pools: tuple[Pool, ...]

    def features(self, signals: pa.Table, turn: I64, entry: I64, fold: I64) -> F32:
        """What other folds' subjects tell of each candidate, shape (m, len(NAMES)).

        Parameters
        ----------
        signals : pyarrow.Table
            n Signals rows.
        turn, entry : numpy.ndarray of int64, shape (m,)
            Each candidate's row of `signals` and place in its list.
        fold : numpy.ndarray of int64, shape (n,)
            Fold of each turn's subject, as at the fit.
        """
        return self.of(_keys(signals, turn, entry), fold[turn])

    def of(self, keys: tuple[I64, I64, I64], fold: I64) -> F32:
        """The same by keys in the order of `KINDS` and the fold of each candidate's turn, shape (m,) each."""
        return np.hstack([pool.look_up(key, fold) for pool, key in zip(self.pools, keys, strict=True)])

    def plain(self) -> list[dict[str, str | list[int]]]:
        """The pools as plain data, for a JSON file."""
        return [pool.plain() for pool in self.pools]

    @staticmethod
    def from_plain(held: Sequence[Mapping[str, str | list[int]]]) -> Prior:
        """Read what `plain` gave."""
        return Prior(tuple(Pool.from_plain(entry) for entry in held))


def fit_prior(signals: pa.Table, fold: I64, folds: int) -> Prior:
    """Pool the figures of turns by what their best hypothesis says. Reads no label.

    Parameters
    ----------
    signals : pyarrow.Table
        n Signals rows of whole subjects.
    fold : numpy.ndarray of int64, shape (n,)
        Fold of each turn's subject, in [0, folds).
    folds : int
    """
    has = _understood(flat(signals["candidates"]))
    first = np.zeros(len(has), np.int64)
    figures = _figures(signals, has)
    subject = pd.factorize(strings(signals["subject_id"]))[0][has]
    return Prior(tuple(fit_pool(key, subject, fold[has], figures, folds) for key in _keys(signals, has, first)))


def _understood(lists: pa.ListArray) -> I64:
    """Rows of turns that have an n-best of their own; its best hypothesis stands first in the list."""
    offsets = list_offsets(lists)
    has = np.flatnonzero(np.diff(offsets) > 0)
    first = lists.flatten().field("offset").take(pa.array(offsets[:-1][has])).to_numpy()
    return np.asarray(has[first == 0], dtype=np.int64)


def _figures(signals: pa.Table, rows: I64) -> pd.DataFrame:
    """The figures of the turns at `rows`, each of which has candidates."""
    lists = flat(signals["candidates"])
    top = lists.flatten().take(pa.array(list_offsets(lists)[:-1][rows]))
    own = {name: signals[name].to_pandas().to_numpy(np.float64, na_value=np.nan)[rows] for name in TURN_FIGURES}
    of_top = {name: top.field(name).to_pandas().to_numpy(np.float64, na_value=np.nan) for name in TOP_FIGURES}
    return pd.DataFrame(own | {name: np.minimum(values, 1.0) for name, values in of_top.items()})


def _keys(signals: pa.Table, turn: I64, entry: I64) -> tuple[I64, I64, I64]:
    """The keys of candidates in the order of `KINDS`; 0 = has none."""
    lists = flat(signals["candidates"])
    rows, entries = list_offsets(lists)[turn] + entry, lists.flatten()
    candidate, value, frame = (
        entries.field(name).to_numpy()[rows] for name in ("candidate_id", "value_id", "frame_id")
    )
    return candidate, value, answers(signals, turn, frame)


def answers(signals: pa.Table, turn: I64, frame: I64) -> I64:
    """Key of a frame as an answer to the question that its turn's prompt asked; 0 = none was asked."""
    question = signals["question_id"].fill_null(0).to_numpy()[turn]
    return np.where(question != 0, mix(frame, question), 0)
