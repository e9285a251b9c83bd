"""Candidates that come from rephrases: never the best, no label of people, spans in the words of the turn."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from build import interpretation, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from features.interpretation import flatten, hex_id
from features.signals import signals
from features.timeline import sort
from models.design import candidate_table, turn_design
from models.judge import _interpretations, _sources, _supporting
from models.prior import fit_prior
from models.training_table import training_table
from schemas import GOLD

ROCK = interpretation("play", 0.5, genre="rock")
JAZZ = {**interpretation("play", 0.9), "slots": [{"name": "genre", "value": "jazz", "start": 5, "end": 9}]}


def rephrased(own):
    table = turns(
        {"subject_id": "u", "utterance": "play some jass", "nbest": own},
        {"subject_id": "u", "utterance": "play jazz", "nbest": [JAZZ]},
        {"subject_id": "v", "utterance": "play jazz", "nbest": [JAZZ]},
    )
    return table, signals(table)


def test_it_is_a_candidate_but_never_the_best_even_where_the_turn_has_none():
    _, rows = rephrased([ROCK])
    assert candidate_table(rows).offset.tolist() == [0, 1, 0, 0]
    assert candidate_table(rows).is_top.tolist() == [True, False, True, True]
    _, rows = rephrased([])
    assert candidate_table(rows).is_top.tolist() == [False, True, True]


def test_the_defect_model_sees_the_turns_own_list_alone():
    _, rows = rephrased([ROCK])
    design = turn_design(rows)
    at = [k for k, name in enumerate(design.names) if name.startswith(("second.", "other."))]
    assert np.isnan(design.values[0, at]).all()


def test_it_is_not_pooled_as_what_a_turn_was_taken_for():
    _, rows = rephrased([])
    pooled = fit_prior(rows, np.zeros(3, np.int64), 2).pools[0]
    assert pooled.subjects.sum() == 2.0


def test_its_interpretation_is_the_later_turns_with_spans_in_the_turns_own_words():
    table, rows = rephrased([ROCK])
    got = _interpretations(table, candidate_table(rows), np.arange(4)).to_pylist()
    assert [g["slots"][0]["value"] for g in got] == ["rock", "jazz", "jazz", "jazz"]
    assert [g["slots"][0]["start"] for g in got] == [None, None, 5, 5]


def test_it_is_wrong_where_people_call_an_own_one_right_and_unknown_otherwise():
    for value, expected in ((1.0, 0.0), (0.0, None)):
        table, rows = rephrased([ROCK])
        own = hex_id(flatten(table["interpretations"]).candidate_id)[0]
        label = {"turn_id": "t000", "definition": "right_interpretation", "candidate_id": own, "value": value}
        gold = pa.Table.from_pylist([{**label, "source": "made up"}], schema=GOLD.schema)
        right = training_table(rows, gold, 2).right
        assert right[0] == value
        assert np.isnan(right[1]) if expected is None else right[1] == expected


SAID = st.tuples(st.sampled_from("uv"), st.sampled_from([JAZZ, ROCK]), st.booleans())


@settings(deadline=None)
@given(st.lists(SAID, min_size=1, max_size=12))
def test_a_supporting_turn_is_found_by_its_place_whatever_rows_are_missing(log):
    rows = [{"subject_id": s, "nbest": [ROCK, JAZZ] if g is ROCK else [g], "utterance": "play"} for s, g, _ in log]
    whole = signals(sort(turns(*rows)))
    held = whole.filter(pa.array([keep for _, _, keep in sorted(log, key=lambda row: row[0])]))
    if not held.num_rows:
        return
    ids, rest = whole["turn_id"].to_pylist(), held["turn_id"].to_pylist()
    full, few = candidate_table(whole), candidate_table(held)
    wanted = {
        (ids[t], c): None if s < 0 else ids[s]
        for t, c, s in zip(full.turn, full.candidate_id, full.support, strict=True)
    }
    for turn, candidate, support in zip(few.turn, few.candidate_id, few.support, strict=True):
        meant = wanted[rest[turn], candidate]
        assert (None if support < 0 else rest[support]) == (meant if meant in rest else None)


def test_a_correction_names_the_turn_that_it_was_taken_from_beside_the_first_that_agrees():
    table = turns(
        {"utterance": "play some jass", "nbest": [ROCK]},
        {"utterance": "something smooth with a saxophone", "nbest": [JAZZ]},
        {"utterance": "play some jazz", "nbest": [JAZZ]},
    )
    found = candidate_table(signals(table))
    assert (found.origin[1], found.support[1]) == (2, 1)
    supporting = _supporting(table["turn_id"].combine_chunks(), found, np.arange(4))
    assert supporting.to_pylist() == [[], ["t001", "t002"], ["t002"], []]
    _, rows = rephrased([ROCK])
    once = candidate_table(rows)
    assert _supporting(pa.array(["a", "b", "c"]), once, np.arange(4)).to_pylist() == [[], ["b"], [], []]


def test_a_candidate_whose_values_the_user_confirmed_later_is_confirmed_whatever_gave_it():
    yes = interpretation("affirm", 0.9)
    table = turns(
        {"utterance": "play some jass", "nbest": [ROCK, interpretation("tell", 0.2, genre="jazz")]},
        {"utterance": "play jazz", "nbest": [JAZZ], "response": "jazz is that right"},
        {"utterance": "yes", "nbest": [yes], "response": "here it is"},
    )
    found = candidate_table(signals(table))
    assert found.offset[:3].tolist() == [0, 0, 1]
    sources = _sources(found, np.arange(3), np.zeros(3, bool)).to_pylist()
    # Another intent with the confirmed value is not what was confirmed.
    assert sources == ["n-best", "n-best", "confirmed"]
    assert _sources(found, np.arange(3), np.array([False, True, True])).to_pylist()[1:] == ["reviewer", "reviewer"]
