"""Evidence from the session around a candidate, held against loops over plain Python lists."""

from __future__ import annotations

import numpy as np
import pytest
from build import column, evidence, interpretation, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from features.occurrences import Occurrences, groups, reach
from features.signals import SignalOptions, signals

VALUES = ("", "x", "y", "x y")
HYPOTHESIS = st.tuples(st.sampled_from(["ask", "tell"]), st.sampled_from(VALUES), st.sampled_from([None, 0.1, 0.6]))
RESPONSES = (None, "x it is", "Going to x y. Is that right?", "y. Is that right?", "xy", "Y!")
TURN = st.tuples(
    st.sampled_from(["u", "v"]),
    st.lists(HYPOTHESIS, max_size=4),
    st.sampled_from(RESPONSES),
    st.sampled_from(["yes", "no", "well"]),
)
REPEATS = ("later_top", "earlier_top", "later_mass", "earlier_mass", "later_frame", "support_offset")
ECHOES = ("echo", "later_echo", "affirmed_after", "denied_after", "affirmed_before", "denied_before")


def table(log):
    rows = []
    for subject, nbest, response, utterance in sorted(log, key=lambda t: t[0]):
        hypotheses = [interpretation(name, s, **({"to": v} if v else {})) for name, v, s in nbest]
        rows.append({"subject_id": subject, "nbest": hypotheses, "response": response, "utterance": utterance})
    return turns(*rows)


def sessions(log):
    ordered = sorted(log, key=lambda t: t[0])
    return [[t for t in ordered if t[0] == s] for s in ("u", "v") if any(t[0] == s for t in ordered)]


def frame(hypothesis):
    return hypothesis[0], bool(hypothesis[1])


def by_hand(session, at, hypothesis, horizon):
    """The repeats evidence of one hypothesis, by loops."""
    name, value, _ = hypothesis
    out = dict.fromkeys(REPEATS, 0)
    for j, (_, nbest, _, _) in enumerate(session):
        if j == at or abs(j - at) > horizon or not nbest:
            continue
        side = "later" if j > at else "earlier"
        same = nbest[0][:2] == (name, value)
        out[f"{side}_top"] += same
        out[f"{side}_mass"] += sum(s or 0.0 for n, v, s in nbest if (n, v) == (name, value))
        if j > at:
            out["later_frame"] += frame(nbest[0]) == frame(hypothesis) and not same
            if same and not out["support_offset"]:
                out["support_offset"] = j - at
    return out


@settings(max_examples=40, deadline=None)
@given(st.lists(TURN, max_size=9), st.integers(1, 4))
def test_repeats_equal_brute_force(log, horizon):
    got = signals(table(log), SignalOptions(horizon=horizon))
    found = {name: iter(evidence(got, name)) for name in REPEATS}
    for session in sessions(log):
        for at, (_, nbest, _, _) in enumerate(session):
            row = {name: next(found[name]) for name in REPEATS}
            for k, hypothesis in enumerate(nbest):
                expected = by_hand(session, at, hypothesis, horizon)
                assert {n: row[n][k] for n in REPEATS} == pytest.approx(expected, abs=1e-6)


def words(text):
    return " " + " ".join("".join(c if c.isalnum() else " " for c in (text or "").lower()).split()) + " "


def echo_by_hand(session, at, intent, value, horizon):
    """The echo evidence of one value in one frame, by loops."""
    out = dict.fromkeys(ECHOES, 0)
    for j, (_, nbest, response, _) in enumerate(session):
        if abs(j - at) > horizon or not value or f" {value} " not in words(response):
            continue
        after = session[j + 1][3] if j + 1 < len(session) else None
        asked = "is that right" in words(response)
        outcome = {"yes": "affirmed", "no": "denied"}.get(after) if asked else None
        out["echo"] += j == at
        out["later_echo"] += j > at
        other_frame = bool(nbest) and nbest[0][1] == value and nbest[0][0] != intent
        if outcome and not other_frame:
            out[f"{outcome}_{'after' if j >= at else 'before'}"] += 1
    return out


