"""What such words are usually taken to mean: readings of other users' like requests, as evidence for a candidate.

A classifier of utterances into frames (`models.reader`) learns from turns with the reading that satisfied, or that
people called right, and from the rows that the present NLU model was trained on, where they are given. The n-best
that an NLU model gives for misheard words is compared with what those words meant elsewhere; Ponnusamy et al. 2019
(arXiv 1911.02557) pool the same knowledge by whole utterances (`models.chain` does).

It reads the user's words alone and learns from labels, for the correction model. `models.words` asks whether a turn was
a defect, also by the answer and the reaction; `models.wish_words` asks the same as this one, without labels, where the
wishes are the labels (`train.weak_from = words`).

A booster must not learn from a column that has seen the row's own label, nor be judged on a subject that its column
has seen. So a reader is fitted for each PAIR of folds, on all others: booster k learns from rows of fold j with the
reader that has seen neither j nor k, and judges rows of fold k with the mean of those that have not seen k.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from features.grams import Grams, grams
from features.text import distinct, flat, normalise
from models.boost import TrainingError
from models.design import CandidateTable, Design, frames
from models.lessons import Lessons, gathered, label_numbers
from models.options import LEAST_FOLDS
from models.packing import pack, unpack
from models.reader import SHARPNESS, Reader, fit_reader, mean_reader

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NAMES: Final = tuple(f"reading.{n}" for n in ("score", "p", "lead", "vs_top", "rank", "entropy"))
LETTERS: Final = (3,)
# A text that many say is no surer than some are.
_MOST_WEIGHT: Final = 3.0

LeftOut = tuple[int, ...]


def words(utterance: pa.Array | pa.ChunkedArray) -> Grams:
    """Utterances as the readers see them; normalised ones are left as they are."""
    return grams(normalise(distinct(utterance)), letters=LETTERS)


@dataclass(frozen=True)
class ReadingModel:
    """One reader a fold; reader k has not seen the subjects of fold k.

    Attributes
    ----------
    readers : tuple of Reader
    labels : numpy.ndarray of int64, shape (l,)
        Frames, ascending.
    rarity : numpy.ndarray of float16, shape (columns,)
        `Grams.rarity` of the texts that it was fitted on.
    """

    readers: tuple[Reader, ...]
    labels: I64
    rarity: npt.NDArray[np.float16]

    def columns(self, held: Grams, frame: I64, table: CandidateTable, fold: I64) -> Design:
        """What the words tell of each candidate, shape (m, len(NAMES)); NaN for a frame that was not learned.

        Parameters
        ----------
        held : Grams
            The n turns' `words`.
        frame : numpy.ndarray of int64, shape (m,)
            Of each candidate.
        table : CandidateTable
            m candidates of n turns, each turn's best one among them.
        fold : numpy.ndarray of int64, shape (m,)
            Fold of the subject of each candidate's turn, as at the fit.
        """
        asked = Asked.of(held.weighted(self.rarity.astype(np.float64)), label_numbers(self.labels, frame), table)
        out = np.full((len(table.turn), len(NAMES)), np.nan, np.float32)
        for k, reader in enumerate(self.readers):
            asked.fill(out, reader, fold == k)
        return Design(out, NAMES)

    def plain(self) -> dict[str, Any]:
        """The model as plain data, for a JSON file."""
        return {
            "readers": [r.plain() for r in self.readers],
            "labels": [f"{v:016x}" for v in self.labels.view(np.uint64).tolist()],
            "rarity": pack(self.rarity, "<f2"),
        }

    @staticmethod
    def from_plain(held: Mapping[str, Any]) -> ReadingModel:
        """Read what `plain` gave."""
        rarity = unpack(held["rarity"], "<f2").astype(np.float16)
        labels = np.array([int(v, 16) for v in held["labels"]], np.uint64).view(np.int64)
        return ReadingModel(tuple(Reader.from_plain(r, len(rarity)) for r in held["readers"]), labels, rarity)


@dataclass(frozen=True)
class Asked:
    """Candidates that readers are asked about.

    Attributes
    ----------
    held : Grams
        Words of the turns, weighted by rarity.
    label : numpy.ndarray of int64, shape (m,)
        Number of each candidate's frame; -1 = not learned.
    top : numpy.ndarray of int64, shape (m,)
        That of its turn's best candidate.
    turn : numpy.ndarray of int64, shape (m,)
        Ascending.
    """

    held: Grams
    label: I64
    top: I64
    turn: I64

    @staticmethod
    def of(held: Grams, label: I64, table: CandidateTable) -> Asked:
        """Of a table's candidates."""
        top = np.full(len(held.text), -1, np.int64)
        top[table.turn[table.is_top]] = label[table.is_top]
        return Asked(held, label, top[table.turn], table.turn)

    def fill(self, out: F32, reader: Reader, mask: Mask) -> None:
        """Write `NAMES` of the candidates in `mask`, whole turns, into `out`."""
        turns = np.unique(self.turn[mask])
        if not len(turns) or not len(reader.intercept):
            return
        rows = np.flatnonzero(mask)
        order = np.argsort(np.searchsorted(turns, self.turn[rows]), kind="stable")
        rows = rows[order]
        begin = np.searchsorted(self.turn[rows], turns, "left")
        count = np.searchsorted(self.turn[rows], turns, "right") - begin
        for at, score in reader.scores(self.held, turns):
            owner = np.repeat(np.arange(len(at)), count[at])
            inside = np.arange(len(owner)) - np.repeat(np.cumsum(count[at]) - count[at], count[at])
            of_chunk = rows[begin[at][owner] + inside]
            out[of_chunk] = _told(score, owner, self.label[of_chunk], self.top[of_chunk])


