"""The reformulation chain by value: few users, made-up readings."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from build import interpretation, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from features.interpretation import flatten
from features.language import languages
from features.signals import signals
from models import chain_fit
from models.chain import Chain, ChainOptions, words_start
from models.chain_fit import fit_chain
from models.design import OF_CHAIN, candidate_table, frames, turn_design
from models.edges import add_edges, count_edges, known_edges
from models.judge import _interpretations, _sources
from models.leading import leading_of
from models.options import TrainOptions
from models.reformulation import moves
from models.store import dumps, loads
from models.training import train
from schemas import EDGE, ELSEWHERE, FAILURE, SUCCESS
from tests.models.calls import with_signals

ROCK, JAZZ, NEWS = (interpretation("play", 0.9, genre=g) for g in ("rock", "jazz", "news"))
IDS = flatten(pa.array([[ROCK, JAZZ, NEWS]], turns({"nbest": [ROCK]})["interpretations"].type)).candidate_id
A, B, C = IDS.tolist()
HALF = ChainOptions(min_users=1, least=0.0)


def edge(words, reading, target, users, well=None, fold=1):
    meaning = {A: "rock", B: "jazz", C: "news"}.get(target)
    slots = [{"name": "genre", "value": meaning, "start": None, "end": None}]
    text = json.dumps({"domain": "d", "intent": "play", "slots": slots}) if meaning else None
    values = (words, reading, target, fold, users, users if well is None else well, text)
    return dict(zip(EDGE.names, values, strict=True))


def chain(*edges, options=HALF):
    return fit_chain(add_edges([pa.Table.from_pylist(list(edges), schema=EDGE.schema)]), 2, options)


def found(fitted, start, fold=0):
    at = fitted.starts.tolist().index(start)
    held = zip(fitted.target[at, fold].tolist(), fitted.p[at, fold].tolist(), strict=True)
    return {target: p for target, p in held if p}, fitted.other[at, fold]


def test_where_requests_end_well_by_hand():
    # With the unseen user: A has 8 ways, 4 to B, 2 well, 1 badly; B has 4, 1 back to A and 2 well.
    fitted = chain(
        edge(None, A, B, 4),
        edge(None, A, SUCCESS, 2),
        edge(None, A, FAILURE, 1, 0),
        edge(None, B, A, 1),
        edge(None, B, SUCCESS, 2),
    )
    # N = 1 / (1 - 1/2 * 1/4) of each other; r(A) = 1/4, r(B) = 1/2.
    ends, other = found(fitted, A)
    assert ends == pytest.approx({A: 8 / 7 / 4, B: 4 / 7 / 2})
    # Well at B, and elsewhere from A (1/8) and from B (1/4).
    assert other == pytest.approx(4 / 7 / 2 + 8 / 7 / 8 + 4 / 7 / 4)


def test_words_start_at_their_own_counts_and_go_on_as_readings_do():
    fitted = chain(
        edge(7, A, B, 6),
        edge(7, A, SUCCESS, 1),
        edge(None, A, SUCCESS, 99),
        edge(None, B, SUCCESS, 4),
        edge(None, B, C, 4),
        edge(None, C, SUCCESS, 9),
    )
    start = int(words_start(np.array([7]), np.array([A]))[0])
    ends, _ = found(fitted, start)
    # r(C) = 9/10; of B 4/9 end well and 4/9 go on to C.
    assert ends == pytest.approx({A: 1 / 8, B: 6 / 8 * 4 / 9, C: 6 / 8 * 4 / 9 * 0.9})
    assert A not in fitted.starts.tolist()


def test_a_fold_reads_the_users_of_the_others_alone():
    fitted = chain(edge(None, A, B, 3, fold=0), edge(None, B, SUCCESS, 3, fold=0))
    assert found(fitted, A, fold=1)[0] == pytest.approx({B: 0.75 * 0.75})
    assert found(fitted, A, fold=0) == ({}, 0.0)


def test_moves_of_too_few_users_beside_a_fold_are_elsewhere_as_far_as_they_ended_well():
    edges = (edge(None, A, B, 3), edge(None, B, SUCCESS, 3), edge(None, A, C, 2, 1), edge(None, C, SUCCESS, 3))
    ends, other = found(chain(*edges, options=ChainOptions(min_users=3)), A)
    assert set(ends) == {B}
    # Of six with the unseen one: three to B, of whom a quarter goes elsewhere; one of two at C, and the unseen one.
    assert other == pytest.approx(3 / 6 * (3 / 4 + 1 / 4) + 1 / 6 + 1 / 6)


def test_the_cut_keeps_what_enough_users_did_whatever_their_fold():
    edges = [
        edge(7, A, B, 2, fold=0),
        edge(7, A, B, 1, fold=1),
        edge(7, A, C, 2, 1),
        edge(7, A, SUCCESS, 5),
        edge(8, A, C, 2),
        edge(None, A, B, 2),
        edge(None, C, SUCCESS, 2),
    ]
    kept = known_edges(pa.Table.from_pylist(edges, schema=EDGE.schema), 3).to_pylist()
    got = {(e["words"], e["reading"], e["target"], e["fold"]): e["users"] for e in kept}
    assert got == {
        (7, A, B, 0): 2,
        (7, A, B, 1): 1,
        (7, A, SUCCESS, 1): 5,
        (7, A, ELSEWHERE, 1): 1,
        (7, A, FAILURE, 1): 1,
    }


def test_edges_count_a_user_once_and_add_up():
    one = np.ones(4, np.int64)
    meaning = np.array(["J", "j", None, "j"], dtype=object)
    target = np.array([B, B, SUCCESS, B])
    part = count_edges(np.array([5, 5, 5, 6]), one, 7 * one, A * one, target, np.array([1, 0, 1, 0], bool), meaning)
    got = {(e["words"], e["target"]): (e["users"], e["well"], e["interpretation"]) for e in part.to_pylist()}
    assert got == {(w, B): (2, 1, "j") for w in (7, None)} | {(w, SUCCESS): (1, 1, None) for w in (7, None)}
    twice = add_edges([part, part])
    assert twice["users"].to_pylist() == [2 * n for n in add_edges([part])["users"].to_pylist()]


def test_what_nothing_was_made_of_is_a_start_by_its_words_only():
    one = np.ones(1, np.int64)
    part = count_edges(one, one, 7 * one, 0 * one, B * one, one.astype(bool), np.array(["j"], dtype=object))
    assert [(e["words"], e["reading"]) for e in part.to_pylist()] == [(7, 0)]
    edges = [edge(7, 0, B, 3), edge(7, 0, SUCCESS, 4), edge(None, B, SUCCESS, 3)]
    ends, _ = found(chain(*edges), int(words_start(np.array([7]), np.array([0]))[0]))
    assert ends == pytest.approx({0: 4 / 8, B: 3 / 8 * 3 / 4})


def misheard():
    """A turn misheard like those of others, one with the right reading, and one that nothing is known of."""
    log = turns(
        {"subject_id": "u", "utterance": "play jass", "nbest": [ROCK]},
        {"subject_id": "v", "utterance": "play jass", "nbest": [ROCK, JAZZ]},
        {"subject_id": "w", "utterance": "the news", "nbest": [NEWS]},
        {"subject_id": "x", "utterance": "play some jasz", "nbest": []},
    )
    rows = signals(log)
    words = rows["utterance_id"].to_pylist()
    fitted = chain(
        edge(words[0], A, B, 8),
        edge(words[3], 0, B, 3),
        edge(None, B, SUCCESS, 9),
        edge(None, A, SUCCESS, 9),
        options=ChainOptions(min_users=3),
    )
    return log, rows, fitted


def test_a_target_that_the_list_lacks_is_a_candidate_and_one_that_it_has_gets_evidence():
    _, rows, fitted = misheard()
    table = candidate_table(rows, None, np.zeros(4, np.int64), fitted)
    assert list(zip(table.turn.tolist(), table.candidate_id.tolist(), table.offset.tolist(), strict=True)) == [
        (0, A, 0),
        (0, B, OF_CHAIN),
        (1, A, 0),
        (1, B, 0),
        (2, C, 0),
        (3, B, OF_CHAIN),
    ]
    p = table.evidence[:, table.names.index("chain.words.p")]
    assert p == pytest.approx([0, 8 / 9 * 0.9, 0, 8 / 9 * 0.9, np.nan, 3 / 4 * 0.9], nan_ok=True)
    users = table.evidence[:, table.names.index("chain.words.users")]
    assert users == pytest.approx(np.log1p([8, 8, 8, 8, 0, 3]))
    assert table.is_top.tolist() == [True, False, True, False, True, False]
    # All of the eight ended at B (9 of 10), or with the unseen user elsewhere: 1/9 at once, 1/10 of B.
    assert table.share[1] == pytest.approx(0.8 / (0.8 + 1 / 9 + 8 / 9 * 0.1))
    assert not table.share[[0, 2, 3, 4]].any()
    assert np.isnan(
        turn_design(rows, table).values[3, [n.startswith("top.") for n in turn_design(rows, table).names]]
    ).all()


def test_a_proposed_interpretation_is_projected_onto_the_turns_own_words():
    log, rows, fitted = misheard()
    table = candidate_table(rows, None, np.zeros(4, np.int64), fitted)
    got = _interpretations(log, table, np.array([1, 5, 3]), fitted).to_pylist()
    assert [(g["intent"], g["score"], g["slots"][0]["value"]) for g in got] == [
        ("play", None, "jazz"),
        ("play", None, "jazz"),
        ("play", 0.9, "jazz"),
    ]
    # "jass" and "jasz" against "jazz": ratios of .50 and .75.
    assert [(g["slots"][0]["start"], g["slots"][0]["end"]) for g in got] == [(None, None), (10, 14), (None, None)]
    assert _sources(table, np.arange(6), np.zeros(6, bool)).to_pylist()[1] == "chain"
    got_frames = frames(rows, table, fitted)
    assert got_frames[1] == got_frames[3] == got_frames[5]


def test_it_survives_a_file():
    _, _, fitted = misheard()
    again = Chain.from_plain(json.loads(json.dumps(fitted.plain())))
    assert again.plain() == fitted.plain()
    assert again.readings.candidate_id.tolist() == [B]


def test_models_with_a_chain_survive_a_file_and_their_id_tells_the_chain():
    _, rows, gold = with_signals(users=60)
    empty = fit_chain(EDGE.empty(), 5)
    models = train(rows, gold, TrainOptions(), empty)
    assert loads(dumps(models)).correction_id == models.correction_id
    assert train(rows, gold, TrainOptions()).correction_id != models.correction_id


def walked(*rows):
    table = turns(*rows)
    held = signals(table)
    reading = leading_of(held)
    went = moves(held, reading, languages(table["locale"], "en"))
    names = {A: "rock", B: "jazz", C: "news", SUCCESS: "well", FAILURE: "badly"}
    return [
        (int(row), int(to), names[int(target)], bool(well))
        for row, to, target, well in zip(went.row, went.following, went.target, went.well, strict=True)
    ]


NO, YES = interpretation("negate", 0.9), interpretation("affirm", 0.9)


def test_a_repair_in_like_words_is_a_move_and_its_end_is_the_last_ones():
    assert walked(
        {"utterance": "play some jass", "nbest": [ROCK]},
        {"utterance": "play some jazz", "nbest": [JAZZ]},
        {"utterance": "what is on the news at nine", "nbest": [NEWS], "response": "sorry i can not help with that"},
    ) == [(0, 1, "jazz", True), (1, -1, "well", True), (2, -1, "badly", False)]


def test_after_a_denial_the_next_request_counts_whatever_its_words():
    assert walked(
        {"utterance": "play some jass", "nbest": [ROCK]},
        {"utterance": "no", "nbest": [NO]},
        {"utterance": "the one with saxophones in it", "nbest": [JAZZ]},
    ) == [(0, 2, "jazz", True), (2, -1, "well", True)]


def test_what_was_confirmed_is_no_start_of_a_move():
    log = (
        {"utterance": "play some rock", "nbest": [ROCK], "response": "rock is that right"},
        {"utterance": "yes", "nbest": [YES], "response": "here it is"},
        {"utterance": "play some jazz", "nbest": [JAZZ]},
    )
    assert walked(*log)[0] == (0, -1, "well", True)
    assert walked(log[0], {"utterance": "no", "nbest": [NO]})[0] == (0, -1, "badly", False)


def test_a_turn_that_nothing_was_made_of_is_no_target_and_a_session_is_a_bound():
    assert walked(
        {"utterance": "play some jass", "nbest": [ROCK]},
        {"utterance": "play some jazz", "nbest": []},
        {"utterance": "play some jazz", "nbest": [JAZZ], "subject_id": "v"},
    ) == [(0, -1, "well", True), (1, -1, "well", True), (2, -1, "well", True)]


def test_no_turns():
    assert walked() == []


WAYS = st.tuples(st.sampled_from([None, 7]), st.sampled_from([A, B, C]), st.sampled_from([A, B, C, SUCCESS, FAILURE]))


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(WAYS, st.integers(1, 9), min_size=1, max_size=15))
def test_the_chain_equals_a_dense_solve(ways):
    fitted = chain(*(edge(*way, users) for way, users in ways.items()), options=ChainOptions(min_users=2))
    order = [A, B, C]

    def row(words, reading):
        """Shares of what users of a start did, with the unseen one: moves to each reading, then success."""
        total = 1 + sum(n for (w, r, _), n in ways.items() if (w, r) == (words, reading))
        held = [ways.get((words, reading, target), 0) / total for target in (*order, SUCCESS)]
        return np.array(
            [0 if ways.get((words, reading, t), 0) < 2 else h for t, h in zip(order, held, strict=False)]
        ), held[3]

    rows = [row(None, reading) for reading in order]
    ends = np.linalg.inv(np.eye(3) - np.array([moved for moved, _ in rows])) * [well for _, well in rows]
    for words, reading in ((w, r) for w in (None, 7) for r in order):
        moved, well = row(words, reading)
        start = int(words_start(np.array([words]), np.array([reading]))[0]) if words else reading
        assert (start in fitted.starts.tolist()) == bool(moved.any())
        if moved.any():
            expected = dict(zip(order, moved @ ends, strict=True))
            expected[reading] += well
            got, other = found(fitted, start)
            assert got == pytest.approx({r: p for r, p in expected.items() if p > 1e-9}, abs=1e-8)
            assert sum(p for r, p in got.items() if r != reading) <= other + 1e-8 <= 1 - got.get(reading, 0) + 1e-7


MANY = list(range(100, 130))


@settings(deadline=None, max_examples=30)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from([None, 7, 8]), st.sampled_from(MANY), st.sampled_from([*MANY, SUCCESS, FAILURE])),
        # Few numbers, so that many targets are as likely as each other.
        st.integers(1, 2),
        min_size=1,
        max_size=60,
    ),
    st.integers(1, 40),
)
def test_a_block_of_starts_at_a_time_gives_what_all_at_once_give(ways, numbers):
    edges = [edge(*way, users) for way, users in ways.items()]
    wanted = chain(*edges)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain_fit, "_DENSE", numbers)
        given = chain(*edges)
    for name in ("starts", "users", "target", "p", "other"):
        np.testing.assert_array_equal(getattr(given, name), getattr(wanted, name))
    # The likeliest first; of those that are as likely, the readings in their order.
    for target, p in zip(
        wanted.target[:, :, 1:].reshape(-1, HALF.targets), wanted.p[:, :, 1:].reshape(-1, HALF.targets), strict=True
    ):
        held = [(-q, t) for t, q in zip(target.tolist(), p.tolist(), strict=True) if q]
        assert held == sorted(held)


def test_an_act_is_known_by_its_name_in_the_turns_own_language():
    rows = (
        {"utterance": "spiel jazz", "nbest": [JAZZ]},
        {"utterance": "vergiss es", "nbest": [interpretation("abbrechen", 0.9)]},
    )
    assert [at for at, *_ in walked(*(row | {"locale": "de-DE"} for row in rows))] == [0]
    assert [at for at, *_ in walked(*(row | {"locale": "en-US"} for row in rows))] == [0, 1]
