from build import turns

from features.said import said
from features.signals import signals
from features.timeline import sort
from schemas import SAID


def made():
    return sort(
        turns(
            {
                "turn_id": "a0",
                "subject_id": "a",
                "at": 0.0,
                "utterance": "To Rome, please",
                "response": "Rome: is that right?",
            },
            {"turn_id": "a1", "subject_id": "a", "at": 5.0, "sequence": 1, "utterance": "NO!", "response": None},
            {"turn_id": "a2", "subject_id": "a", "at": 9000.0, "sequence": 2, "utterance": "hello", "response": ""},
            {"turn_id": "b0", "subject_id": "b", "at": 0.0, "utterance": "yes", "response": "fine"},
        )
    )


def test_words_are_normalised_with_marks_and_the_reaction_is_the_session_s_next():
    table = made()
    got = SAID.conform(said(table, signals(table))).to_pylist()
    assert got == [
        {"turn_id": "a0", "utterance": "to rome please", "answer": "rome is that right ?", "reaction": "no !"},
        {"turn_id": "a1", "utterance": "no !", "answer": None, "reaction": None},
        {"turn_id": "a2", "utterance": "hello", "answer": "", "reaction": None},
        {"turn_id": "b0", "utterance": "yes", "answer": "fine", "reaction": None},
    ]


def test_a_turn_that_is_not_among_the_rows_is_no_reaction():
    table = made()
    few = [0, 2, 3]
    assert said(table.take(few), signals(table).take(few))["reaction"].to_pylist() == [None, None, None]
    assert said(table.slice(0, 0), signals(table).slice(0, 0)).num_rows == 0
