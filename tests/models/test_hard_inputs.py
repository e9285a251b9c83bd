"""Inputs that broke others, those of models and labels: each name holds the input's number and what comes in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from build import interpretation, turns
from calls import with_signals

from features.signals import signals
from models.boost import TrainingError, fit_folds
from models.calibration import fit_beta
from models.design import Design, turn_design
from models.judge import judge
from models.labelling import majority, reads, votes, voting
from models.metrics import ece, ece_floor
from models.options import TrainOptions
from models.store import dumps
from models.training import train
from models.training_table import training_table
from models.weak import FEW, weak_labels

OPTIONS = TrainOptions(folds=2)


@pytest.fixture(scope="module")
def made():
    return with_signals()


@pytest.fixture(scope="module")
def fitted(made):
    return train(made[1], made[2], OPTIONS)


def _gold(gold, change):
    return pa.Table.from_pylist([r | change(r) for r in gold.to_pylist()], schema=gold.schema)


def _plain(n=600, seed=5):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(n, 3)).astype(np.float32)
    chance = 1 / (1 + np.exp(-2.0 * values[:, 0]))
    return Design(values, ("a", "b", "c")), (generator.random(n) < chance).astype(float), np.arange(n) % 2


def test_14_a_label_that_arrives_after_the_decision_is_seen_by_no_feature(made):
    _, rows, gold = made
    other = _gold(gold, lambda r: {"value": 1.0 - r["value"]})
    one, two = training_table(rows, gold, 2, 0.3), training_table(rows, other, 2, 0.3)
    for name in ("turns", "candidate_rows"):
        assert getattr(one, name).values.tobytes() == getattr(two, name).values.tobytes()
    assert one.prior.plain() == two.prior.plain()
    assert not np.array_equal(one.wrong, two.wrong)


def test_19_a_training_fold_with_one_class_is_refused(made):
    design, label, fold = _plain()
    with pytest.raises(TrainingError, match=r"fold 1: .* one class only"):
        fit_folds(design, np.where(fold == 0, 1.0, label), np.ones(len(label)), fold, 2, 1, rounds=2)
    _, rows, gold = made
    with pytest.raises(TrainingError, match="one class only"):
        train(rows, _gold(gold, lambda r: {"value": float(r["definition"] == "right_interpretation")}), OPTIONS)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), 1.5, -0.5])
def test_20_labels_that_are_nan_or_infinite_are_refused(made, bad):
    _, rows, gold = made
    # One source among several: a mean that skips it would hide it.
    worse = pa.concat_tables([gold, _gold(gold.slice(0, 1), lambda _: {"value": bad, "source": "another"})])
    with pytest.raises(TrainingError, match=r"no share from 0 to 1, the first .* of turn t"):
        train(rows, worse, OPTIONS)


def test_21_probabilities_that_class_weights_distort_are_calibrated_and_the_ece_is_told(fitted):
    design, label, fold = _plain(4000)
    weight = np.where(label > 0, 8.0, 1.0)
    score = fit_folds(design, label, weight, fold, 2, 1, rounds=40)[1]
    learn, later = slice(0, 2000), slice(2000, 4000)
    p = fit_beta(score[learn], label[learn])(score[later])
    assert ece(label[later], score[later]) > 0.1
    assert ece(label[later], p) < 2.0 * ece_floor(p)
    told = fitted.report["calibration"]
    assert 0.0 <= told["ece"] <= 1.0 and told["floor"] > 0.0
    assert told["turns"] == sum(part["turns"] for part in told["curve"]) > 0


def test_22_a_domain_never_seen_in_training_gets_the_pooled_threshold_and_is_never_certified(made, fitted):
    table, rows, _ = made
    known, _ = judge(table, rows, fitted)
    renamed = rows.set_column(rows.column_names.index("domain"), "domain", pa.array(["new"] * rows.num_rows))
    unknown, corrections = judge(table, renamed, fitted)
    assert set(unknown["threshold_basis"].to_pylist()) == {"unknown"}
    assert set(unknown["threshold"].to_pylist()) == {fitted.threshold.pooled.value}
    assert known["p_defect"].equals(unknown["p_defect"])
    assert any(known["certified"].to_pylist())
    assert not any(unknown["certified"].to_pylist() + corrections["certified"].to_pylist())


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a", "c"), ("a", "b", "x")])
def test_23_a_column_that_is_missing_or_out_of_order_is_refused_by_hash(names):
    design, label, fold = _plain()
    model, _ = fit_folds(design, label, np.ones(len(label)), fold, 2, 1, rounds=2)
    assert model.names_hash != replace(model, names=names).names_hash
    with pytest.raises(ValueError, match=f"hash {model.names_hash[:12]}"):
        model.predict(Design(design.values[:, : len(names)], names), fold)


def test_24_the_same_data_and_seed_give_the_same_bytes(made, fitted):
    assert dumps(train(made[1], made[2], OPTIONS)) == dumps(fitted)


def _rated(users=80):
    """A log that says next to nothing: single turns, half of them rated."""
    generator = np.random.default_rng(3)
    held = [
        {
            "subject_id": f"u{k:03d}",
            "conversation_id": f"c{k:03d}",
            "at": 0.0,
            "sequence": 0,
            "nbest": [interpretation("go", float(generator.random()))],
            "explicit_rating": float(generator.random() < 0.5) if k % 2 else None,
        }
        for k in range(users)
    ]
    return signals(turns(*held))


def test_25_with_one_or_two_labelling_functions_the_majority_decides():
    design = turn_design(_rated())
    cast = votes(design)
    share, counted = majority(cast)
    assert voting(cast) == ("rated low", "rated high") and len(voting(cast)) <= FEW
    label = weak_labels(design, np.arange(80) % 2, 2, 1)
    assert np.array_equal(label[counted > 0], share[counted > 0])
    assert label[counted == 0] == pytest.approx(share[counted > 0].mean())


def test_25_where_no_function_votes_training_is_refused():
    design = turn_design(_rated().slice(0, 1))
    with pytest.raises(TrainingError, match="no labelling function votes"):
        weak_labels(design, np.zeros(1, np.int64), 2, 1)


def test_25_the_majority_vote_is_always_told_beside_the_model(fitted):
    told = fitted.report["votes"]
    assert told["functions"] > FEW and 0.0 < told["share"] <= 1.0
    assert 0.5 < told["auc"] < told["model_auc"] <= 1.0


def test_functions_say_which_columns_they_read():
    assert reads(["rated low", "confirmed"]) == {"explicit_rating", "confirmation", "top.affirmed_after"}
