from __future__ import annotations

import pytest
from build import column, interpretation, turns

from features.lexicon import USER_ACTS, load
from features.signals import signals


@pytest.mark.parametrize(
    ("utterance", "act"),
    [
        ("no that's wrong", "negates"),
        ("I said jazz", "negates"),
        ("Yes please", "affirms"),
        ("go back", "goes_back"),
        ("start over", "restarts"),
        ("no, I meant the kitchen", "corrects"),
        ("not rock but jazz", "corrects"),
        ("that's wrong", "complains"),
        ("it still doesn't work", "complains"),
        ("this makes no sense", "complains"),
        ("you ignored my question", "complains"),
        ("not very helpful", "complains"),
        ("what do you mean?", "asks_back"),
        ("what are you talking about", "asks_back"),
        ("what does that mean", "asks_back"),
        ("are you sure?", "asks_back"),
        ("pardon?", "asks_back"),
        ("never mind", "gives_up"),
        ("cancel that", "gives_up"),
        ("that's all", "closes"),
        ("Good bye!", "closes"),
        ("can I talk to a real person", "escalates"),
        ("operator", "escalates"),
        ("thanks a lot", "thanks"),
        ("that was very helpful", "thanks"),
        ("it worked", "thanks"),
        ("sorry, my mistake", "says_sorry"),
    ],
)
def test_words_perform_an_act(utterance, act):
    got = signals(turns({"utterance": "x"}, {"utterance": utterance}))
    assert column(got, act) == [False, True]
    assert column(got, f"{act}_next") == [True, None]


@pytest.mark.parametrize(
    "utterance",
    [
        "nobody knows",
        "yesterday",
        "the start of it",
        "stop the music",
        "cancel my alarm",
        "the agent's name",
        "byelaw",
        "what is wrong with sugar",
        "how does it work",
        "a helpful guide",
        "what does photosynthesis mean",
    ],
)
def test_words_that_only_begin_alike_perform_none(utterance):
    got = signals(turns({"utterance": utterance}))
    assert not any(column(got, act)[0] for act in USER_ACTS)


def test_a_named_intent_outweighs_the_words():
    got = signals(turns({"utterance": "no", "nbest": [interpretation("affirm")]}))
    assert column(got, "affirms") == [True]
    assert column(got, "negates") == [False]


@pytest.mark.parametrize(("act", "intent"), [("gives_up", "cancel"), ("thanks", "Thank_You"), ("closes", "goodbye")])
def test_a_remark_goes_by_intent_or_by_words_and_beside_an_act(act, intent):
    got = signals(turns({"utterance": "well", "nbest": [interpretation(intent)]}))
    assert column(got, act) == [True]
    got = signals(turns({"utterance": "no thanks", "nbest": [interpretation("negate")]}))
    assert column(got, "negates") == column(got, "thanks") == [True]


def test_who_says_what_is_right_corrects_and_does_not_complain():
    got = signals(turns({"utterance": "that's wrong, I meant jazz"}, {"utterance": "that's wrong"}))
    assert column(got, "corrects") == [True, False]
    assert column(got, "complains") == [False, True]


def test_the_second_turn_after_counts_any_friction():
    rows = [{"utterance": u} for u in ("a", "b", "go back", "c")]
    assert column(signals(turns(*rows)), "negates_second") == [True, False, None, None]


def test_a_confirmation_ends_affirmed_denied_open_or_unasked():
    ask = {"response": "Jazz. Is that right?"}
    got = signals(turns(ask, {"utterance": "yes", **ask}, {"utterance": "no", **ask}, {"utterance": "what", **ask}))
    assert column(got, "asks_confirmation") == [True] * 4
    assert column(got, "confirmation") == [1, -1, 0, None]
    assert column(signals(turns({"response": "Done."}, {"utterance": "yes"})), "confirmation") == [None, None]


def test_the_systems_acts_are_false_without_a_text():
    got = signals(turns({"response": None}, {"response": "Sorry, I don't know that."}))
    assert column(got, "apologises") == [False, True]
    assert column(got, "cannot_help") == [False, True]


def test_the_prompt_is_the_previous_answer_where_not_logged():
    got = signals(turns({"response": "Sorry. Is that right?"}, {}, {"prompt": "Go on."}))
    assert column(got, "prompt_apologises") == [False, True, False]
    assert column(got, "asked_confirmation") == [False, True, False]


def test_an_unknown_language_names_the_known_ones():
    with pytest.raises(LookupError, match="en"):
        load("xx")
