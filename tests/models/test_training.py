from dataclasses import replace

import numpy as np
import pytest
from calls import with_signals

from models.boost import TrainingError
from models.judge import judge
from models.metrics import auc
from models.options import TrainOptions
from models.store import ModelFileError, dumps, loads
from models.training import train
from models.training_table import training_table


@pytest.fixture(scope="module")
def made():
    return with_signals()


@pytest.fixture(scope="module")
def fitted(made):
    _, signals, gold = made
    return train(signals, gold)


def _truth(signals, gold):
    wrong = {r["turn_id"]: r["value"] for r in gold.to_pylist() if r["definition"] == "wrong_interpretation"}
    return np.array([wrong[t] for t in signals["turn_id"].to_pylist()])


def test_training_twice_gives_the_same_file(made, fitted):
    _, signals, gold = made
    assert dumps(train(signals, gold)) == dumps(fitted)


def test_the_order_of_gold_does_not_matter(made, fitted):
    _, signals, gold = made
    assert dumps(train(signals, gold.take(list(range(gold.num_rows))[::-1]))) == dumps(fitted)


def test_a_model_file_reads_back_to_the_same_bytes(fitted):
    assert dumps(loads(dumps(fitted))) == dumps(fitted)


@pytest.mark.parametrize(
    ("data", "sha256", "message"),
    [
        (b"{}", None, "not a model file of format"),
        (b"\x00", None, "not a model file"),
        (b"{}", "0" * 64, "wanted 000"),
    ],
)
def test_a_file_that_is_not_the_model_asked_for_is_refused(data, sha256, message):
    with pytest.raises(ModelFileError, match=message):
        loads(data, sha256)


def test_training_rows_are_earlier_than_the_certification_rows(made):
    _, signals, gold = made
    early = training_table(signals, gold, 5, 0.3).early
    times = np.array(signals["event_time"].to_pylist())
    assert 0.6 < early.mean() < 0.8
    assert times[early].max() < times[~early].min()


def test_later_gold_does_not_change_the_boosters(made, fitted):
    _, signals, gold = made
    early = training_table(signals, gold, 5, 0.3).early
    late = set(np.array(signals["turn_id"].to_pylist(), object)[~early])
    flipped = [r | {"value": 1 - r["value"]} if r["turn_id"] in late else r for r in gold.to_pylist()]
    other = train(signals, type(gold).from_pylist(flipped, schema=gold.schema))
    assert other.defect == fitted.defect
    assert other.correction.plain() == fitted.correction.plain()
    assert other.prior.plain() == fitted.prior.plain()
    assert other.threshold.domains["d"].certified_at is None
    assert fitted.threshold.domains["d"].certified_at is not None


def test_with_gold_the_judgement_is_good_out_of_fold(made, fitted):
    turns, signals, gold = made
    judgements, _ = judge(turns, signals, fitted)
    assert auc(_truth(signals, gold), judgements["p_defect"].to_numpy()) > 0.9


def test_without_gold_it_still_finds_denied_turns_and_certifies_nothing(made):
    turns, signals, gold = made
    models = train(signals, gold.slice(0, 0))
    judgements, corrections = judge(turns, signals, models)
    assert auc(_truth(signals, gold), judgements["p_defect"].to_numpy()) > 0.7
    assert not any(judgements["certified"].to_pylist() + corrections["certified"].to_pylist())
    assert models.report["labels"] == "labelling functions"


def test_gold_of_another_definition_is_not_read(made, fitted):
    _, signals, gold = made
    other = [r | {"definition": "dissatisfied"} for r in gold.to_pylist()]
    models = train(signals, type(gold).from_pylist(other, schema=gold.schema))
    assert models.report["gold_turns"] == 0


def test_gold_of_one_class_is_refused(made):
    _, signals, gold = made
    fine = [r | {"value": 0.0} for r in gold.to_pylist() if r["definition"] == "wrong_interpretation"]
    with pytest.raises(TrainingError, match="one class only"):
        train(signals, type(gold).from_pylist(fine, schema=gold.schema))


