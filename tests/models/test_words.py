import json

import numpy as np
import pyarrow as pa
import pytest
from calls import with_signals

from features.said import said
from models.boost import TrainingError
from models.defect import fit_defect
from models.design import turn_design
from models.folds import subject_folds
from models.judge import judge
from models.metrics import auc
from models.options import TrainOptions
from models.store import dumps, loads
from models.training import train
from models.words import NAMES, WordsModel, fit_words


def some(rows=400, seed=0):
    """Reactions that say `wrong` or `fine` by label, answers that say nothing, and every tenth reaction missing."""
    generator = np.random.default_rng(seed)
    label = (generator.random(rows) < 0.3).astype(np.float64)
    noise = generator.integers(0, 50, (rows, 2))
    reaction = [f"w{a} {'wrong' if bad else 'fine'} w{b}" for (a, b), bad in zip(noise, label, strict=True)]
    table = pa.table(
        {
            "utterance": [f"u{a}" for a, _ in noise],
            "answer": ["all right"] * rows,
            "reaction": [None if at % 10 == 0 else text for at, text in enumerate(reaction)],
        }
    )
    return table, label, np.arange(rows) % 5


def test_it_learns_the_word_that_tells():
    table, label, fold = some()
    model, _ = fit_words(table, label, np.ones(len(label)), fold, 5)
    score = model.columns(table, fold).values[:, NAMES.index("words.reaction")]
    known = ~np.isnan(score)
    assert known.sum() == 360
    assert auc(label[known], score[known]) == 1.0
    of_answer = model.columns(table, fold).values[:, NAMES.index("words.answer")]
    assert np.abs(of_answer - np.log(label.mean() / (1 - label.mean()))).max() < 0.3


def test_a_row_without_any_text_of_a_part_is_nan():
    table, label, fold = some(50)
    model, _ = fit_words(table, label, np.ones(50), fold, 5)
    nothing = pa.table({name: pa.nulls(2, pa.string()) for name in table.column_names})
    assert np.isnan(model.columns(nothing, np.array([0, 1])).values).all()


def test_no_column_has_seen_the_labels_of_the_booster_s_fold_or_of_the_row_s():
    table, label, fold = some()
    _, columns = fit_words(table, label, np.ones(len(label)), fold, 5)
    flipped = np.where(np.isin(fold, (1, 3)), 1.0 - label, label)
    _, other = fit_words(table, flipped, np.ones(len(label)), fold, 5)
    # Booster 1 learns from fold 3, and booster 3 judges fold 3, without the flipped labels of folds 1 and 3.
    np.testing.assert_array_equal(columns[1].values[fold == 3], other[1].values[fold == 3])
    np.testing.assert_array_equal(columns[3].values[fold == 1], other[3].values[fold == 1])
    assert np.nanmax(np.abs(columns[1].values[fold == 2] - other[1].values[fold == 2])) > 0.1


def test_what_is_judged_is_what_the_booster_s_own_fold_was_given():
    table, label, fold = some()
    model, columns = fit_words(table, label, np.ones(len(label)), fold, 5)
    given = np.stack([columns[k].values for k in range(5)])[fold, np.arange(len(fold))]
    np.testing.assert_array_equal(model.columns(table, fold).values, given)


def test_rows_of_no_weight_are_not_learned_from():
    table, label, fold = some()
    weight = (np.arange(len(label)) < 300).astype(np.float64)
    flipped = np.where(weight > 0, label, 1.0 - label)
    first, second = (fit_words(table, values, weight, fold, 5)[0].plain() for values in (label, flipped))
    assert first == second


def test_the_model_reads_back_from_json():
    table, label, fold = some()
    model, _ = fit_words(table, label, np.ones(len(label)), fold, 5)
    again = WordsModel.from_plain(json.loads(json.dumps(model.plain())))
    assert again.plain() == model.plain()
    np.testing.assert_array_equal(again.columns(table, fold).values, model.columns(table, fold).values)


@pytest.mark.parametrize(("folds", "label", "message"), [(2, None, "at least 3"), (5, 0.0, "one class only")])
def test_what_cannot_be_learned_is_said(folds, label, message):
    table, labels, _ = some(40)
    values = labels if label is None else np.full(40, label)
    with pytest.raises(TrainingError, match=message):
        fit_words(table, values, np.ones(40), np.arange(40) % folds, folds)


def test_boosters_with_words_tell_what_the_signals_cannot():
    """Which of two made-up words the user says has nothing to do with the signals, and decides the label."""
    _, signals, _ = with_signals()
    generator = np.random.default_rng(1)
    label = (generator.random(signals.num_rows) < 0.4).astype(np.float64)
    words = pa.table(
        {
            "utterance": np.where(label > 0, "blip", "blop"),
            "answer": pa.nulls(len(label), pa.string()),
            "reaction": pa.nulls(len(label), pa.string()),
        }
    )
    design, fold = turn_design(signals), subject_folds(signals["subject_id"], 5)
    every = np.ones(len(label), bool)
    _, without = fit_defect(design, label, label, every, fold, 5, 1.0, 1)
    _, with_words = fit_defect(design, label, label, every, fold, 5, 1.0, 1, words)
    assert auc(label, without) < 0.6
    assert auc(label, with_words) > 0.99


def test_a_model_with_words_is_trained_stored_and_judges_from_the_turns():
    turns, signals, gold = with_signals()
    options = TrainOptions(words=True)
    words = said(turns, signals)
    models = train(signals, gold, options, said=words)
    data = dumps(models)
    assert dumps(train(signals, gold, options, said=words)) == data
    assert dumps(loads(data)) == data
    first, second = (judge(turns, signals, m)[0] for m in (models, loads(data)))
    assert first.equals(second)
    assert models.defect_id != train(signals, gold).defect_id


def test_a_model_with_words_asks_for_them():
    _, signals, gold = with_signals()
    with pytest.raises(ValueError, match=r"train\.words wants"):
        train(signals, gold, TrainOptions(words=True))


def test_the_words_of_wishes_are_not_worked_out_for_a_model_that_does_not_hear_them(monkeypatch):
    turns, signals, gold = with_signals()
    models = train(signals, gold, TrainOptions(words=True), said=said(turns, signals))

    def asked(_):
        raise AssertionError("grams with letter sequences, which cost most, and nobody reads them")

    monkeypatch.setattr("models.judge.word_grams", asked)
    assert models.reads_words and not models.hears_wishes
    assert judge(turns, signals, models)[0].num_rows == turns.num_rows
