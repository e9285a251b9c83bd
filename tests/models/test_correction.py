from dataclasses import replace

import numpy as np
import pytest

from models.correction import best_alternative, eligible, weak_candidate_labels
from models.design import EVIDENCE, CandidateTable


def _table(turn, entry, later=None, affirmed=None):
    turn, entry = np.array(turn), np.array(entry)
    evidence = np.zeros((len(turn), len(EVIDENCE)), np.float32)
    evidence[:, EVIDENCE.index("later_top")] = 0 if later is None else later
    evidence[:, EVIDENCE.index("affirmed_after")] = 0 if affirmed is None else affirmed
    zeros = np.zeros(len(turn), np.int64)
    return CandidateTable(
        turn=turn,
        entry=entry,
        offset=zeros,
        candidate_id=zeros,
        support=zeros - 1,
        origin=zeros - 1,
        is_top=entry == 0,
        evidence=evidence,
    )


def test_the_best_alternative_is_never_the_top_and_its_margin_counts_the_top():
    table = _table([0, 0, 0, 1], [0, 1, 2, 0])
    choice = best_alternative(table, np.array([0.5, 0.8, 0.6, 0.9]), 2)
    assert choice.row.tolist() == [1, -1]
    assert choice.probability.tolist() == [0.8, 0.0]
    # .8 - .6 in binary is less than .2: a lead is rounded before a threshold of .2 is held against it.
    assert choice.margin[0] == 0.2


def test_the_margin_is_negative_where_the_top_is_likelier():
    choice = best_alternative(_table([0, 0], [0, 1]), np.array([0.7, 0.4]), 1)
    assert choice.margin[0] == pytest.approx(-0.3)


def test_n_best_order_breaks_a_tie():
    choice = best_alternative(_table([0, 0, 0], [0, 2, 1]), np.array([0.1, 0.4, 0.4]), 1)
    assert choice.row.tolist() == [2]


def test_weak_labels_share_the_defect_by_later_evidence():
    table = _table([0, 0, 0], [0, 1, 2], affirmed=[5, 1, 0])
    label = weak_candidate_labels(table, np.array([0.8]))
    # The alternative has 2 of evidence against 1/4 for "none of them"; the top's own evidence is no alternative's.
    assert label.tolist() == pytest.approx([0.2, 0.8 * 2 / 2.25, 0.0])


@pytest.mark.parametrize(("failed", "share"), [(0.0, 1 / 1.25), (0.5, 0.25 / 0.5), (1.0, 0.0)])
def test_a_repeat_counts_as_far_as_it_satisfied(failed, share):
    table = _table([0, 0, 1], [0, 1, 0], later=[0, 1, 0])
    table = replace(table, support=np.array([-1, 1, -1]))
    label = weak_candidate_labels(table, np.array([0.8, failed]))
    assert label[1] == pytest.approx(0.8 * share)


@pytest.mark.parametrize(("defective", "passes"), [([], True), ([1], False), ([2], False), ([3], True)])
def test_no_supporting_turn_may_be_defective_neither_the_first_nor_the_one_it_was_taken_from(defective, passes):
    table = replace(_table([0, 0], [0, 1]), support=np.array([-1, 1]), origin=np.array([-1, 2]))
    is_defect = np.isin(np.arange(4), [0, *defective])
    choice = best_alternative(table, np.array([0.1, 0.9]), 4)
    assert eligible(table, choice, is_defect, 0.6).tolist() == [passes, False, False, False]


@pytest.mark.parametrize(("top", "passes"), [(0.6, False), (0.599999, True)])
def test_a_candidate_must_be_likelier_than_the_top_one(top, passes):
    table = _table([0, 0], [0, 1])
    choice = best_alternative(table, np.array([top, 0.6]), 1)
    assert eligible(table, choice, np.array([True]), 0.6).tolist() == [passes]
    assert not eligible(table, choice, np.array([True]), 0.61).any()
