"""The whole Signals table: contracts that hold for any log."""

from __future__ import annotations

import math

import pyarrow as pa
from build import column, interpretation, turns
from hypothesis import given, settings
from hypothesis import strategies as st

from features.signals import SignalOptions, signals
from features.timeline import sort, timeline
from schemas import SIGNALS

ROW = st.fixed_dictionaries(
    {
        "subject_id": st.sampled_from(["u", "v", "w"]),
        "at": st.sampled_from([0.0, 10.0, 400.0]),
        "utterance": st.sampled_from(["play jazz", "no", "yes", "start over", "play a jazz song"]),
        "prompt": st.sampled_from([None, "Which song?"]),
        "response": st.sampled_from([None, "Sorry, which song?", "Jazz. Is that right?"]),
        "nbest": st.lists(
            st.builds(interpretation, st.sampled_from(["a", "b"]), st.sampled_from([None, 0.0, 0.7])),
            max_size=3,
        ),
        "asr": st.sampled_from([None, [], [{"text": "x", "confidence": 0.5}], [{"text": "x", "confidence": None}]]),
        "conversation_id": st.sampled_from(["c", "d", None]),
    }
)
LOG = st.lists(ROW, max_size=8)
RELAXED = settings(max_examples=40, deadline=None)


def by_id(table):
    return {row["turn_id"]: row for row in table.to_pylist()}


@RELAXED
@given(LOG, st.permutations(["u", "v", "w"]))
def test_a_subjects_signals_do_not_depend_on_other_subjects(log, names):
    together = signals(sort(turns(*log)))
    renamed = dict(zip(["u", "v", "w"], names, strict=True))
    moved = signals(sort(turns(*({**row, "subject_id": renamed[row["subject_id"]]} for row in log))))
    first, second = by_id(together), by_id(moved)
    for turn_id, row in first.items():
        assert second[turn_id] | {"subject_id": row["subject_id"]} == row


@settings(RELAXED, max_examples=15)
@given(LOG, st.integers(1, 3))
def test_a_session_alone_has_the_same_signals(log, cap):
    """So a user of very many turns is worked on in pieces, cut between sessions and where the cap cuts one."""
    table, options = sort(turns(*log)), SignalOptions(session_cap=cap)
    together = signals(table, options)
    session = timeline(table, session_cap=cap).session
    alone = [signals(table.filter(pa.array(session == k)), options) for k in range(len(set(session.tolist())))]
    assert pa.concat_tables([SIGNALS.empty(), *alone]).equals(together)


@RELAXED
@given(LOG)
def test_a_subject_alone_has_the_same_signals(log):
    table = sort(turns(*log))
    together = by_id(signals(table))
    for subject in set(column(table, "subject_id")):
        alone = signals(table.filter(pa.compute.equal(table["subject_id"], subject)))
        assert all(together[turn_id] == row for turn_id, row in by_id(alone).items())


@RELAXED
@given(LOG)
def test_the_table_has_its_schema_and_no_nan(log):
    table = sort(turns(*log))
    got = signals(table)
    assert got.schema.equals(SIGNALS.schema)
    assert column(got, "turn_id") == column(table, "turn_id")
    flat = got["candidates"].combine_chunks().flatten()
    numbers = [*(got[c.name] for c in SIGNALS.columns), *(flat.field(f.name) for f in flat.type)]
    for values in numbers:
        if pa.types.is_floating(values.type):
            assert not any(v is not None and math.isnan(v) for v in values.to_pylist())


# Every turn of every example is asked by itself, so fewer examples do.
@settings(RELAXED, max_examples=20)
@given(LOG)
def test_nothing_after_the_turn_is_in_columns_that_need_no_reaction(log):
    table = sort(turns(*log))
    whole = by_id(signals(table))
    early = [c.name for c in SIGNALS.columns if not c.needs_reaction]
    for subject in set(column(table, "subject_id")):
        own = table.filter(pa.compute.equal(table["subject_id"], subject))
        for last in range(own.num_rows):
            cut = signals(own.slice(0, last + 1))
            row, seen = by_id(cut)[column(own, "turn_id")[last]], whole[column(own, "turn_id")[last]]
            assert {n: row[n] for n in early} == {n: seen[n] for n in early}


def test_no_turns_give_no_signals():
    got = signals(turns())
    assert got.num_rows == 0
    assert got.schema.equals(SIGNALS.schema)


def test_the_leading_interpretation_names_domain_and_intent():
    got = signals(turns({"nbest": [interpretation("a", domain="x"), interpretation("b", domain="y")]}, {}))
    assert column(got, "intent") == ["a", None]
    assert column(got, "domain") == ["x", None]


def test_logged_outcome_and_rating():
    got = signals(turns({"outcome": "answered", "explicit_rating": 0.5}, {"outcome": "clarify"}, {}))
    assert column(got, "outcome_failed") == [False, True, None]
    assert column(got, "explicit_rating") == [0.5, None, None]
