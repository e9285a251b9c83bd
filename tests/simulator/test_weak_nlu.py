import numpy as np
import pytest

from simulator.grammar import Filling
from simulator.hearing import SLIPS, hear
from simulator.phrases import Sentence
from simulator.repertoire import ABSENT
from simulator.slots import SlotFinder
from simulator.world import World

PLAY = ("music", "play", ())


def sentence(text: str, **slots: str) -> Sentence:
    held = [Filling(n, v, text.index(v), text.index(v) + len(v), n) for n, v in slots.items()]
    return Sentence(text, tuple(held), 0)


@pytest.fixture(scope="module")
def finder() -> SlotFinder:
    known = {"what": {"jazz": ["jazz"], "blues": ["blues"]}, "area": {"kitchen": ["kitchen"]}}
    said = [sentence("play jazz", what="jazz"), sentence("play blues in the kitchen", what="blues", area="kitchen")]
    return SlotFinder(known, {"what"}, {}).fit((PLAY, s) for s in said)


def slots(finder: SlotFinder, text: str) -> list[dict[str, str]]:
    fills = sorted(finder.fills(text, PLAY, finder.matches(text)), key=lambda f: -f.weight)
    return [{s[0]: s[1] for s in f.slots} for f in fills]


def test_known_values_are_found_with_their_place(finder: SlotFinder):
    text = "play jazz in the kitchen"
    best = max(finder.fills(text, PLAY, finder.matches(text)), key=lambda f: f.weight)
    assert {(n, v, text[a:b]) for n, v, a, b in best.slots} == {
        ("what", "jazz", "jazz"),
        ("area", "kitchen", "kitchen"),
    }


def test_a_known_part_of_an_unknown_value_comes_before_the_words_themselves(finder: SlotFinder):
    assert slots(finder, "play smooth jazz in the kitchen")[:2] == [
        {"what": "jazz", "area": "kitchen"},
        {"what": "smooth jazz", "area": "kitchen"},
    ]


def test_an_unknown_value_is_taken_as_it_is_said(finder: SlotFinder):
    assert slots(finder, "play heavy metal")[0] == {"what": "heavy metal"}


def test_a_slip_changes_the_words_and_the_said_ones_are_often_listed():
    said = [f"turn the lamp number {k} on please" for k in range(300)]
    heard = hear(said, [("lamp", "lamb"), ("on", "off")], seed=1)
    assert len(heard.texts) == len(said) * (SLIPS + 1)
    listed = 0
    for k, texts in enumerate(heard.texts):
        truth = said[k // (SLIPS + 1)]
        assert (texts[0] == truth) == (k % (SLIPS + 1) == 0) and len(set(texts)) == len(texts)
        listed += truth in texts[1:]
    assert 0.6 < listed / (len(said) * SLIPS) < 0.9
    clean = heard.confidence[:: SLIPS + 1, 0]
    slipped = np.delete(heard.confidence[:, 0], np.arange(0, len(heard.texts), SLIPS + 1))
    assert clean.mean() > slipped.mean() + 0.15 and clean.min() < slipped.max()
    fall = np.diff(heard.confidence, axis=1)
    assert (fall[~np.isnan(fall)] < 0).all()


def test_one_word_without_a_sound_alike_is_heard_as_it_is():
    assert hear(["yes"], [], seed=1).texts == [["yes"]] * (SLIPS + 1)


def test_an_n_best_has_true_scores_in_falling_order(world: World):
    for nbest in world.known.nbest.to_pylist():
        scores = [h["score"] for h in nbest]
        assert scores == sorted(scores, reverse=True) and 1 <= len(nbest) <= 5
        assert scores[-1] >= 0.0 and sum(scores) <= 1.0 + 1e-3
        readings = [(h["domain"], h["intent"], tuple((s["name"], s["value"]) for s in h["slots"])) for h in nbest]
        assert len(set(readings)) == len(readings)


def test_most_lists_hold_several_interpretations(world: World):
    lengths = np.array([len(n) for n in world.known.nbest.to_pylist()])
    assert np.median(lengths) >= 3


def test_the_score_tells_right_from_wrong_but_not_surely(world: World):
    right = world.known.rank == 0
    assert world.known.score[right].mean() > world.known.score[~right].mean() + 0.1
    assert world.known.score[~right].max() > np.median(world.known.score[right])


def test_first_requests_are_misread_as_often_as_wished(world: World):
    known, rates = world.known, world.options.rates
    by_slip = (known.rank > 0).reshape(-1, SLIPS + 1)
    said = known.wish_weight[known.book.wish] * known.sentence_weight
    wrong = (1.0 - rates.misheard) * by_slip[:, 0] + rates.misheard * by_slip[:, 1:].mean(axis=1)
    assert (said * wrong).sum() == pytest.approx(rates.misread, abs=0.01)
    clean = known.rank[:: SLIPS + 1]
    listed = said[(clean > 0) & (clean != ABSENT)].sum() / said[clean > 0].sum()
    assert listed == pytest.approx(rates.misread_in_nbest, abs=0.01)
