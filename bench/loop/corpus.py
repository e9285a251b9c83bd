"""HWU64 as the loop needs it: texts with their true intents, cut into seed, traffic and test.

Liu, Eshghi, Swietojanski and Rieser, IWSDS 2019; CC BY 4.0. An intent is the pair (scenario, intent).
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
Texts = npt.NDArray[np.object_]

# The published benchmark's fold: scored, and never seed or traffic.
TEST_FOLD: Final = 1
# Share of an intent's rows that the first NLU model is trained on; at least one row.
SEED_SHARE: Final = 0.1


@dataclass(frozen=True)
class Corpus:
    """Texts with their true labels.

    Attributes
    ----------
    text : numpy.ndarray of object, shape (n,)
    label : numpy.ndarray of int64, shape (n,)
        Place in `names`.
    fold : numpy.ndarray of int64, shape (n,)
    names : tuple of (str, str)
        Domain and intent of each label.
    """

    text: Texts
    label: I64
    fold: I64
    names: tuple[tuple[str, str], ...]

    @property
    def domain(self) -> npt.NDArray[np.object_]:
        """Domain of each text, shape (n,)."""
        return np.array([domain for domain, _ in self.names], dtype=object)[self.label]

    def without(self, fold: int) -> Corpus:
        """Less the rows of a fold."""
        keep = self.fold != fold
        return Corpus(self.text[keep], self.label[keep], self.fold[keep], self.names)


@dataclass(frozen=True)
class Cut:
    """Rows of the corpus: what the first model is trained on, what users will say, and what is scored."""

    seed: I64
    traffic: I64
    test: I64


def load(data: Path) -> Corpus | None:
    """Read the corpus; None where it is absent. Assumes neither counts nor that every fold is there."""
    rows = []
    for path in sorted((data / "hwu64").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows += [json.loads(line) for line in lines if line.strip()]
    return corpus([(r["text"], r["scenario"], r["intent"], int(r["test_fold"])) for r in rows]) if rows else None


def corpus(rows: list[tuple[str, str, str, int]]) -> Corpus:
    """Rows of text, domain, intent and fold as a `Corpus`."""
    names = sorted({(domain, intent) for _, domain, intent, _ in rows})
    at = {name: k for k, name in enumerate(names)}
    return Corpus(
        text=np.array([text for text, _, _, _ in rows], dtype=object),
        label=np.array([at[domain, intent] for _, domain, intent, _ in rows], np.int64),
        fold=np.array([fold for _, _, _, fold in rows], np.int64),
        names=tuple(names),
    )


def cut(held: Corpus, test_fold: int, seed: int) -> Cut:
    """Cut at random: a tenth of each intent's training rows, at least one, is the seed; the rest is traffic.

    Parameters
    ----------
    held : Corpus
    test_fold : int
        Scored; its rows, and any row with the words of one of them, are neither seed nor traffic.
    seed : int
    """
    test = np.flatnonzero(held.fold == test_fold)
    known = {text.lower() for text in held.text[test]}
    usable = np.array([text.lower() not in known for text in held.text], bool) & (held.fold != test_fold)
    order = np.random.default_rng([seed, 1]).permutation(np.flatnonzero(usable))
    label = held.label[order]
    count = np.bincount(label, minlength=len(held.names))
    by_label = np.argsort(label, kind="stable")
    place = np.empty(len(order), np.int64)
    place[by_label] = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    is_seed = place < np.maximum(1, (count * SEED_SHARE).astype(np.int64))[label]
    return Cut(np.sort(order[is_seed]), order[~is_seed], test)
