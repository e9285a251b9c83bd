"""Candidates that a later rephrase gives."""

from __future__ import annotations

from build import evidence, interpretation, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from features.signals import SignalOptions, signals

JAZZ, ROCK, POP = (interpretation("play", 0.8, genre=g) for g in ("jazz", "rock", "pop"))


def offsets(*rows, **options):
    return evidence(signals(turns(*rows), SignalOptions(**options)), "offset")


def test_a_rephrase_gives_its_reading_and_stands_behind_the_own_ones():
    rows = [{"utterance": "play some jazz", "nbest": [ROCK, POP]}, {"utterance": "play jazz", "nbest": [JAZZ, ROCK]}]
    got = signals(turns(*rows))
    assert evidence(got, "offset") == [[0, 0, 1], [0, 0]]
    first, second = evidence(got, "candidate_id")
    assert first[2] == second[0]
    assert evidence(got, "later_top")[0][2] == 1
    assert evidence(got, "support_offset")[0][2] == 1
    # What only the turn's own n-best can tell is null.
    assert evidence(got, "rank")[0] == [0, 1, None]
    assert evidence(got, "rephrase")[0][:2] == [None, None]
    assert 0.5 < evidence(got, "rephrase")[0][2] < 1.0


def test_what_the_own_list_holds_is_not_given_again():
    rows = [{"utterance": "play jazz", "nbest": [ROCK, JAZZ]}, {"utterance": "play jazz", "nbest": [JAZZ]}]
    assert offsets(*rows) == [[0, 0], [0]]


def test_the_nearest_of_two_that_say_the_same_stands():
    rows = [{"utterance": "play jazz", "nbest": [g]} for g in (ROCK, JAZZ, JAZZ)]
    assert offsets(*rows)[0] == [0, 1]


def test_the_likeness_bound_counts_as_alike_and_less_does_not():
    rows = [{"utterance": "play jazz", "nbest": [ROCK]}, {"utterance": "play jazz", "nbest": [JAZZ]}]
    assert offsets(*rows, rephrase_likeness=1.0)[0] == [0, 1]
    rows[1]["utterance"] = "play jazz now"
    assert offsets(*rows, rephrase_likeness=1.0)[0] == [0]


def test_another_request_gives_nothing_but_a_correction_does():
    rows = [{"utterance": "wake me at six", "nbest": [ROCK]}, {"utterance": "play jazz", "nbest": [JAZZ]}]
    assert offsets(*rows)[0] == [0]
    rows[1]["utterance"] = "no I meant jazz"
    assert offsets(*rows)[0] == [0, 1]


def test_an_act_of_the_dialog_is_no_request():
    rows = [{"utterance": "yes", "nbest": [JAZZ]}, {"utterance": "yes", "nbest": [interpretation("affirm")]}]
    assert offsets(*rows)[0] == [0]


def test_too_late_too_far_or_in_another_session_gives_nothing():
    late = [{"utterance": "play jazz", "nbest": [ROCK]}, {"utterance": "play jazz", "nbest": [JAZZ], "at": 60.1}]
    assert offsets(*late)[0] == [0]
    late[1]["at"] = 60.0
    assert offsets(*late)[0] == [0, 1]
    assert offsets(late[0], {**late[1], "subject_id": "v"})[0] == [0]
    far = [
        {"utterance": "play jazz", "nbest": [ROCK]},
        *[{"utterance": "x"}] * 3,
        {"utterance": "play jazz", "nbest": [JAZZ]},
    ]
    assert offsets(*far)[0] == [0]
    assert offsets(*far, rephrase_turns=4)[0] == [0, 4]


def test_a_turn_without_a_reading_of_its_own_gets_the_rephrases():
    got = signals(turns({"utterance": "play jazz"}, {"utterance": "play jazz", "nbest": [JAZZ]}))
    assert evidence(got, "offset") == [[1], [0]]
    assert got["intent"].to_pylist() == [None, "play"]


TURN = st.tuples(
    st.sampled_from(["play jazz", "play jazz now", "wake me", "no"]),
    st.lists(st.sampled_from([JAZZ, ROCK, POP]), max_size=3),
)


@settings(deadline=None)
@given(st.lists(TURN, max_size=7))
def test_own_ones_stand_first_in_their_order_and_no_candidate_twice_among_the_others(log):
    got = signals(turns(*({"utterance": u, "nbest": n} for u, n in log)))
    for (_, nbest), offset, ids, first in zip(
        log, evidence(got, "offset"), evidence(got, "candidate_id"), evidence(got, "first"), strict=True
    ):
        assert offset[: len(nbest)] == [0] * len(nbest)
        assert offset[len(nbest) :] == sorted(o for o in offset if o)
        kept = [i for i, f in zip(ids, first, strict=True) if f]
        assert len(kept) == len(set(kept))
        assert all(first[len(nbest) :])
