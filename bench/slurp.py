"""SLURP: spoken requests to a home assistant, read by five real systems, with the true intent of each.

Every recording of the test set is a turn of its own. The live system's text is the utterance and its intent is what was
acted on; the other systems' intents are further entries of the n-best, in a fixed order and without scores. The truth
is of the intent (scenario and action), so slots are left out: each intent is one candidate. Folds go by sentence.

The users' present NLU training set is there too: the development sentences and HWU64, which has the same intents,
less every row whose words are those of a test sentence.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.alike import alike
from bench.relabels import PRECISION, Relabels, Truth, relabels
from features.interpretation import flatten, hex_id
from features.signals import signals
from features.text import normalise
from features.timeline import sort
from models.boost import fit_folds
from models.calibration import fit_beta
from models.certify import one_per_subject
from models.design import Design, frames
from models.lessons import turn_lessons
from models.metrics import clopper_pearson_low
from models.reading import ReadingTask
from models.training_table import TrainingTable, training_table
from schemas import GOLD, TURN

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FOLDS: Final = 5
SEED: Final = 7
# The live system, which alone gives its text; then the others.
SYSTEMS: Final = ("multi_slurp_hermit", "multi_hermit", "multi_sfid", "google_hermit", "google_sfid")
START: Final = datetime(2020, 1, 1, tzinfo=UTC)
# No recording is in another's session.
APART: Final = timedelta(hours=1)


@dataclass(frozen=True)
class Work:
    """The recordings as turns, what is known of them, and the NLU training set."""

    turns: pa.Table
    table: TrainingTable
    known: pa.Table

    @property
    def truth(self) -> Truth:
        """All turns are scored."""
        right = np.nan_to_num(self.table.right)
        return Truth(self.table.candidates, right, np.ones(self.turns.num_rows, bool), self.table.fold)


def load(data: Path) -> Work | None:
    """Read the recordings; None where they are absent."""
    folder = data / "slurp"
    sentences = {row["slurp_id"]: row for row in _read(folder, "test.jsonl.gz")}
    rows = [r for r in _read(folder, "test_system_predictions.jsonl.gz") if r["slurp_id"] in sentences]
    rows = [r for r in rows if r["predictions"].get(SYSTEMS[0], {}).get("text", "").strip()]
    if not rows:
        return None
    turns = sort(TURN.conform(pa.Table.from_pylist([_turn(at, r) for at, r in enumerate(rows)], schema=TURN.schema)))
    intents = {f"sentence:{key}": (row["scenario"], row["action"]) for key, row in sentences.items()}
    table = training_table(signals(turns), gold(turns, intents), FOLDS)
    return Work(turns, table, known(data, [row["sentence"] for row in sentences.values()]))


def _read(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob(name)):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            yield from (json.loads(line) for line in stream if line.strip())


def _turn(at: int, row: dict[str, Any]) -> dict[str, Any]:
    told = [row["predictions"][s] for s in SYSTEMS if s in row["predictions"]]
    held: dict[str, Any] = dict.fromkeys(TURN.names)
    return held | {
        "turn_id": row["file"],
        "conversation_id": row["file"],
        # Folds go by subject: no recording of a sentence is on both sides.
        "subject_id": f"sentence:{row['slurp_id']}",
        "user_known": False,
        "sequence": 0,
        "event_time": START + at * APART,
        "utterance": told[0]["text"],
        "interpretations": [_interpretation(t["scenario"], t["action"]) for t in told],
        "executed": 0,
        "source": {"uri": "test_system_predictions.jsonl.gz", "position": at},
    }


def _interpretation(scenario: str, action: str) -> dict[str, Any]:
    return {"domain": scenario, "intent": action, "slots": [], "score": None}


def gold(turns: pa.Table, intents: dict[str, tuple[str, str]]) -> pa.Table:
    """Whether each turn's leading hypothesis is wrong, and whether each hypothesis is right.

    Parameters
    ----------
    turns : pyarrow.Table
    intents : dict
        Domain and intent meant, by subject.
    """
    held = flatten(turns["interpretations"])
    ids = hex_id(held.candidate_id)
    rows = []
    for k, turn in enumerate(turns.select(["turn_id", "subject_id", "interpretations"]).to_pylist()):
        right = [(h["domain"], h["intent"]) == intents[turn["subject_id"]] for h in turn["interpretations"]]
        judged = dict(zip(ids[held.offsets[k] : held.offsets[k + 1]], right, strict=True))
        rows.append((turn["turn_id"], "wrong_interpretation", None, float(not right[0])))
        rows += [(turn["turn_id"], "right_interpretation", c, float(r)) for c, r in judged.items()]
    names = ("turn_id", "definition", "candidate_id", "value", "source")
    return pa.Table.from_pylist([dict(zip(names, (*r, "slurp"), strict=True)) for r in rows], schema=GOLD.schema)


def known(data: Path, tested: list[str]) -> pa.Table:
    """Rows of the NLU training set, without those whose words are a tested sentence's."""
    rows = [(r["sentence"], r["scenario"], r["action"]) for r in _read(data / "slurp", "devel.jsonl.gz")]
    rows += [(r["text"], r["scenario"], r["intent"]) for r in _read(data / "hwu64", "hwu64_cv.jsonl.gz")]
    texts = normalise(pa.array([text for text, _, _ in rows], pa.string()))
    keep = pa.compute.invert(pa.compute.is_in(texts, value_set=normalise(pa.array(tested, pa.string()))))
    read = [[_interpretation(domain, intent)] for _, domain, intent in rows]
    return pa.table(
        {"utterance": texts, "interpretations": pa.array(read, TURN.schema.field("interpretations").type)}
    ).filter(keep)


