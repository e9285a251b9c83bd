"""One seed of the loop: a weak model serves, the pipeline curates, the model is trained again and scored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_matrix

from bench.loop import score
from bench.loop.corpus import Corpus, Cut, cut
from bench.loop.curation import Curated, curate
from bench.loop.log import log, rows_of
from bench.loop.nlu import Nlu, features, fit
from bench.loop.sessions import Turns, simulate
from features.text import flat
from schemas import LABEL_KINDS

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

ROUNDS: Final = 4
# Self-training takes the model's own labels from this score on; without feedback there is nothing else to choose by.
SURE: Final = 0.9
# Seconds in which the simplest correction takes the next request for the same wish: the middle of a wronged user's
# pauses and a served one's.
SOON: Final = 12.0


@dataclass(frozen=True)
class Rows:
    """Training rows: rows of the corpus under labels, true or not; shapes (n,)."""

    row: I64
    label: I64

    def __len__(self) -> int:
        """Rows."""
        return len(self.row)

    def __add__(self, other: Rows) -> Rows:
        """Both, one after the other."""
        return Rows(np.concatenate([self.row, other.row]), np.concatenate([self.label, other.label]))

    def take(self, keep: Mask) -> Rows:
        """Where the mask holds."""
        return Rows(self.row[keep], self.label[keep])


@dataclass(frozen=True)
class Served:
    """Traffic that a model served, and what the pipeline made of its log."""

    said: Turns
    labels: I64
    scores: F64
    curated: Curated


@dataclass(frozen=True)
class Harvest:
    """Training rows that the pipeline released, and which of them are corrections."""

    rows: Rows
    correction: Mask


class Loop:
    """The corpus cut with one seed, and all that is done with it.

    Parameters
    ----------
    corpus : Corpus
    test_fold : int
    seed : int
    """

    def __init__(self, corpus: Corpus, test_fold: int, seed: int, rows: csr_matrix | None = None) -> None:
        self.corpus, self.seed = corpus, seed
        self.cut: Cut = cut(corpus, test_fold, seed)
        self.features = features(corpus.text) if rows is None else rows
        self._row = {text: k for k, text in enumerate(corpus.text.tolist())}

    @cached_property
    def start(self) -> Rows:
        """The seed's rows."""
        return Rows(self.cut.seed, self.corpus.label[self.cut.seed])

    @cached_property
    def first(self) -> Nlu:
        """The weak model."""
        return self.fit(self.start)

    def fit(self, rows: Rows, served: bool = True) -> Nlu:
        """A model of the given rows; with calibrated scores if it is to serve."""
        labels = len(self.corpus.names)
        return fit(self.features[rows.row], rows.label, labels, self.seed, None if served else 1.0)

    def right(self, model: Nlu) -> Mask:
        """Which test rows it gets right."""
        test = self.cut.test
        return np.asarray(model.best(self.features[test]) == self.corpus.label[test], dtype=bool)

    def serve(self, model: Nlu, traffic: I64, name: str, week: int = 0) -> Served:
        """Users say the traffic to the model, and the pipeline curates the log."""
        labels, scores = model.nbest(self.features)
        said = simulate(traffic, self.corpus.label, labels[:, 0], [self.seed, week])
        return Served(said, labels, scores, curate(log(self.corpus, said, labels, scores, name)))

    def harvest(self, served: Served) -> Harvest:
        """What the pipeline released, as training rows."""
        # What was rejected teaches an NLU model nothing that it could be trained on.
        held = served.curated.examples
        examples = held.filter(pc.is_in(held["kind"], value_set=pa.array(LABEL_KINDS)))
        at = {name: k for k, name in enumerate(self.corpus.names)}
        names = zip(examples["domain"].to_pylist(), examples["intent"].to_pylist(), strict=True)
        row = np.array([self._row[text] for text in examples["utterance"].to_pylist()], np.int64)
        label = np.array([at[name] for name in names], np.int64)
        return Harvest(Rows(row, label), np.array([k == "correction" for k in examples["kind"].to_pylist()], bool))

    def precision(self, rows: Rows) -> float:
        """Share of rows whose label was meant."""
        return score.precision(self.corpus.label[rows.row], rows.label)


Found = tuple[dict[str, float], dict[str, float], dict[str, float], dict[str, float]]


