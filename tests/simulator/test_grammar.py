import random

import numpy as np
import pytest

from simulator.grammar import Grammar
from simulator.lists import load
from simulator.options import SimulatorError
from simulator.phrases import CORRECTION, phrase_book

hassil = pytest.importorskip("hassil")
home_assistant_intents = pytest.importorskip("home_assistant_intents")


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return Grammar(load())


def test_every_domain_of_the_package_that_has_names_gives_sentences(grammar: Grammar):
    draw = random.Random(1)
    walked = {f.domain for f in grammar.frames if grammar.walk(f, draw)}
    assert {*load().popularity, "conversation"} <= walked


def test_a_walk_says_the_values_that_it_names_and_where(grammar: Grammar):
    draw, verbatim = random.Random(2), {"name", "area", "floor", *load().free}
    walks = [walked for frame in grammar.frames if (walked := grammar.walk(frame, draw))]
    said = [(slot, walked[1][slot.start : slot.end]) for walked in walks for slot in walked[2]]
    assert len(said) > len(walks) > len(grammar.frames) / 2
    assert all(spoken and spoken == spoken.strip() for _, spoken in said)
    as_named = [(slot.value, spoken) for slot, spoken in said if slot.source in verbatim]
    assert len(as_named) > len(said) / 2 and [pair for pair in as_named if pair[0] != pair[1]] == []


def test_a_walk_takes_the_values_that_are_wanted(grammar: Grammar):
    frame = next(f for f in grammar.frames if f.domain == "light" and f.intent == "HassLightSet")
    draw = random.Random(3)
    wanted = {"area": "kitchen", "brightness": "50"}
    said = [grammar.walk(frame, draw, wanted) for _ in range(20)]
    assert {s.value for w in said if w for s in w[2]} == {"kitchen", "50"}


def test_hassil_recognises_what_was_sampled_as_the_same_intent(grammar: Grammar):
    lists = load()
    intents = hassil.Intents.from_dict(home_assistant_intents.get_intents("en"))
    known = {k: hassil.TextSlotList.from_strings(v, name=k) for k, v in (lists.places | lists.free).items()}
    draw = random.Random(4)
    for frame in draw.sample(grammar.frames, 40):
        walked = grammar.walk(frame, draw)
        if walked is None:
            continue
        names = hassil.TextSlotList(
            "name",
            [
                hassil.TextSlotValue.from_tuple((n, n, {"domain": frame.domain}))
                for n in lists.names.get(frame.domain, [])
            ],
        )
        results = hassil.recognize_all(walked[1], intents, {**known, "name": names}, intent_context={"area": "x"})
        assert frame.intent in {r.intent.name for r in results}, walked[1]


def test_a_book_has_several_ways_to_say_a_wish_and_one_to_set_it_right(grammar: Grammar):
    book = phrase_book(grammar, load(), wishes=200, seed=1)
    assert len(set(book.wishes)) == len(book.wishes)
    for wish in range(book.requests):
        group = book.sentences[book.offsets[wish] : book.offsets[wish + 1]]
        assert len({s.text for s in group}) == len(group) >= 2
        assert [s.template == CORRECTION for s in group] == [False] * (len(group) - 1) + [True]
        slots = dict(book.wishes[wish].slots)
        assert all(slots[f.name] == f.value for s in group for f in s.slots)
    assert len({w.domain for w in book.wishes[: book.requests]}) >= 10
    assert book.popularity.sum() == pytest.approx(1.0) and not book.popularity[book.requests :].any()


def test_a_wish_that_no_other_walk_says_again_keeps_the_sentence_that_it_was_heard_in(grammar: Grammar):
    # Among this seed's wishes is one of many optional slots.
    book = phrase_book(grammar, load(), wishes=3_000, seed=11)
    alone = np.flatnonzero(np.diff(book.offsets)[: book.requests] == 2)
    assert (np.diff(book.offsets) >= 2)[: book.requests].all() and len(alone)
    for wish in alone.tolist():
        plain, corrects = book.sentences[book.offsets[wish] : book.offsets[wish + 1]]
        assert plain.template != CORRECTION and corrects.template == CORRECTION
        assert corrects.text.endswith(plain.text)
        spoken = {f.name: f.value for f in plain.slots}
        assert spoken.items() <= dict(book.wishes[wish].slots).items()


def test_without_the_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setitem(sys.modules, "hassil", None)
    with pytest.raises(SimulatorError, match=r"pip install 'afterword\[simulate\]'"):
        Grammar(load())