def figures(data: Path) -> dict[str, float]:
    """All figures of this work; empty where the data is absent."""
    work = load(data)
    if work is None:
        return {}
    truth, table = work.truth, work.table
    votes = np.nan_to_num(table.candidates.evidence[:, table.candidates.names.index("repeats")]).astype(np.float64)
    own = work.table.candidate_rows
    alone = scores(work, own, None)
    read = scores(work, own, work.known)
    pooled = scores(work, own.beside(pooled_over_alike(work, votes)), work.known)
    before = truth.right_share(table.candidates.is_top.astype(np.float64))
    out = {
        "recordings": work.turns.num_rows,
        "sentences": len(work.turns["subject_id"].unique()),
        "known_rows": work.known.num_rows,
        "right.before": before,
        "right.oracle": truth.right_share(truth.right),
        "right.baseline.after": truth.right_share(votes),
        "right.log_only.after": truth.right_share(alone.outer),
        "right.pooled.after": truth.right_share(pooled.outer),
        **_after(truth, read.outer),
    }
    for name, found in (("", read), (".log_only", alone), (".pooled", pooled)):
        out |= _relabelled(f"relabels90{name}", work, relabels(truth, found.by_part))
    # The vote by itself has no scale on which to lead, so none is asked of it.
    return out | _relabelled("relabels90.baseline", work, relabels(truth, [votes] * FOLDS, by_lead=False))


def _after(truth: Truth, score: F64) -> dict[str, float]:
    picked = truth.chosen_right(score)
    each = [float(picked[truth.fold == k].mean()) for k in range(FOLDS)]
    return {"right.after": float(picked.mean()), "right.after.fold_std": float(np.std(each, ddof=1))}


def _relabelled(name: str, work: Work, found: Relabels) -> dict[str, float]:
    each = np.bincount(work.table.fold[found.turn], minlength=FOLDS)
    subjects, turn_ids = (work.turns[c].to_numpy(zero_copy_only=False) for c in ("subject_id", "turn_id"))
    # Recordings of a sentence are no independent proofs.
    one = one_per_subject(subjects[found.turn], turn_ids[found.turn])
    return {
        name: float(len(found.turn) if found.precision >= PRECISION else 0),
        f"{name}.made": float(len(found.turn)),
        f"{name}.precision": found.precision,
        f"{name}.needless": float(found.needless.sum()),
        f"{name}.low95": clopper_pearson_low(int(found.right[one].sum()), len(one)) if len(one) else 0.0,
        f"{name}.fold_mean": float(each.mean()),
        f"{name}.fold_std": float(each.std(ddof=1)),
    }


@dataclass(frozen=True)
class Scores:
    """p(right) of each candidate from models that have not seen its sentence.

    Attributes
    ----------
    outer : numpy.ndarray, shape (m,)
    by_part : list of numpy.ndarray, shape (m,)
        For each fold calibrated on its training part; rows of that part by models fitted within it.
    """

    outer: F64
    by_part: list[F64]


def pooled_over_alike(work: Work, votes: F64) -> Design:
    """What the systems made of alike recordings, the twin of the other microphone left out."""
    candidates = work.table.candidates
    files = work.turns["turn_id"].to_pylist()
    event = np.array([f.removesuffix(".flac").removesuffix("-headset") for f in files], dtype=object)
    held = reading_task(work, None).asked.held
    return alike(held, candidates, frames(work.table.signals, candidates), votes, event)


def scores(work: Work, design: Design, known: pa.Table | None) -> Scores:
    """Fit the correction model on every training part, with all that is chosen on the way chosen inside it.

    Readers leave out the pair of a booster's fold and a row's; within the training part of a fold, that one too.
    """
    table, fold = work.table, work.table.fold
    right = work.truth.right
    of_row = fold[table.candidates.turn]
    everything = np.ones(len(right), bool)
    task = reading_task(work, known)
    pairs, triples = (list(combinations(range(FOLDS), size)) for size in (2, 3))
    readers = task.fit([*pairs, *triples])
    stacked = task.stacked({p: readers[p] for p in pairs}, of_row, range(FOLDS), everything)
    weight = np.ones(len(right))
    _, outer = fit_folds(design, right, weight, of_row, FOLDS, SEED, stacked=stacked)
    by_part = []
    for k in range(FOLDS):
        others = [f for f in range(FOLDS) if f != k]
        within = task.stacked({t: readers[t] for t in triples if k in t}, of_row, others, everything)
        part = np.flatnonzero(of_row != k)
        few, seen = _rows(design, part), [_rows(s, part) for s in within]
        place = np.searchsorted(others, of_row[part])
        _, inner = fit_folds(few, right[part], weight[part], place, len(others), SEED, stacked=seen)
        calibration = fit_beta(inner, right[part])
        held = calibration(outer)
        held[part] = calibration(inner)
        by_part.append(held)
    return Scores(outer, by_part)


def reading_task(work: Work, known: pa.Table | None) -> ReadingTask:
    """Lessons of all folds; what a reader leaves out is said when it is fitted."""
    table = work.table
    no_doubt = np.zeros(work.turns.num_rows)
    lessons = turn_lessons(table.candidates, table.right, no_doubt, no_doubt == 0, 1.0)
    return ReadingTask.of(table.signals, work.turns["utterance"], table.candidates, lessons, table.fold, known)


def _rows(design: Design, rows: I64) -> Design:
    return Design(design.values[rows], design.names)
