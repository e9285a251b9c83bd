"""Readings of words: what other users' like requests meant, as evidence for a candidate."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from build import interpretation, turns

from features.hashing import strings
from features.interpretation import hex_id
from features.signals import signals
from features.timeline import sort
from models.boost import TrainingError
from models.design import candidate_table, frames
from models.folds import subject_folds
from models.judge import judge
from models.lessons import Lessons, turn_lessons
from models.options import TrainOptions
from models.reader import fit_reader, mean_reader
from models.reading import NAMES, ReadingModel, ReadingTask, fit_reading, words
from models.store import dumps, loads
from models.training import _reading_task, _taught, train
from models.training_table import training_table
from schemas import GOLD

FOLDS = 3
LIGHT, MUSIC, ALARM = "light", "music", "alarm"
SAID = {
    LIGHT: ("switch on the lamp", "lamp on please", "make it bright", "the lamp in the hall on"),
    MUSIC: ("play some jazz", "put on a song", "play that song again", "some jazz please"),
    ALARM: ("wake me at six", "set an alarm", "alarm for six please", "wake me early"),
}


def logged(users: int = 60, wrong: float = 0.0, seed: int = 0) -> pa.Table:
    """Each user says one of the sentences; the n-best holds the meaning and another, which leads in some turns."""
    generator = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        meant, other = generator.choice(list(SAID), 2, replace=False)
        nbest = [interpretation(meant, None), interpretation(other, None)]
        if generator.random() < wrong:
            nbest.reverse()
        text = SAID[str(meant)][user % 4]
        rows.append({"subject_id": f"u{user:03d}", "conversation_id": f"c{user:03d}"})
        rows[-1] |= {"utterance": text, "nbest": nbest}
    return turns(*rows)


def meant_by(utterance: str) -> str:
    return next((m for m, texts in SAID.items() if utterance in texts), "heat")


class Made:
    """A log with all that a fit wants; gold says which candidates are right."""

    def __init__(self, table: pa.Table, gold: bool = True) -> None:
        table = sort(table)
        self.turns, self.signals = table, signals(table)
        self.table = candidate_table(self.signals)
        self.fold = subject_folds(self.signals["subject_id"], FOLDS)
        self.of_row = self.fold[self.table.turn]
        said = table["utterance"].to_pylist()
        intents = [h["intent"] for hs in table["interpretations"].to_pylist() for h in hs]
        self.right = np.array([float(meant_by(said[t]) == i) for t, i in zip(self.table.turn, intents, strict=True)])
        self.gold = self.right if gold else np.full(len(self.right), np.nan)

    def task(self, weak: np.ndarray | None = None, known: pa.Table | None = None) -> ReadingTask:
        weak = np.zeros(self.turns.num_rows) if weak is None else weak
        lessons = turn_lessons(self.table, self.gold, weak, np.ones(len(weak), bool), 0.3)
        return ReadingTask.of(self.signals, self.turns["utterance"], self.table, lessons, self.fold, known)

    def fitted(self, **given: object) -> tuple[ReadingModel, list]:
        return fit_reading(self.task(**given), self.of_row, FOLDS, np.ones(len(self.right), bool))

    def told(self, model: ReadingModel, name: str) -> np.ndarray:
        held = words(self.turns["utterance"])
        design = model.columns(held, frames(self.signals, self.table), self.table, self.of_row)
        return design.values[:, NAMES.index(f"reading.{name}")]


@pytest.fixture(scope="module")
def made() -> Made:
    return Made(logged(wrong=0.3))


@pytest.fixture(scope="module")
def model(made: Made) -> ReadingModel:
    return made.fitted()[0]


def test_the_right_candidate_is_the_likelier_one(made, model):
    p, rank = made.told(model, "p"), made.told(model, "rank")
    assert (p[made.right == 1] > 0.5).mean() > 0.9
    assert (rank[made.right == 1] == 0).mean() > 0.9
    assert p[made.right == 0].max() < p[made.right == 1].mean()


def test_probabilities_lead_and_entropy_are_of_one_distribution(made, model):
    score, p, lead, vs_top, entropy = (made.told(model, n) for n in ("score", "p", "lead", "vs_top", "entropy"))
    assert ((p > 0) & (p < 1)).all()
    assert np.allclose(vs_top[made.table.is_top], 0.0)
    pair = p.reshape(-1, 2).sum(axis=1)
    assert (pair <= 1.0 + 1e-5).all()
    # Three labels in all: the third has what the two leave.
    third = np.maximum(1.0 - pair, 0.0)
    others = np.maximum(p.reshape(-1, 2)[:, ::-1], third[:, None]).ravel()
    assert np.allclose(lead, p - others, atol=1e-5)
    each = np.column_stack([p.reshape(-1, 2), np.maximum(third, 1e-12)])
    assert np.allclose(entropy[::2], -(each * np.log(each)).sum(axis=1), atol=1e-3)
    assert (np.argsort(score.reshape(-1, 2), axis=1) == np.argsort(p.reshape(-1, 2), axis=1)).all()


def test_without_gold_it_learns_from_what_satisfied(made):
    log = Made(logged(120, wrong=0.3), gold=False)
    weak = 1.0 - log.right[log.table.is_top]
    p = log.told(log.fitted(weak=weak)[0], "p")
    assert (p[log.right == 1] > p[log.right == 0].max(initial=0.0)).mean() > 0.5
    assert (p.reshape(-1, 2).argmax(axis=1) == log.right.reshape(-1, 2).argmax(axis=1)).mean() > 0.9


def test_what_no_subject_of_the_other_folds_taught_is_not_known(made):
    """Words that only one fold's users say mean nothing to its own reader, and much to the others'."""
    said = zip(made.turns["utterance"].to_pylist(), made.fold, strict=True)
    texts = ["zig" if k == 0 and meant_by(t) == LIGHT else t for t, k in said]
    marked = made.turns.set_column(made.turns.column_names.index("utterance"), "utterance", pa.array(texts))
    log = Made.__new__(Made)
    log.__dict__ |= made.__dict__ | {"turns": marked}
    task = log.task()
    readers = task.fit(combinations(range(FOLDS), 2))
    column = np.flatnonzero(words(pa.array(["zig"])).counts.toarray()[0])
    seen = {k: np.abs(task.mean(readers, k).weights[column].toarray()).sum() for k in range(FOLDS)}
    assert seen[0] == 0.0 and seen[1] > 0 and seen[2] > 0


def test_a_booster_sees_columns_of_readers_that_saw_neither_fold(made):
    """Turning one fold's labels round changes nothing that its own booster, or its own rows, see."""
    _, before = made.fitted()
    other = Made(made.turns)
    other.gold = np.where(other.of_row == 1, 1.0 - other.right, other.right)
    _, after = other.fitted()
    same = [np.allclose(a.values, b.values, equal_nan=True) for a, b in zip(before, after, strict=True)]
    assert same == [False, True, False]
    own = other.of_row == 1
    for k in range(FOLDS):
        assert np.allclose(before[k].values[own], after[k].values[own], equal_nan=True)


