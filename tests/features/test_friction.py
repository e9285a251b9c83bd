from __future__ import annotations

import pytest
from build import evidence, interpretation, turns

from features.signals import SignalOptions, signals

YORK, BATH, ELY = (interpretation("go", to=city) for city in ("york", "bath", "ely"))
NO = interpretation("negate")


def ended(*rows: tuple, **options) -> list[list]:
    """`ends_friction` of the turns' own hypotheses."""
    table = turns(*({"utterance": text, "nbest": nbest} | dict(*more) for text, nbest, *more in rows))
    got = signals(table, SignalOptions(**options))
    values, offsets = evidence(got, "ends_friction"), evidence(got, "offset")
    return [[v for v, o in zip(vs, os, strict=True) if o == 0] for vs, os in zip(values, offsets, strict=True)]


def test_a_rephrase_ends_with_what_it_was_taken_for():
    rows = [("go to york", [BATH, YORK]), ("go to york please", [YORK]), ("how is the weather", [ELY])]
    assert ended(*rows) == [[False, True], [None], [None]]


def test_a_chain_is_followed_to_its_end():
    rows = [("go to york", [BATH, YORK]), ("go to york", [ELY]), ("no go to york", [YORK, BATH])]
    assert ended(*rows) == [[False, True], [False], [None, None]]


def test_a_correction_in_other_words_links_too():
    assert ended(("go to bath", [BATH, ELY]), ("I meant the other one ely", [ELY])) == [[False, True], [None]]


def test_a_bare_no_is_passed_through_and_starts_no_chain():
    assert ended(("go to york", [BATH, YORK]), ("no", [NO]), ("york it is then", [YORK])) == [
        [False, True],
        [None],
        [None],
    ]
    assert ended(("go to york", [BATH, YORK]), ("no", []), ("york it is then", [YORK])) == [[False, True], [], [None]]


def test_what_is_none_of_the_candidates_speaks_against_none():
    # Four turns on is out of a rephrase's reach, so what ends the chain is no candidate of the first turn.
    rows = [("go to york", [BATH]), *(("go to york", [BATH]) for _ in range(3)), ("go to york", [YORK])]
    assert ended(*rows) == [[None], [False], [False], [False], [None]]


def test_nothing_tells_where_no_request_ends_it():
    assert ended(("go to york", [BATH]), ("no", [NO])) == [[None], [None]]
    assert ended(("go to york", [BATH]), ("no that is wrong", [])) == [[None], []]


@pytest.mark.parametrize(("gap", "first"), [(60.0, [False, True]), (60.1, [None, None])])
def test_the_next_turn_has_to_be_near(gap, first):
    rows = [("go to york", [BATH, YORK], {"at": 0.0}), ("go to york", [YORK], {"at": gap})]
    assert ended(*rows) == [first, [None]]


@pytest.mark.parametrize(("turns_on", "first"), [(2, [True]), (3, [None])])
def test_an_end_beyond_the_horizon_tells_nothing(turns_on, first):
    rows = [("go to york", [YORK]) for _ in range(turns_on + 1)]
    assert ended(*rows, horizon=2)[0] == first


def test_the_candidate_of_a_rephrase_is_told_too():
    rows = turns({"utterance": "go to york", "nbest": [BATH]}, {"utterance": "go to york", "nbest": [YORK]})
    assert evidence(signals(rows), "ends_friction") == [[False, True], [None]]


def test_a_chain_stays_in_its_session():
    rows = [("go to york", [BATH]), ("go to york", [YORK], {"subject_id": "v"})]
    assert ended(*rows) == [[None], [None]]
