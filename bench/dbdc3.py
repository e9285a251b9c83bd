"""DBDC3: breakdowns of chats with bots, as distributions of thirty judges over none (O), possible (T), breakdown (X).

English; trained on the development dialogs alone, scored once on the evaluation dialogs. As in the challenge
(Higashinaka et al. 2017) a system turn is judged from what was said up to it; `with_reaction` shows what the user's
next utterance adds.

The judges of two of the four development systems used X far less than those of the other two, whatever the system
said. So the model learns where a turn stands among its system's, and an unknown system has the mean and spread of all.
That, and the number of trees, was chosen by leaving one development system out at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.dialogs import Dialogs, Judged, judged_turns, lines
from models.boost import FoldModel, fit_folds
from models.design import Design, turn_design
from models.folds import subject_folds
from models.metrics import auc
from models.words import WordsModel, fit_words

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Words = tuple[WordsModel, list[Design]]

LABELS: Final = "OTX"
FOLDS: Final = 5
SEED: Final = 7
# 4,150 turns of 415 dialogs, and labels with little noise.
ROUNDS: Final = 60
# Least share of a label: thirty judges have seldom none.
_LEAST: Final = 1e-3


@dataclass(frozen=True)
class Work:
    """Judged system turns: what is known, shares of O, T and X, shape (n, 3), and the system of each."""

    judged: Judged
    shares: F64
    system: npt.NDArray[np.str_]

    @property
    def design(self) -> Design:
        """Signals."""
        return turn_design(self.judged.signals)

    @property
    def label(self) -> F64:
        """What is learned, shape (n, 3)."""
        return without_system(self.shares, self.system)

    @property
    def fold(self) -> I64:
        """By dialog."""
        return subject_folds(self.judged.subject, FOLDS)


def load(data: Path, part: str, with_reaction: bool) -> Work | None:
    """Read the dialogs of a part (`dev` or `eval`); None where there is none."""
    dialogs, judged, shares, system = Dialogs(), [], [], []
    for held in lines(data / "dbdc3", f"en_{part}.jsonl.gz"):
        said = alternating(held["turns"])
        rows = dialogs.add(held["dialogue-id"], [(t["speaker"] == "U", t["utterance"] or "") for t in said])
        for row, turn in zip(rows, said, strict=True):
            if turn.get("annotations"):
                marks = [a["breakdown"] for a in turn["annotations"]]
                judged.append(row)
                shares.append([marks.count(label) / len(marks) for label in LABELS])
                system.append(held["system"])
    if not judged:
        return None
    return Work(judged_turns(dialogs, np.array(judged), with_reaction), np.array(shares), np.array(system))


def alternating(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The turns, with an empty one of the user between two of the system, so that each is judged by itself."""
    out: list[dict[str, Any]] = []
    for turn in turns:
        if out and turn["speaker"] != "U" and out[-1]["speaker"] != "U":
            out.append({"speaker": "U", "utterance": ""})
        out.append(turn)
    return out


@dataclass(frozen=True)
class Model:
    """For each label, boosters over signals and words."""

    words: tuple[WordsModel, ...]
    boosters: tuple[FoldModel, ...]

    def predict(self, design: Design, said: pa.Table) -> F64:
        """Shares of O, T and X of turns of dialogs that were not trained on, shape (n, 3): the mean over the folds."""
        out = np.zeros((len(said), len(LABELS)))
        for k in range(FOLDS):
            fold = np.full(len(out), k)
            for at, (words, boosters) in enumerate(zip(self.words, self.boosters, strict=True)):
                out[:, at] += boosters.predict(design.beside(words.columns(said, fold)), fold) / FOLDS
        return normalised(out)


def fit_words_of_labels(said: pa.Table, label: F64, fold: I64) -> list[Words]:
    """For each label a model over words, and what each booster sees of it."""
    one = np.ones(len(label))
    return [fit_words(said, label[:, at], one, fold, FOLDS) for at in range(len(LABELS))]


def fit_boosters(design: Design, words: list[Words], label: F64, fold: I64, seed: int = SEED) -> Model:
    """For each label boosters over signals and its words."""
    one = np.ones(len(label))
    boosters = [
        fit_folds(design, label[:, at], one, fold, FOLDS, seed, ROUNDS, stacked)[0]
        for at, (_, stacked) in enumerate(words)
    ]
    return Model(tuple(learned for learned, _ in words), tuple(boosters))


def without_system(shares: F64, system: npt.NDArray[np.str_]) -> F64:
    """Shares of each label with their system's mean and spread made those of all systems, cut to [0, 1]."""
    out = np.zeros_like(shares)
    for name in np.unique(system):
        own = shares[system == name]
        spread = np.maximum(own.std(axis=0), _LEAST)
        out[system == name] = (own - own.mean(axis=0)) / spread * shares.std(axis=0) + shares.mean(axis=0)
    return np.asarray(np.clip(out, 0.0, 1.0), dtype=np.float64)


def normalised(shares: F64) -> F64:
    """Rows that sum to 1, nothing below `_LEAST` before."""
    cut = np.maximum(shares, _LEAST)
    return np.asarray(cut / cut.sum(axis=1, keepdims=True), dtype=np.float64)


def divergence(p: F64, q: F64) -> float:
    """Mean Jensen-Shannon divergence of the rows, base 2 (Lin 1991)."""
    middle = (p + q) / 2.0

    def against(a: F64) -> F64:
        ratio = np.divide(a, middle, out=np.ones_like(a), where=a > 0)
        return np.asarray((a * np.log2(ratio)).sum(axis=1))

    return float(((against(p) + against(q)) / 2.0).mean())


def figures(data: Path) -> dict[str, float]:
    """All figures of this work; empty where the data is absent."""
    out: dict[str, float] = {}
    for prefix, with_reaction in (("", False), ("with_reaction.", True)):
        known, asked = (load(data, part, with_reaction) for part in ("dev", "eval"))
        if known is None or asked is None:
            return {}
        words = fit_words_of_labels(known.judged.said, known.label, known.fold)
        model = fit_boosters(known.design, words, known.label, known.fold)
        guess = model.predict(asked.design, asked.judged.said)
        out |= {f"{prefix}jsd": divergence(guess, asked.shares), f"{prefix}auc": breakdown_auc(asked, guess[:, 2])}
    constant = np.tile(known.shares.mean(axis=0), (len(asked.shares), 1))
    longer = -np.nan_to_num(asked.design.select(("response_tokens",)).values[:, 0])
    return out | {
        "turns": len(asked.shares),
        "baseline.jsd": divergence(constant, asked.shares),
        "baseline.auc": breakdown_auc(asked, longer.astype(np.float64)),
    }


def breakdown_auc(work: Work, score: F64) -> float:
    """AUC of "at least half of the judges say X"."""
    return auc((work.shares[:, 2] >= 0.5).astype(np.float64), score)
