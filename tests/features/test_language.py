from __future__ import annotations

import re

import pytest
from build import column, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from features.lexicon import USER_ACTS, known, load, parse
from features.signals import SignalOptions, signals

SAID = ["nein", "no", "danke schön", "thank you", "Das ist Blödsinn", "that is wrong", "Tschüß", "go to york"]


@pytest.mark.parametrize("language", known())
def test_every_lexicon_is_complete_and_its_words_can_be_met(language):
    lexicon = load(language)
    assert lexicon.locale == language
    assert set(lexicon.user) == set(USER_ACTS)
    # What is matched is lower-cased and folded, and single words are single.
    words = [word for kind in lexicon.sentiment.values() for word in kind]
    assert all(re.fullmatch("[a-z]+", word) for word in words)
    assert len(words) == len(set(words))
    patterns = (*lexicon.user.values(), *lexicon.system.values(), *lexicon.question.values())
    assert not [p for p in patterns if not p.isascii() or re.search(r"[A-Z]", p)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("asks_back =", "ask_back ="), r"test\.toml.*missing: user\.asks_back.*not known: user\.ask_back"),
        (("[sentiment]", "[feeling]"), r"missing: sentiment\.negative, sentiment\.negators, sentiment\.positive"),
        (('locale = "en"', ""), "missing: locale"),
        (("[user_intents]\n", "[user_intents]\nsings = []\n"), r"not known: user_intents\.sings"),
    ],
)
def test_a_key_that_is_missing_or_not_known_is_named(change, said):
    from importlib import resources

    text = resources.files("features").joinpath("lexicons", "en.toml").read_text(encoding="utf-8")
    assert change[0] in text
    with pytest.raises(LookupError, match=said):
        parse(text.replace(*change), "test.toml")


@pytest.mark.parametrize(
    ("locale", "german"),
    [("de", True), ("de-AT", True), ("DE_ch", True), ("en-GB", False), (None, False), ("fr", False), ("den", False)],
)
def test_a_turn_is_read_by_its_locale_else_by_the_default(locale, german):
    rows = turns({"utterance": "nein", "locale": locale}, {"utterance": "no", "locale": locale})
    assert column(signals(rows), "negates") == [german, not german]
    assert column(signals(rows, SignalOptions(by_locale=False)), "negates") == [False, True]


def test_the_default_may_be_another_language():
    rows = turns({"utterance": "nein"}, {"utterance": "no", "locale": "en"}, {"utterance": "no", "locale": "fr"})
    assert column(signals(rows, SignalOptions(language="de")), "negates") == [True, True, False]


def test_a_reaction_is_read_by_its_own_turns_language():
    rows = turns({"utterance": "to york", "locale": "en"}, {"utterance": "falsch", "locale": "de"})
    assert column(signals(rows), "negates_next") == [True, None]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(SAID), st.sampled_from(["de", "en", None])), min_size=1, max_size=6))
def test_a_mixed_log_says_what_its_parts_say(said):
    fields = [{"utterance": text, "response": text, "locale": locale} for text, locale in said]
    mixed = signals(turns(*fields))
    own = ("sentiment", "apologises", "falls_back", "question_id", *USER_ACTS)
    for language in ("de", "en"):
        alone = signals(turns(*fields), SignalOptions(language=language, by_locale=False))
        rows = [k for k, (_, locale) in enumerate(said) if (locale or "en") == language]
        for name in own[:3] + own[4:]:
            assert [column(mixed, name)[k] for k in rows] == [column(alone, name)[k] for k in rows]