def one_seed(loop: Loop) -> Found:
    """All figures of one seed, and errors by domain before and after, and after self-training without feedback."""
    before, domain = loop.right(loop.first), loop.corpus.domain[loop.cut.test]
    traffic = Rows(loop.cut.traffic, loop.corpus.label[loop.cut.traffic])
    served = loop.serve(loop.first, loop.cut.traffic, "seed")
    harvest = loop.harvest(served)

    def trained(rows: Rows) -> Mask:
        return loop.right(loop.fit(loop.start + rows, served=False))

    result = score.Outcome(before, trained(harvest.rows), trained(traffic))
    own = Rows(traffic.row, served.labels[traffic.row, 0])
    simple = {
        "self_training": own,
        "self_training_sure": own.take(served.scores[traffic.row, 0] >= SURE),
        "confirmations": harvest.rows.take(~harvest.correction),
    }
    best = _ceilings(loop, served)
    scored = {f"baseline.{name}": trained(rows) for name, rows in simple.items()}
    scored |= {f"ceiling.{name}": trained(rows) for name, rows in best.items()}
    shares = {name: replace(result, after=right).oracle_share for name, right in scored.items()}
    # The better of the two, so that the loop is held against the stronger rival.
    rival = max(("baseline.self_training", "baseline.self_training_sure"), key=lambda name: shares[name])
    alone = replace(result, after=scored[rival])
    figures = {
        "accuracy.before": float(before.mean()),
        "accuracy.after": float(result.after.mean()),
        "accuracy.oracle": float(result.oracle.mean()),
        "oracle_share": result.oracle_share,
        "win": result.win,
        "loss": result.loss,
        **{f"{name}.accuracy": float(right.mean()) for name, right in scored.items()},
        **{f"{name}.oracle_share": share for name, share in shares.items()},
        "baseline.oracle_share": alone.oracle_share,
        "baseline.win": alone.win,
        "baseline.loss": alone.loss,
        **_made(loop, served, harvest),
    }
    errors = [score.error_by_domain(right, domain) for right in (before, result.after, alone.after)]
    return figures, errors[0], errors[1], errors[2]


def _made(loop: Loop, served: Served, harvest: Harvest) -> dict[str, float]:
    """What the log held, and what the pipeline took from it."""
    said = served.said
    wrong = served.labels[said.row, 0] != loop.corpus.label[said.row]
    corrections, confirmations = (harvest.rows.take(k) for k in (harvest.correction, ~harvest.correction))
    turn = rows_of(served.curated.judgements["turn_id"])
    p_defect = flat(served.curated.judgements["p_defect"]).to_numpy()
    return {
        "turns": len(said),
        "wrong": float(wrong.mean()),
        "corrections": len(corrections),
        "correction_precision": loop.precision(corrections),
        "baseline.correction_precision": loop.precision(_said_again(served)),
        "confirmations": len(confirmations),
        "confirmation_precision": loop.precision(confirmations),
        "defect.auc": score.auc(wrong[turn], p_defect),
        "defect.baseline.auc": score.auc(wrong, 1.0 - served.scores[said.row, 0]),
    }


def _ceilings(loop: Loop, served: Served) -> dict[str, Rows]:
    """What perfect judgement would release: right turns alone; and with them the wrong ones that a repair tells of.

    Wrong turns without a repair that was understood can be corrected by other users' words alone.
    """
    row = served.said.row
    meant, right = loop.corpus.label[row], served.labels[row, 0] == loop.corpus.label[row]
    told = right.copy()
    for k in np.flatnonzero(served.said.rephrased)[::-1].tolist():
        told[k] |= told[k + 1]
    said = Rows(row, meant)
    return {"right": said.take(right), "traced": said.take(told)}


def _said_again(served: Served) -> Rows:
    """The simplest correction: what soon follows, and is read otherwise, says what was meant."""
    said = served.said
    top = served.labels[said.row, 0]
    soon = (np.diff(said.session) == 0) & (np.diff(said.seconds) <= SOON) & (top[1:] != top[:-1])
    return Rows(said.row[:-1][soon], top[1:][soon])


def weeks(loop: Loop, rounds: int = ROUNDS) -> dict[str, float]:
    """The same week over week: each week's traffic is served by the model that the weeks before gave.

    Beside it self-training, which takes all that its own model read.
    """
    rows, model, out = loop.start, loop.first, {}
    own, alone = loop.start, loop.first
    for k, week in enumerate(np.array_split(loop.cut.traffic, rounds), 1):
        harvest = loop.harvest(loop.serve(model, week, f"week{k}", k))
        rows = rows + harvest.rows
        model = loop.fit(rows)
        out[f"round{k}.accuracy"] = float(loop.right(model).mean())
        out[f"round{k}.correction_precision"] = loop.precision(harvest.rows.take(harvest.correction))
        own = own + Rows(week, alone.best(loop.features[week]))
        alone = loop.fit(own, served=False)
        out[f"round{k}.baseline.accuracy"] = float(loop.right(alone).mean())
    return out