def _told(score: F32, owner: I64, label: I64, top: I64) -> F32:
    """`NAMES` of candidates from their turns' margins, shape (c, len(NAMES))."""
    highest = score.max(axis=1, keepdims=True)
    p = np.exp(SHARPNESS * (score - highest))
    p /= p.sum(axis=1, keepdims=True)
    first = p.argmax(axis=1)
    best_p = p[np.arange(len(p)), first]
    rest = p.copy()
    rest[np.arange(len(p)), first] = 0.0
    second_p = rest.max(axis=1)
    entropy = -(p * np.log(np.maximum(p, 1e-12))).sum(axis=1)
    known = label >= 0
    at = np.maximum(label, 0)
    own_score, own = score[owner, at], p[owner, at]
    other = np.where(first[owner] == at, second_p[owner], best_p[owner])
    of_top = np.where(top >= 0, p[owner, np.maximum(top, 0)], 0.0)
    rank = (score[owner] > own_score[:, None]).sum(axis=1)
    columns = np.column_stack([own_score, own, own - other, own - of_top, rank, entropy[owner]]).astype(np.float32)
    columns[~known, :-1] = np.nan
    return columns


@dataclass(frozen=True)
class ReadingTask:
    """All that readers are fitted from: words of turns and lessons, the labels, and the candidates asked about."""

    asked: Asked
    lessons: Lessons
    labels: I64
    rarity: npt.NDArray[np.float16]

    @staticmethod
    def of(
        signals: pa.Table,
        utterance: pa.Array | pa.ChunkedArray,
        table: CandidateTable,
        lessons: tuple[I64, I64, F64],
        fold: I64,
        known: pa.Table | None = None,
    ) -> ReadingTask:
        """Gather the lessons, which are as from `turn_lessons`; `known` is as in `models.training.train`."""
        n = signals.num_rows
        more = pa.table({"utterance": pa.array([], pa.string())}) if known is None else known.select(["utterance"])
        said = pa.concat_arrays([flat(utterance).cast(pa.string()), flat(more["utterance"]).cast(pa.string())])
        plain = words(said)
        rarity = plain.rarity().astype(np.float16)
        held = plain.weighted(rarity.astype(np.float64))
        frame = frames(signals, table)
        learned, labels = gathered(signals, frame, held.text, lessons, fold, known)
        of_turns = Grams(held.counts, held.text[:n])
        return ReadingTask(Asked.of(of_turns, label_numbers(labels, frame), table), learned, labels, rarity)

    def fit(self, left_out: Iterable[LeftOut]) -> dict[LeftOut, Reader]:
        """A reader for each set of folds, fitted on all others and on the lessons of no user."""

        def fit(folds: LeftOut) -> Reader:
            part = self.lessons
            rows = pd.DataFrame({"text": part.text, "label": part.label, "weight": part.weight})
            merged = rows[~np.isin(part.fold, folds)].groupby(["text", "label"], as_index=False)["weight"].sum()
            weight = np.minimum(merged["weight"].to_numpy() * len(merged) / merged["weight"].sum(), _MOST_WEIGHT)
            text, label = merged["text"].to_numpy(np.int64), merged["label"].to_numpy(np.int64)
            return fit_reader(self.asked.held, text, label, weight, len(self.labels))

        return {folds: fit(folds) for folds in left_out}

    def stacked(
        self, readers: Mapping[LeftOut, Reader], fold: I64, folds: Sequence[int], learned: Mask
    ) -> list[Design]:
        """Each booster's own view of `NAMES`, as `models.boost.fit_folds` wants it.

        Parameters
        ----------
        readers : mapping
            By the folds that they have not seen: all pairs of `folds`, each with the same others besides.
        fold : numpy.ndarray of int64, shape (m,)
            Of each candidate's turn.
        folds : sequence of int
            One booster each.
        learned : numpy.ndarray of bool, shape (m,)
            Candidates that a booster may learn from, whole turns; for others only the columns that judge them are
            made.
        """
        out = np.full((len(folds), len(fold), len(NAMES)), np.nan, np.float32)
        for place, k in enumerate(folds):
            self.asked.fill(out[place], self.mean(readers, k), fold == k)
        for left_out, reader in readers.items():
            pair = [f for f in folds if f in left_out]
            for k, j in (pair, pair[::-1]):
                self.asked.fill(out[folds.index(k)], reader, (fold == j) & learned)
        return [Design(values, NAMES) for values in out]

    @staticmethod
    def mean(readers: Mapping[LeftOut, Reader], fold: int) -> Reader:
        """The mean of the readers that have not seen a fold, as it is stored."""
        return mean_reader([r for left_out, r in readers.items() if fold in left_out]).stored()


def fit_reading(task: ReadingTask, fold: I64, folds: int, learned: Mask) -> tuple[ReadingModel, list[Design]]:
    """Fit the readers.

    Parameters
    ----------
    task : ReadingTask
        Of n turns and m candidates.
    fold : numpy.ndarray of int64, shape (m,)
        Of each candidate's turn.
    folds : int
        At least `LEAST_FOLDS`: a reader leaves two out.
    learned : numpy.ndarray of bool, shape (m,)
        Candidates that boosters learn from, whole turns.

    Returns
    -------
    model : ReadingModel
    columns : list of Design, length folds
        What booster k is to see, from readers that have seen neither the row's fold nor fold k.

    Raises
    ------
    models.boost.TrainingError
        If there are fewer folds.
    """
    if folds < LEAST_FOLDS:
        raise TrainingError(f"{folds} folds: a model of readings wants at least {LEAST_FOLDS} (train.folds)")
    readers = task.fit(combinations(range(folds), 2))
    stacked = task.stacked(readers, fold, range(folds), learned)
    held = tuple(task.mean(readers, k) for k in range(folds))
    return ReadingModel(held, task.labels, task.rarity), stacked
