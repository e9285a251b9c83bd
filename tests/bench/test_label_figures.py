"""The figures of labels: what was blamed, what a model makes of unseen domains."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from build import interpretation, turns

from bench import by_domain, lodo
from bench.blame import figures, truth_of_blame
from bench.weak import aggregations
from features.signals import signals
from models.design import turn_design


def test_what_was_heard_wrong_goes_before_what_was_read_wrong():
    truth = pd.DataFrame(
        {
            "said": ["on", "on", "on", "on", "on"],
            "domain": ["light"] * 5,
            "intent": ["turn"] * 5,
            "wrong": [True, True, True, True, False],
        }
    )
    heard = pd.Series(["of", "on", "on", "on", "of"])
    right, other = {"domain": "light", "intent": "turn"}, {"domain": "light", "intent": "dim"}
    top = pd.Series([right, other, right, None, right])
    assert truth_of_blame(truth, heard, top).tolist() == ["asr", "intent", "slots", "intent", ""]


def test_blame_is_counted_on_wrong_turns_that_were_found():
    blame = np.array(["asr", "intent", "slots", "asr", "none"], object)
    meant = np.array(["asr", "asr", "slots", "", "slots"], object)
    found = figures(blame, meant, np.array([True, True, True, True, False]))
    assert found["accuracy"] == pytest.approx(2 / 3) and found["baseline.accuracy"] == pytest.approx(2 / 3)
    assert (found["asr.recall"], found["slots.precision"], found["turns"]) == (0.5, 1.0, 3.0)
    assert figures(blame, meant, np.zeros(5, bool)) == {}


def _traffic(seed=0, users=220):
    """Three turns a user over five domains: a third is read wrong with a low score, and corrected in the next turn."""
    generator = np.random.default_rng(seed)
    rows, wrong = [], []
    for user in range(users):
        for step in range(3):
            domain, value = f"d{generator.integers(5)}", f"v{generator.integers(5)}"
            missed = generator.random() < 0.4
            common = {"subject_id": f"s{user:03d}", "conversation_id": f"c{user:03d}", "response": "Which day?"}
            score = float(np.clip(generator.normal(0.4 if missed else 0.75, 0.12), 0, 1))
            read = interpretation("go", score, domain, to="zzz" if missed else value)
            rows.append(common | {"sequence": 2 * step, "at": 20.0 * step, "utterance": "to town", "nbest": [read]})
            said = "no" if missed else "thanks"
            act = interpretation("negate" if missed else "thank", 0.9, domain)
            rows.append(common | {"sequence": 2 * step + 1, "at": 20.0 * step + 9, "utterance": said, "nbest": [act]})
            wrong += [missed, False]
    table = turns(*(r | {"turn_id": f"t{k:05d}"} for k, r in enumerate(rows)))
    return table, signals(table), np.array(wrong, float)


def test_unseen_domains_are_scored_by_models_of_others():
    _, rows, wrong = _traffic()
    found = lodo.figures(rows, wrong)
    assert found["domains"] == 5.0
    assert found["gold.auc"] > 0.9 and found["weak.auc"] > 0.8
    assert found["gold.worst"] <= found["gold.auc"] and found["weak.within.auc"] > 0.8
    assert lodo.figures(rows.slice(0, 30), wrong[:30]) == {}


def test_each_way_to_put_votes_together_has_its_figures():
    _, rows, wrong = _traffic(users=40)
    found = aggregations(turn_design(rows), wrong, np.ones(len(wrong), bool))
    assert found["functions"] >= 2 and 0.0 < found["voted"] <= 1.0
    assert found["waterfall.auc"] > 0.8 and found["dawid_skene.auc"] > 0.8 and found["vote.auc"] > 0.8


def test_the_precision_of_what_is_taken_is_that_of_users_not_learned_from():
    table, rows, wrong = _traffic()
    found = by_domain.figures(table, rows, wrong, 900)
    assert 0.8 < found["taken.precision"] <= 1.0 and 0.3 < found["taken.recall"] <= 1.0
    assert found["taken.baseline.precision"] > 0.8


def test_the_worst_domain_is_one_of_those_with_turns_enough():
    domain = ["a"] * 40 + ["b"] * 30 + [None] * 29
    taken = pd.DataFrame({"domain": domain, "wrong": [1.0] * 40 + [0.5] * 30 + [0.0] * 29})
    found = by_domain._precision("taken", taken, 110.0)
    assert found == {"taken.precision": pytest.approx(55 / 99), "taken.recall": 0.5, "taken.worst": 0.5}