def test_with_gold_alone_turns_without_it_teach_nothing(made):
    _, signals, gold = made
    few = gold.filter(np.array([t < "t090" for t in gold["turn_id"].to_pylist()]))
    options = TrainOptions(folds=2, labels="gold", certify_share=0.0)
    models = train(signals, few, options)
    assert models.report["turns_fitted"] == models.report["gold_turns"] == 540
    assert models.report["labels"] == "gold"
    with pytest.raises(TrainingError, match=r"train\.labels = gold"):
        train(signals, gold.slice(0, 0), options)


def test_with_weak_labels_alone_gold_teaches_nothing_but_proves_the_threshold(made):
    _, signals, gold = made
    options = TrainOptions(folds=2, labels="weak", certify_share=0.0)
    models = train(signals, gold, options)
    assert models.defect == train(signals, gold.slice(0, 0), options).defect
    assert models.report["labels"] == "labelling functions" and models.report["gold_turns_fitted"] == 0
    assert models.threshold.domains["d"].basis == "estimated"


def test_a_share_of_raters_is_learned_as_a_share(made):
    _, signals, gold = made
    halved = [r | {"value": 0.25 + 0.5 * r["value"]} for r in gold.to_pylist()]
    models = train(signals, type(gold).from_pylist(halved, schema=gold.schema), TrainOptions(folds=2))
    table = training_table(signals, gold, 2)
    p = models.defect.predict(table.turns, table.fold)
    assert p.min() > 0.15 and p.max() < 0.85


def test_model_ids_name_model_and_threshold(fitted):
    ids = {fitted.defect_id, fitted.correction_id}
    surer = replace(fitted, options=replace(fitted.options, least_correct=0.7))
    further = replace(fitted, tau=replace(fitted.tau, pooled=replace(fitted.tau.pooled, value=0.97)))
    assert len(ids) == 2
    for other in (surer, further):
        assert other.defect_id in ids and other.correction_id not in ids


def test_judgements_follow_the_threshold_and_have_reasons(made, fitted):
    turns, signals, _ = made
    rows = judge(turns, signals, fitted)[0].to_pylist()
    assert [r["turn_id"] for r in rows] == signals["turn_id"].to_pylist()
    for row in rows:
        assert row["is_defect"] == (row["p_defect"] >= row["threshold"])
        assert (row["blame"] == "none") == (not row["is_defect"])
        assert bool(row["reasons"]) <= row["is_defect"]
        assert all(r["contribution"] > 0 for r in row["reasons"])
    assert any(r["is_defect"] for r in rows)


def test_a_correction_is_accepted_only_by_every_rule(made, fitted):
    turns, signals, _ = made
    judgements, corrections = judge(turns, signals, fitted)
    defective = {r["turn_id"] for r in judgements.to_pylist() if r["is_defect"]}
    rows = corrections.to_pylist()
    accepted = [r for r in rows if r["accepted"]]
    assert accepted
    for row in rows:
        assert row["turn_id"] in defective
    for row in accepted:
        assert row["p_correct"] >= TrainOptions().least_correct
        assert row["margin"] >= fitted.tau.domains["d"].value
        assert not set(row["supporting_turns"]) & defective
    assert len({r["turn_id"] for r in accepted}) == len(accepted)


def test_a_turn_is_judged_alike_whichever_others_are_in_the_bucket(made, fitted):
    turns, signals, _ = made
    few = np.array([s < "u050" for s in signals["subject_id"].to_pylist()])
    whole, part = judge(turns, signals, fitted), judge(turns.filter(few), signals.filter(few), fitted)
    assert whole[0].filter(few).equals(part[0])


def test_no_turns_give_no_judgements(made, fitted):
    turns, signals, _ = made
    judgements, corrections = judge(turns.slice(0, 0), signals.slice(0, 0), fitted)
    assert (judgements.num_rows, corrections.num_rows) == (0, 0)