def test_an_nlu_training_set_teaches_what_the_log_does_not(made):
    rare = interpretation("heat", None)
    table = turns({"subject_id": "a", "utterance": "warm it up", "nbest": [interpretation(LIGHT, None), rare]})
    texts = ["warm it up now", "warm the room up", "warmer please", "heat it up", "warm up"]
    rows = [(t, [rare]) for t in texts] + [(t, [interpretation(m, None)]) for m, ts in SAID.items() for t in ts]
    type = table.schema.field("interpretations").type
    known = pa.table({"utterance": [t for t, _ in rows], "interpretations": pa.array([i for _, i in rows], type)})
    table = table.set_column(0, table.schema.field(0), pa.array(["x"]))
    everyone = Made(pa.concat_tables([made.turns, table]), gold=False)
    lead, heat = np.flatnonzero(strings(everyone.signals["turn_id"])[everyone.table.turn] == "x")
    p = everyone.told(everyone.fitted(known=known)[0], "p")
    assert p[heat] > p[lead]
    unknown = everyone.told(everyone.fitted()[0], "p")
    assert np.isnan(unknown[heat]) and unknown[lead] > 0


def test_a_null_utterance_has_no_words_and_breaks_nothing(made, model):
    held = words(pa.array([None] * made.turns.num_rows, pa.string()))
    got = model.columns(held, frames(made.signals, made.table), made.table, made.of_row)
    assert len(np.unique(got.values[made.of_row == 0, NAMES.index("reading.entropy")])) == 1


def test_it_is_the_same_after_a_file(made, model):
    again = ReadingModel.from_plain(json.loads(json.dumps(model.plain())))
    assert again.plain() == model.plain()
    for name in ("score", "p", "rank"):
        assert np.array_equal(made.told(again, name), made.told(model, name))


def test_the_same_log_gives_the_same_bytes(made, model):
    assert json.dumps(made.fitted()[0].plain()) == json.dumps(model.plain())


def test_a_turn_reads_alike_whichever_others_are_there(made, model):
    whole, few = made.told(model, "score"), Made(made.turns.slice(0, 7))
    np.testing.assert_array_equal(few.told(model, "score"), whole[:14])
    np.testing.assert_array_equal(few.told(model, "entropy"), made.told(model, "entropy")[:14])


