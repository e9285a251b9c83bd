import numpy as np
import pytest
from build import interpretation, turns

from features.signals import signals
from models.blame import blame
from models.correction import best_alternative
from models.design import candidate_table


def blamed(p_correct, nbest, defect=True, **fields):
    """Blame of one turn whose n-best has the given p(correct), best first."""
    rows = signals(turns({"nbest": nbest, **fields}))
    table = candidate_table(rows)
    choice = best_alternative(table, np.array(p_correct, float), 1)
    return blame(rows, table, choice, np.array([defect]))[0]


ROME, OSLO = interpretation("go", 0.5, to="rome"), interpretation("go", 0.3, to="oslo")
STAY = interpretation("stay", 0.3, to="rome")


def heard(*confidence):
    return [{"text": f"h{k}", "confidence": c} for k, c in enumerate(confidence)]


@pytest.mark.parametrize(
    ("p_correct", "nbest", "component"),
    [
        ([0.1, 0.8], [ROME, OSLO], "slots"),
        ([0.1, 0.8], [ROME, STAY], "intent"),
        ([0.1], [ROME], "action"),
        # Nothing likelier: the frame of all readings is believed, one of half the score is not.
        ([0.4, 0.1], [ROME, OSLO], "slots"),
        ([0.4, 0.1], [interpretation("go", 0.5, to="rome"), interpretation("stay", 0.5, to="rome")], "intent"),
        ([0.4, 0.1], [interpretation("go", 0.6, to="rome"), interpretation("stay", 0.4, to="rome")], "slots"),
        # Without scores only the alternative tells.
        ([0.4, 0.1], [interpretation("go", None, to="rome"), interpretation("go", None, to="oslo")], "slots"),
        ([0.4, 0.1], [interpretation("go", None, to="rome"), interpretation("stay", None, to="rome")], "intent"),
    ],
)
def test_what_the_readings_say(p_correct, nbest, component):
    assert blamed(p_correct, nbest) == component


@pytest.mark.parametrize(
    ("confidences", "component"),
    [((0.49,), "asr"), ((0.5,), "slots"), ((0.9, 0.63), "asr"), ((0.9, 0.62), "slots"), ((), "slots")],
)
def test_a_recogniser_in_doubt_goes_first(confidences, component):
    assert blamed([0.1, 0.8], [ROME, OSLO], asr=heard(*confidences)) == component


def test_a_request_that_cannot_be_served_is_unsupported_unless_another_reading_is_likelier():
    refused = {"response": "Sorry, I can't do that."}
    assert blamed([0.6, 0.1], [ROME, STAY], **refused) == "unsupported"
    assert blamed([0.1, 0.6], [ROME, STAY], **refused) == "intent"


def test_a_turn_that_is_not_defective_blames_nothing():
    assert blamed([0.1, 0.8], [ROME, OSLO], defect=False) == "none"
