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
    assert told(rows, [0, 1, 1, 1], "prior.candidate.subjects") == pytest.approx(np.log1p([2, 1, 1, 0]).tolist())


def test_a_subject_counts_once():
    rows = logged(("u", X), ("v", X), ("v", X), ("v", X))
    assert told(rows, [0, 1, 1, 1], "prior.candidate.subjects")[0] == pytest.approx(np.log1p(1))


def test_means_start_from_the_mean_of_all():
    rows = logged(("u", X), ("v", X), ("w", Y))
    overall = (0.8 + 0.4) / 2
    expected = (0.8 + STRENGTH * overall) / (1 + STRENGTH)
    assert told(rows, [0, 1, 1], "prior.candidate.top_score")[0] == pytest.approx(expected, abs=1e-6)


def test_a_value_is_pooled_over_frames_and_null_without_one():
    rows = logged(("u", X), ("v", interpretation("b", 0.2, at="x")), ("w", interpretation("b")))
    assert told(rows, [0, 1, 1], "prior.value.subjects") == pytest.approx(
        [np.log1p(1), np.log1p(1), np.nan], nan_ok=True
    )
    assert told(rows, [0, 1, 1], "prior.candidate.subjects")[0] == 0.0


def test_a_frame_is_pooled_as_an_answer_to_the_question():
    rows = logged(("u", X), ("v", Y))
    assert told(rows, [0, 1], "prior.answer.subjects") == pytest.approx([np.log1p(1)] * 2)
    unasked = signals(turns({"subject_id": "u", "nbest": [X]}, {"subject_id": "v", "nbest": [Y]}))
    assert np.isnan(told(unasked, [0, 1], "prior.answer.subjects")).all()


def test_new_subjects_and_candidates_read_what_was_fitted():
    prior = fit_prior(logged(("u", X), ("v", X)), np.array([0, 1]), 2)
    rows = logged(("n", X), ("m", Y))
    assert told(rows, [0, 1], "prior.candidate.subjects", prior) == pytest.approx([np.log1p(1), 0.0])


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
