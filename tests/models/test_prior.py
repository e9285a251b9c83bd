from __future__ import annotations

import json

import numpy as np
import pytest
from build import interpretation, turns

from features.signals import signals
from models.design import candidate_table
from models.pool import STRENGTH
from models.prior import KINDS, NAMES, Prior, fit_prior

X, Y = interpretation("a", 0.8, to="x"), interpretation("a", 0.4, to="y")


def logged(*nbest_by_subject):
    rows = [{"subject_id": s, "nbest": [h], "prompt": "Where to?"} for s, h in nbest_by_subject]
    return signals(turns(*rows))


def told(rows, fold, name, prior=None):
    fold = np.array(fold)
    prior = prior or fit_prior(rows, fold, 2)
    table = candidate_table(rows, prior, fold)
    return table.evidence[:, table.names.index(name)].tolist()


def test_a_turn_reads_the_other_folds_only():
    rows = logged(("u", X), ("v", X), ("w", X), ("z", Y))
    # The folds of v and w hold one other subject each, which is too few to tell.
    assert told(rows, [0, 1, 1, 1], "prior.candidate.subjects") == pytest.approx([np.log1p(2), 0.0, 0.0, 0.0])


def test_a_subject_counts_once():
    rows = logged(("u", X), ("v", X), ("v", X), ("w", X))
    assert told(rows, [0, 1, 1, 1], "prior.candidate.subjects")[0] == pytest.approx(np.log1p(2))


def test_what_a_subject_does_elsewhere_does_not_reach_its_own_turns():
    others = [("v", X), ("w", Y), ("w", X)]
    alone, again = logged(("u", X), ("u", Y), *others), logged(("u", X), ("u", X), *others)
    fold = np.array([0, 0, 1, 1, 1])
    for name in NAMES:
        assert np.array_equal(told(alone, fold, name)[:1], told(again, fold, name)[:1], equal_nan=True), name


def test_means_start_from_the_mean_of_all():
    rows = logged(("u", X), ("v", X), ("w", X), ("z", Y))
    overall = (2 * 0.8 + 0.4) / 3
    expected = (2 * 0.8 + STRENGTH * overall) / (2 + STRENGTH)
    assert told(rows, [0, 1, 1, 1], "prior.candidate.top_score")[0] == pytest.approx(expected, abs=1e-6)


def test_a_value_is_pooled_over_frames_and_null_without_one():
    at_x = interpretation("b", 0.2, at="x")
    rows = logged(("u", X), ("v", at_x), ("w", at_x), ("z", interpretation("b")))
    got = told(rows, [0, 1, 1, 1], "prior.value.subjects")
    assert got[0] == pytest.approx(np.log1p(2)) and np.isnan(got[3])
    assert told(rows, [0, 1, 1, 1], "prior.candidate.subjects")[0] == 0.0


def test_a_frame_is_pooled_as_an_answer_to_the_question():
    rows = logged(("u", X), ("v", Y), ("w", Y))
    assert told(rows, [0, 1, 1], "prior.answer.subjects")[0] == pytest.approx(np.log1p(2))
    unasked = signals(turns({"subject_id": "u", "nbest": [X]}, {"subject_id": "v", "nbest": [Y]}))
    assert np.isnan(told(unasked, [0, 1], "prior.answer.subjects")).all()


def test_new_subjects_and_candidates_read_what_was_fitted():
    prior = fit_prior(logged(("u", X), ("v", X)), np.array([1, 1]), 2)
    rows = logged(("n", X), ("m", Y))
    assert told(rows, [0, 0], "prior.candidate.subjects", prior) == pytest.approx([np.log1p(2), 0.0])


def test_it_is_the_same_after_a_file():
    rows = logged(("u", X), ("v", X), ("w", Y))
    fold = np.array([0, 1, 1])
    prior = fit_prior(rows, fold, 2)
    again = Prior.from_plain(json.loads(json.dumps(prior.plain())))
    assert again.plain() == prior.plain()
    table = candidate_table(rows, prior, fold)
    assert np.array_equal(table.evidence, candidate_table(rows, again, fold).evidence, equal_nan=True)


def test_the_order_of_subjects_does_not_matter():
    one = fit_prior(logged(("u", X), ("v", X), ("w", Y)), np.array([0, 1, 0]), 2)
    other = fit_prior(logged(("w", Y), ("v", X), ("u", X)), np.array([0, 1, 0]), 2)
    assert one.plain() == other.plain()


def test_nothing_to_pool():
    rows = signals(turns({"nbest": []}))
    prior = fit_prior(rows, np.array([0]), 2)
    assert [len(pool.keys) for pool in prior.pools] == [0] * len(KINDS)
    seen = candidate_table(logged(("u", X)), prior, np.array([0])).evidence[:, -len(NAMES) :]
    assert seen[0, 0] == 0.0