@settings(max_examples=40, deadline=None)
@given(st.lists(TURN, max_size=9), st.integers(1, 4))
def test_echoes_equal_brute_force(log, horizon):
    got = signals(table(log), SignalOptions(horizon=horizon))
    found = {name: iter(evidence(got, name)) for name in ECHOES}
    for session in sessions(log):
        for at, (_, nbest, _, _) in enumerate(session):
            row = {name: next(found[name]) for name in ECHOES}
            for k, (intent, value, _) in enumerate(nbest):
                expected = echo_by_hand(session, at, intent, value, horizon)
                if not value:
                    assert row["echo"][k] is None
                    expected["echo"] = None
                assert {n: row[n][k] for n in ECHOES} == expected


def test_the_next_best_says_the_same_or_has_the_same_frame():
    one, other = interpretation(to="x"), interpretation(to="y")
    got = signals(turns({"nbest": [one]}, {"nbest": [one]}, {"nbest": [other]}, {"nbest": []}))
    assert column(got, "same_interpretation_next") == [True, False, None, None]
    assert column(got, "same_frame_next") == [True, True, None, None]


def test_values_are_likened_to_the_next_bests_and_null_without_values():
    got = signals(
        turns(
            {"nbest": [interpretation(to="mary street"), interpretation()]},
            {"nbest": [interpretation(to="mary street")]},
        )
    )
    assert evidence(got, "next_value_similarity") == [[1.0, None], [None]]


def test_groups_number_distinct_pairs():
    got = groups(np.array([0, 0, 0, 1]), np.array([7, 3, 7, 7]))
    assert got.tolist() == [0, 1, 0, 2]


EVENTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), unique=True, max_size=12)


@given(EVENTS, EVENTS, st.integers(1, 4), st.integers(-4, 4), st.integers(-4, 4))
def test_windows_equal_brute_force(events, queries, horizon, first, last):
    first, last = max(min(first, last), -horizon), min(max(first, last), horizon)
    if last < first:
        return
    group, position = (np.array([e[k] for e in events], np.int64) for k in (0, 1))
    index = Occurrences.of(group, position, np.arange(1.0, len(events) + 1), horizon, 7)
    at_group, at = (np.array([q[k] for q in queries], np.int64) for k in (0, 1))
    count, weight, offset = index.window(at_group, at, first, last)
    for k, (g, p) in enumerate(queries):
        inside = sorted((e[1] - p, w) for w, e in enumerate(events, 1) if e[0] == g and first <= e[1] - p <= last)
        assert count[k] == len(inside)
        assert weight[k] == sum(w for _, w in inside)
        assert offset[k] == (inside[0][0] if inside else 0)


@given(EVENTS, st.integers(1, 3))
def test_reach_gives_each_position_near_an_occurrence_once(events, horizon):
    events = sorted(events)
    group, position = (np.array([e[k] for e in events], np.int64) for k in (0, 1))
    owner, at = reach(group, position, np.full(len(events), 7), horizon)
    expected = {(g, q) for g, p in events for q in range(max(p - horizon, 0), min(p + horizon, 6) + 1)}
    got = list(zip(group[owner].tolist(), at.tolist(), strict=True))
    assert set(got) == expected
    assert len(got) == len(expected)


def test_evidence_does_not_depend_on_who_else_is_in_the_bucket():
    generator = np.random.default_rng(5)
    rows = []
    for user in range(120):
        for step in range(4):
            nbest = [interpretation("ask", float(s), city=c) for s, c in zip(generator.random(3), "xyz", strict=True)]
            rows.append(
                {
                    "turn_id": f"{user:03d}-{step}",
                    "subject_id": f"u{user:03d}",
                    "at": user * 900.0 + step,
                    "nbest": nbest,
                }
            )
    whole = signals(turns(*rows))
    for start in (0, 240, 476):
        assert signals(turns(*rows[start : start + 4])).equals(whole.slice(start, 4))