def test_two_folds_are_too_few(made):
    with pytest.raises(TrainingError, match="at least 3"):
        fit_reading(made.task(), made.of_row, 2, np.ones(len(made.right), bool))


def test_no_frame_of_enough_texts_gives_null_columns():
    log = Made(logged(3))
    assert np.isnan(log.told(log.fitted()[0], "p")).all()


def test_two_labels_and_one_that_no_row_has():
    held = words(pa.array(["lamp on", "lamp off", "play jazz", "play song"]))
    reader = fit_reader(held, held.text, np.array([0, 0, 2, 2]), np.ones(4), 3)
    score = next(reader.scores(held, np.arange(4)))
    by_row = score[1][np.argsort(score[0])]
    assert by_row.argmax(axis=1).tolist() == [0, 0, 2, 2]
    assert (by_row[:, 1] == -1.0).all()


def test_a_mean_of_readers_scores_their_mean():
    held = words(pa.array(["lamp on", "play jazz", "wake me"]))
    one, two = (fit_reader(held, held.text, np.array(label), np.ones(3), 3) for label in ([0, 1, 2], [0, 1, 1]))
    scores = [next(r.scores(held, np.arange(3)))[1] for r in (one, two, mean_reader([one, two]))]
    # Weights below the least are dropped from the mean.
    assert np.allclose(scores[2], (scores[0] + scores[1]) / 2, atol=0.1)


@pytest.fixture(scope="module")
def trained(made):
    options = replace(TrainOptions(), reading=True)
    return train(made.signals, _gold(made), options, said=made.turns.select(["utterance"]))


def _gold(made: Made) -> pa.Table:
    ids, turn_ids = hex_id(made.table.candidate_id), strings(made.signals["turn_id"])[made.table.turn]
    rows = [(t, "right_interpretation", c, r) for t, c, r in zip(turn_ids, ids, made.right, strict=True)]
    top = np.flatnonzero(made.table.is_top)
    rows += [(turn_ids[k], "wrong_interpretation", None, 1 - made.right[k]) for k in top]
    names = ("turn_id", "definition", "candidate_id", "value", "source")
    return pa.Table.from_pylist([dict(zip(names, (*r, "made up"), strict=True)) for r in rows], schema=GOLD.schema)


def test_trained_models_with_readings_read_back_to_the_same_bytes(made, trained):
    assert trained.correction.reading is not None
    assert dumps(loads(dumps(trained))) == dumps(trained)
    judged, again = judge(made.turns, made.signals, trained), judge(made.turns, made.signals, loads(dumps(trained)))
    assert judged[1].equals(again[1])


def test_a_model_with_readings_wants_the_utterances(made):
    with pytest.raises(ValueError, match="wants the Said rows"):
        train(made.signals, _gold(made), replace(TrainOptions(), reading=True))


def test_readings_are_part_of_the_correction_models_id(made, trained):
    without = replace(trained, correction=replace(trained.correction, reading=None))
    assert without.defect_id == trained.defect_id
    assert without.correction_id != trained.correction_id


def test_readings_learn_from_no_other_labels_than_the_models(made):
    """Weak labels alone: gold teaches nothing. Gold alone: a turn that nobody judged teaches nothing."""
    told, said, gold = made.signals, made.turns.select(["utterance"]), _gold(made)

    def taught(labels: str, gold: pa.Table, weak: float) -> Lessons:
        table = training_table(told, gold, FOLDS)
        options = TrainOptions(folds=FOLDS, labels=labels, reading=True)
        wrong, _ = _taught(table.wrong, table.early, options)
        right, _ = _taught(table.right, table.early[table.candidates.turn], options)
        task = _reading_task(table, wrong, right, np.full(told.num_rows, weak), said, None, options)
        assert task is not None
        return task.lessons

    weak, without = (taught("weak", given, 0.25) for given in (gold, GOLD.empty()))
    assert (weak.weight == without.weight).all() and (weak.label == without.label).all()
    half = gold.filter(pc.is_in(gold["turn_id"], value_set=told["turn_id"][:30]))
    assert len(taught("gold", half, 0.5).text) == told.num_rows / 2
    assert len(taught("both", half, 0.5).text) == told.num_rows
    # A turn that people called right as it stands teaches what was acted on, as far as they did.
    top = half.filter(pc.equal(half["definition"], "wrong_interpretation"))
    assert len(taught("gold", top, 0.5).text) == pc.sum(pc.equal(top["value"], 0.0)).as_py()
