from __future__ import annotations

import numpy as np
import pytest
from build import interpretation, turns

from features.signals import signals
from models.design import (
    EVIDENCE,
    TURN_SIGNALS,
    Design,
    candidate_design,
    candidate_table,
    numbers,
    turn_design,
)
from models.prior import NAMES, fit_prior


def logged():
    one, other = interpretation("a", 0.5, to="x"), interpretation("a", 0.3, to="y")
    return signals(
        turns(
            {"subject_id": "u", "nbest": [one, other, interpretation("a", 0.1, to="x")]},
            {"subject_id": "u", "nbest": []},
            {"subject_id": "v", "nbest": [other]},
        )
    )


def test_a_table_holds_each_distinct_candidate_once():
    table = candidate_table(logged())
    assert table.turn.tolist() == [0, 0, 2]
    assert table.entry.tolist() == [0, 1, 0]
    assert table.is_top.tolist() == [True, False, True]
    assert table.evidence[:, EVIDENCE.index("mass")].tolist() == pytest.approx([0.6, 0.3, 0.3])


def test_a_turn_sees_its_best_its_runner_up_and_the_most_of_the_others():
    design = turn_design(logged())
    at = {name: k for k, name in enumerate(design.names)}
    assert design.names[: len(TURN_SIGNALS)] == TURN_SIGNALS
    assert design.values[:, at["top.mass"]].tolist() == pytest.approx([0.6, np.nan, 0.3], nan_ok=True)
    assert design.values[:, at["second.mass"]].tolist() == pytest.approx([0.3, np.nan, np.nan], nan_ok=True)
    assert design.values[:, at["other.mass"]].tolist() == pytest.approx([0.3, np.nan, np.nan], nan_ok=True)


def test_a_candidate_is_compared_with_the_best():
    rows = logged()
    table = candidate_table(rows)
    design = candidate_design(rows, table, turn_design(rows, table))
    at = {name: k for k, name in enumerate(design.names)}
    assert design.values[:, at["vs_top.mass"]].tolist() == pytest.approx([0.0, -0.3, 0.0])
    assert design.values[:, at["is_top"]].tolist() == [1.0, 0.0, 1.0]
    assert len(set(design.names)) == len(design.names) == design.values.shape[1]


def test_no_keys_among_what_the_models_see():
    names = set(turn_design(logged()).names)
    assert not {n for n in names if n.rpartition(".")[2].endswith("_id")}


def test_a_prior_adds_its_columns_and_wants_folds():
    rows = logged()
    fold = np.array([0, 0, 1])
    prior = fit_prior(rows, fold, 2)
    table = candidate_table(rows, prior, fold)
    assert table.names == EVIDENCE + NAMES
    assert table.evidence.shape == (3, len(table.names))
    assert f"top.{NAMES[0]}" in turn_design(rows, table).names
    with pytest.raises(ValueError, match="fold"):
        candidate_table(rows, prior)


def test_no_turns():
    empty = signals(turns())
    assert turn_design(empty).values.shape == (0, len(turn_design(logged()).names))


def test_select_keeps_the_order_given():
    design = Design(np.array([[1.0, 2.0]], np.float32), ("a", "b"))
    assert design.select(("b", "a")).values.tolist() == [[2.0, 1.0]]


def test_numbers_of_flags_and_nulls():
    assert numbers(logged()["barge_in"]).tolist() == pytest.approx([np.nan] * 3, nan_ok=True)
    assert numbers(logged()["negates"]).tolist() == [0.0, 0.0, 0.0]
