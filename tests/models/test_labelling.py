from __future__ import annotations

import numpy as np
import pytest
from build import interpretation, turns
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from features.signals import signals
from models.design import turn_design
from models.labelling import DEFECT, EXPLICIT, SATISFIED, majority, votes, waterfall

NAMES = [*DEFECT, *SATISFIED]
VOTES = arrays(
    np.int8, st.tuples(st.integers(1, 8), st.just(len(DEFECT) + len(SATISFIED))), elements=st.sampled_from([-1, 0, 1])
)
JAZZ, ROCK = interpretation("play", 0.8, genre="jazz"), interpretation("play", 0.8, genre="rock")


def first_vote(name, *rows):
    cast = votes(turn_design(signals(turns(*rows))))
    return int(cast[0, NAMES.index(name)])


@pytest.mark.parametrize(
    ("name", "rows", "vote"),
    [
        ("next turn negates", [{}, {"utterance": "no"}], 1),
        ("next turn negates", [{}, {"utterance": "yes"}], 0),
        ("next turn corrects", [{}, {"utterance": "I wanted jazz"}], 1),
        ("next turn gives up or asks for a person", [{}, {"utterance": "never mind"}], 1),
        ("next turn gives up or asks for a person", [{}, {"utterance": "let me talk to a person"}], 1),
        ("next turn gives up or asks for a person", [{}, {"utterance": "bye"}], 0),
        ("next turn thanks", [{}, {"utterance": "thank you"}], -1),
        ("next turn thanks", [{"outcome": "fallback"}, {"utterance": "thank you"}], 0),
        ("next turn goes back", [{}, {"utterance": "go back"}], 1),
        ("next turn goes back", [{}, {"utterance": "start over"}], 0),
        ("confirmation denied", [{"response": "Jazz. Is that right?"}, {"utterance": "no"}], 1),
        ("confirmed", [{"response": "Jazz. Is that right?"}, {"utterance": "yes"}], -1),
        ("confirmed", [{"response": "Playing."}, {"utterance": "yes"}], 0),
        (
            "rephrased to another reading",
            [{"utterance": "play jazz", "nbest": [ROCK]}, {"utterance": "play jazz", "nbest": [JAZZ]}],
            1,
        ),
        (
            "rephrased to another reading",
            [{"utterance": "play jazz", "nbest": [JAZZ]}, {"utterance": "play jazz", "nbest": [JAZZ]}],
            0,
        ),
        ("same frame, other values later", [{"nbest": [ROCK]}, {"nbest": [JAZZ]}], 1),
        ("said again and understood the same", [{"nbest": [JAZZ]}, {"nbest": [JAZZ]}], -1),
        ("the system could not use it", [{"response": "I can't do that."}], 1),
        ("the system could not use it", [{"outcome": "fallback"}], 1),
        ("the system could not use it", [{"outcome": "answered"}], 0),
        ("rated low", [{"explicit_rating": 0.4}], 1),
        ("rated low", [{"explicit_rating": 0.5}], 0),
        ("rated high", [{"explicit_rating": 0.6}], -1),
        (
            "the dialog moves on",
            [
                {"prompt": "Hi!", "response": "Jazz it is.", "utterance": "play jazz"},
                {"utterance": "weather tomorrow"},
            ],
            -1,
        ),
        ("the dialog moves on", [{"prompt": "Hi!", "response": "Jazz it is."}], 0),
    ],
)
def test_a_function_votes_or_abstains(name, rows, vote):
    assert first_vote(name, *rows) == vote


def test_settling_on_another_reading():
    asked = "Going to play jazz. Is that right?"
    rows = [
        {"nbest": [ROCK, JAZZ], "response": asked},
        {"utterance": "yes", "nbest": [interpretation("affirm")]},
    ]
    assert first_vote("later turns settle on another reading", *rows) == 1


def test_doubt_does_not_vote():
    unsure = {"nbest": [interpretation("play", 0.01)], "asr": [{"text": "x", "confidence": 0.01}]}
    cast = votes(turn_design(signals(turns({**unsure, "prompt": "Which?", "response": "Sorry, which?"}))))
    assert not cast.any()


@given(VOTES)
def test_what_the_user_says_outright_comes_before_traces_and_trouble_before_praise(cast):
    label, voted = waterfall(cast)
    explicit = [n in EXPLICIT for n in (*DEFECT, *SATISFIED)]
    for row, value, any_vote in zip(cast.tolist(), label.tolist(), voted.tolist(), strict=True):
        said = [v for v, e in zip(row, explicit, strict=True) if e and v]
        counted = said or [v for v in row if v]
        assert value == (1.0 if 1 in counted else 0.0 if -1 in counted else 0.5)
        assert any_vote == any(row)


def test_every_explicit_function_exists():
    assert set(DEFECT) | set(SATISFIED) >= EXPLICIT


@given(VOTES)
def test_the_majority_is_the_share_of_cast_votes(cast):
    share, counted = majority(cast)
    for row, value, n in zip(cast.tolist(), share.tolist(), counted.tolist(), strict=True):
        given_votes = [v for v in row if v]
        assert n == len(given_votes)
        assert value == (given_votes.count(1) / n if n else 0.5)
