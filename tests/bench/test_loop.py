"""The loop: users keep the stated rates, the cut keeps the folds apart, scores by value, and a tiny run to its end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from made_up_corpus import made_up

from bench import loop as bench_loop
from bench.loop import score
from bench.loop.corpus import cut
from bench.loop.curation import CONFIG, curate
from bench.loop.experiment import Loop, one_seed, weeks
from bench.loop.log import log, rows_of
from bench.loop.nlu import features, fit
from bench.loop.sessions import Habits, Turns, simulate
from features.timeline import sort, timeline
from pipeline.jobs.context import Context
from pipeline.jobs.run import run
from pipeline.workspace import Workspace
from schemas import LABEL_KINDS, TURN

CORPUS = made_up()


@pytest.fixture(scope="module")
def served() -> tuple[Turns, np.ndarray, np.ndarray]:
    """60,000 rows of ten intents, four in ten read as another: turns, what was meant, what was read."""
    numbers = np.random.default_rng(7)
    label = numbers.integers(0, 10, 60_000)
    read = np.where(numbers.random(60_000) < 0.4, (label + 1) % 10, label)
    said = simulate(np.arange(60_000), label, read, [5])
    return said, label[said.row], read[said.row]


def _following(said: Turns) -> np.ndarray:
    """Turns that another follows in their session."""
    return np.append(said.session[1:] == said.session[:-1], False)


def test_wrong_turns_are_followed_at_the_stated_rates(served: tuple) -> None:
    said, meant, read = served
    # The third try of a wish cannot be said again, so the rates are asked of the first.
    first = np.append(True, ~said.rephrased[:-1])
    wrong = first & (meant != read)
    cut_short = np.append(said.barge_in[1:], False)
    assert said.rephrased[wrong].mean() == pytest.approx(0.70, abs=0.01)
    assert cut_short[wrong].mean() == pytest.approx(0.15, abs=0.01)
    silent = wrong & ~said.rephrased & ~cut_short
    assert _following(said)[silent].mean() == pytest.approx(Habits().another, abs=0.03)


def test_right_turns_are_never_said_again_or_cut_short(served: tuple) -> None:
    said, meant, read = served
    right = meant == read
    assert not said.rephrased[right].any()
    assert not np.append(said.barge_in[1:], False)[right].any()


def test_a_right_turn_is_followed_by_the_same_intent_in_fifteen_percent_beside_chance(served: tuple) -> None:
    said, meant, read = served
    right = meant == read
    same = _following(said) & (np.append(meant[1:], -1) == meant)
    # Of the rest 60% go on with a wish of any of the ten intents.
    assert same[right].mean() == pytest.approx(0.15 + 0.85 * 0.6 * 0.1, abs=0.01)


def test_a_rephrase_means_the_same_in_other_words_and_comes_twice_at_most(served: tuple) -> None:
    said, meant, _ = served
    at = np.flatnonzero(said.rephrased)
    assert len(at) > 5_000
    assert (meant[at + 1] == meant[at]).all()
    assert (said.row[at + 1] != said.row[at]).all()
    assert (said.session[at + 1] == said.session[at]).all()
    thrice = said.rephrased[:-2] & said.rephrased[1:-1] & said.rephrased[2:]
    assert (said.rephrased[:-1] & said.rephrased[1:]).any()
    assert not thrice.any()


def test_every_utterance_is_said_and_none_twice_while_its_intent_has_others(served: tuple) -> None:
    said, _, _ = served
    times = np.bincount(said.row, minlength=60_000)
    assert times.min() == 1
    assert (times > 1).mean() < 0.01


def test_a_session_is_one_to_the_pipeline() -> None:
    held = cut(CORPUS, 1, 3)
    labels = np.tile(np.arange(5), (len(CORPUS.text), 1))
    said = simulate(held.traffic, CORPUS.label, labels[:, 0], [3])
    turns = sort(log(CORPUS, said, labels, np.full(labels.shape, 0.2), "nlu"))
    found = timeline(turns).session
    made = said.session[rows_of(turns["turn_id"])]
    assert (np.diff(made) != 0).tolist() == (np.diff(found) != 0).tolist()


def test_the_log_tells_nothing_of_what_was_meant() -> None:
    held = cut(CORPUS, 1, 3)
    labels = np.tile(np.arange(5), (len(CORPUS.text), 1))
    said = simulate(held.traffic, CORPUS.label, labels[:, 0], [3])
    told = log(CORPUS, said, labels, np.full(labels.shape, 0.2), "nlu")
    other = CORPUS.__class__(CORPUS.text, (CORPUS.label + 1) % 8, CORPUS.fold, CORPUS.names)
    assert told.schema == TURN.schema
    assert told.equals(log(other, said, labels, np.full(labels.shape, 0.2), "nlu"))


def test_the_cut_keeps_the_test_fold_out_and_takes_a_tenth_of_each_intent() -> None:
    held = cut(CORPUS, 2, 1)
    assert (CORPUS.fold[held.test] == 2).all()
    assert len(held.test) == (CORPUS.fold == 2).sum()
    assert not np.isin(np.concatenate([held.seed, held.traffic]), held.test).any()
    assert len(np.intersect1d(held.seed, held.traffic)) == 0
    assert np.bincount(CORPUS.label[held.seed]).tolist() == [7] * 8
    assert len(held.seed) + len(held.traffic) + len(held.test) == len(CORPUS.text)


def test_scores_of_the_nlu_are_a_distribution_best_first() -> None:
    held = cut(CORPUS, 1, 1)
    rows = features(CORPUS.text)
    model = fit(rows[held.seed], CORPUS.label[held.seed], len(CORPUS.names), 1)
    labels, scores = model.nbest(rows[held.traffic])
    assert labels.shape == (len(held.traffic), 5)
    assert (np.diff(scores, axis=1) <= 0).all()
    assert np.allclose(model.scores(rows[held.traffic]).sum(axis=1), 1.0)
    assert (labels[:, 0] == model.best(rows[held.traffic])).all()
    right = (labels[:, 0] == CORPUS.label[held.traffic]).mean()
    assert scores[:, 0].mean() == pytest.approx(right, abs=0.15)


def test_outcome_by_value() -> None:
    before, after, oracle = (np.array([c == "1" for c in row]) for row in ("110000", "101100", "111110"))
    outcome = score.Outcome(before, after, oracle)
    assert (outcome.win, outcome.loss) == (2, 1)
    assert outcome.oracle_share == pytest.approx(1 / 3)
    assert score.Outcome(before, after, before).oracle_share == 0.0


def test_a_domain_is_worse_only_where_every_doubt_is_above_the_margin() -> None:
    assert score.is_worse(np.array([0.05, 0.06, 0.05, 0.06, 0.05]))
    # Above the margin on average, but not with confidence.
    assert not score.is_worse(np.array([0.10, -0.02, 0.05, -0.01, 0.02]))
    # A sure rise within the margin.
    assert not score.is_worse(np.array([0.009, 0.009, 0.0091, 0.009, 0.009]))
    assert not score.is_worse(np.array([0.5]))


def test_errors_by_domain_and_their_rise() -> None:
    domain = np.array(["a", "a", "b"], dtype=object)
    before = [score.error_by_domain(np.array([True, False, True]), domain)]
    after = [score.error_by_domain(np.array([False, False, True]), domain)]
    assert before == [{"a": 0.5, "b": 0.0}]
    assert {k: v.tolist() for k, v in score.rises(before, after).items()} == {"a": [0.5], "b": [0.0]}


def test_the_loop_runs_to_its_end_and_the_oracle_is_best() -> None:
    loop = Loop(CORPUS, 1, 1)
    once, *errors = one_seed(loop)
    before, after, alone = errors
    found = once | weeks(loop, 2)
    assert found["accuracy.before"] < found["accuracy.oracle"]
    assert found["turns"] >= len(loop.cut.traffic)
    assert found["confirmations"] > 0
    assert all(0.0 <= found[f"round{k}.{arm}accuracy"] <= 1.0 for k in (1, 2) for arm in ("", "baseline."))
    assert set(before) == set(after) == set(alone) == {"alarm", "light", "music"}
    assert found["baseline.oracle_share"] == max(
        found[f"baseline.{arm}.oracle_share"] for arm in ("self_training", "self_training_sure")
    )
    gained = round((found["accuracy.after"] - found["accuracy.before"]) * len(loop.cut.test))
    assert found["win"] - found["loss"] == gained
    # A domain that a seed makes worse by all its rows is proved worse by two seeds alike, under its own key.
    lost = dict.fromkeys(before, 1.0)
    figures = bench_loop.summary([(found, before, after, lost), (found, before, after, lost)])
    assert figures["baseline.domains_worse"] == 3.0
    assert figures["accuracy.after"] == found["accuracy.after"]
    assert figures["accuracy.after.std"] == 0.0
    assert figures["domains"] == 3.0


@pytest.mark.long
def test_curation_gives_what_a_release_of_the_command_gives(tmp_path: Path) -> None:
    loop = Loop(CORPUS, 1, 2)
    labels, scores = loop.first.nbest(loop.features)
    said = simulate(loop.cut.traffic, CORPUS.label, labels[:, 0], [2])
    turns = log(CORPUS, said, labels, scores, "nlu")
    (tmp_path / "logs").mkdir()
    pa.parquet.write_table(turns.drop_columns(["subject_id", "user_known"]), tmp_path / "logs" / "turns.parquet")
    result = run(Context(Workspace(str(tmp_path / "out")), CONFIG, []), str(tmp_path / "logs"), "canonical")
    released = ds.dataset(Path(result["release"]) / "nlu" / "data").to_table().sort_by("id")
    held = curate(turns).examples
    # View nlu holds what words mean, and not what was rejected.
    examples = held.filter(pc.is_in(held["kind"], value_set=pa.array(LABEL_KINDS)))
    assert examples.num_rows > 0
    assert released["id"].to_pylist() == examples["example_id"].to_pylist()
    assert released["intent"].to_pylist() == examples["intent"].to_pylist()


def test_without_data_there_are_no_figures(tmp_path: Path) -> None:
    assert bench_loop.figures(tmp_path) == {}
