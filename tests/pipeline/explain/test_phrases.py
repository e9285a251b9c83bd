"""Features in words: from the schemas, by value and for every feature that the defect model sees."""

from __future__ import annotations

import numpy as np
import pytest
from build import interpretation, turns

from features.signals import signals
from models.design import candidate_table, turn_design
from models.prior import fit_prior
from models.words import NAMES as WORDS
from pipeline.explain.phrases import Phrase, phrase
from schemas.signals import CANDIDATE_COLUMNS, SIGNALS


def _seen_by_the_defect_model() -> tuple[str, ...]:
    """Names of the columns of the design itself, so that no signal is added to it without words for it."""
    rows = signals(turns({"nbest": [interpretation()]}))
    fold = np.zeros(1, np.int64)
    return turn_design(rows, candidate_table(rows, fit_prior(rows, fold, 2), fold)).names


FEATURES = _seen_by_the_defect_model()


def test_every_feature_is_told_in_words_of_the_schemas():
    for feature in FEATURES:
        told, name = phrase(feature), feature.rsplit(".", 1)[-1]
        meanings = [c.meaning.partition("; null")[0] for c in (*CANDIDATE_COLUMNS, *SIGNALS.columns) if c.name == name]
        assert told.text != feature and "null" not in told.text, feature
        assert name == "subjects" or any(told.text.lower().endswith(m.lower()) for m in meanings), feature


@pytest.mark.parametrize(
    ("feature", "text"),
    [
        ("negates_next", "The next turn negates"),
        ("top.later_frame", "best reading: later turns whose best has its frame but other values"),
        (
            "other.prior.candidate.confirmation",
            "others' turns read otherwise, at most, mean: +1 confirmed, -1 denied, 0 neither",
        ),
        (
            "second.prior.answer.subjects",
            "others' answers like the runner-up: how many users, as log(1 + n)",
        ),
        (
            "top.chain.words.p",
            "others who said these words and were read so: share who end well in the best reading",
        ),
        ("other.chain.reading.users", "others who were read so: how many users, as log(1 + n)"),
        ("of_a_later_version", "of_a_later_version"),
        ("top.wish.p", "best reading: how far the whole session says that it was wanted"),
        ("top.of_a_later_version", "best reading: of_a_later_version"),
    ],
)
def test_a_feature_in_words(feature: str, text: str):
    assert phrase(feature).text == text


@pytest.mark.parametrize(
    ("feature", "value", "plain", "text"),
    [
        ("negates_next", 1.0, True, "yes"),
        ("negates_next", 0.0, False, "no"),
        ("negates_next", float("nan"), None, "unknown (last)"),
        ("top.echo", 1.0, True, "yes"),
        # A mean over users is a number, whatever it is a mean of.
        ("top.prior.value.echo", 0.25, 0.25, "0.25"),
        ("turns_before", 1.0, 1.0, "1 turn"),
        ("turns_before", 2.0, 2.0, "2 turns"),
        ("gap_before", 1.0, 1.0, "1 s"),
        ("top_score", 0.5, 0.5, "0.5"),
        ("barge_in", None, None, "unknown (not logged)"),
        ("top.mass", float("nan"), None, "unknown"),
    ],
)
def test_a_value_in_words(feature: str, value: float | None, plain: object, text: str):
    told = phrase(feature)
    assert told.plain(value) is plain or told.plain(value) == plain
    assert told.value(told.plain(value)) == text


def test_a_phrase_without_a_column_gives_numbers():
    assert Phrase("x").value(Phrase("x").plain(2.5)) == "2.5"


def test_every_column_over_words_has_a_phrase():
    assert all(phrase(name).text.startswith("How ") and phrase(name).unit == "log-odds" for name in WORDS)
