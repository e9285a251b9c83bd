from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import record

from pipeline.transforms.check import check
from schemas import DEAD_LETTER, LOGGED_TURN, TURN, Reason

NEW_YORK = "America/New_York"


def logged(*rows: dict[str, Any]) -> pa.Table:
    """Logged turns; each at the line of its number."""
    placed = [{"source": {"uri": "a.jsonl", "position": k}} | r for k, r in enumerate(rows, start=1)]
    return pa.Table.from_pylist(placed, schema=LOGGED_TURN.schema)


def time_of(text: str, zone: str | None = None) -> datetime | str:
    """The time a text means, or why it was refused."""
    turns, dead = check(logged(record(event_time=text)), zone)
    return turns["event_time"][0].as_py() if turns.num_rows else dead["reason"][0].as_py()


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({"user_id": None}, Reason.MISSING_SUBJECT, "user_id"),
        ({"user_id": " ", "conversation_id": ""}, Reason.MISSING_SUBJECT, "user_id"),
        ({"utterance": None}, Reason.EMPTY_UTTERANCE, "utterance"),
        ({"utterance": " \t\u00a0"}, Reason.EMPTY_UTTERANCE, "utterance"),
        ({"event_time": None}, Reason.MISSING_TIME, "event_time"),
        ({"event_time": ""}, Reason.MISSING_TIME, "event_time"),
        ({"event_time": "2026-03-01T09:30:00"}, Reason.NAIVE_TIME, "event_time"),
        ({"event_time": "soon"}, Reason.INVALID_TIME, "event_time"),
        ({"received_time": "soon"}, Reason.INVALID_TIME, "received_time"),
        ({"received_time": "2026-03-01T09:30:00"}, Reason.NAIVE_TIME, "received_time"),
        ({"expires": "2026-02-30T00:00:00Z"}, Reason.INVALID_TIME, "expires"),
        ({"executed": 0}, Reason.INVALID_FIELD, "executed"),
        ({"executed": 1, "interpretations": [{"intent": "a"}]}, Reason.INVALID_FIELD, "executed"),
        ({"executed": -1, "interpretations": [{"intent": "a"}]}, Reason.INVALID_FIELD, "executed"),
        ({"interpretations": [{"intent": "a"}, None]}, Reason.INVALID_FIELD, "interpretations"),
        (
            {"interpretations": [{"intent": "a"}, {"intent": "b", "slots": [{"name": "x"}, None]}]},
            Reason.INVALID_FIELD,
            "interpretations",
        ),
        ({"asr": [None]}, Reason.INVALID_FIELD, "asr"),
        ({"outcome": "Answered"}, Reason.INVALID_FIELD, "outcome"),
        ({"explicit_rating": 4.0}, Reason.INVALID_FIELD, "explicit_rating"),
        ({"explicit_rating": float("nan")}, Reason.INVALID_FIELD, "explicit_rating"),
        ({"propensity": -0.1}, Reason.INVALID_FIELD, "propensity"),
    ],
)
def test_each_reason(fields: dict[str, Any], reason: Reason, field: str):
    turns, dead = check(logged(record(), record(**fields), record()), None)
    assert turns["source"].to_pylist() == [{"uri": "a.jsonl", "position": p} for p in (1, 3)]
    letter = dead.to_pylist()[0]
    assert (letter["reason"], letter["field"]) == (reason, field)
    assert letter["source"] == {"uri": "a.jsonl", "position": 2}
    assert letter["detail"].startswith(f"a.jsonl:2: {field}: ")


def test_the_first_reason_is_given_where_several_hold():
    _, dead = check(logged({"utterance": "x"}), None)
    assert dead["reason"].to_pylist() == [Reason.MISSING_SUBJECT]


def test_what_the_contract_allows_is_kept():
    turns, dead = check(
        logged(
            record(
                outcome="refused", explicit_rating=0.0, propensity=1.0, interpretations=[{"intent": "a"}], executed=0
            ),
            record(user_id=None, conversation_id="c"),
        ),
        None,
    )
    assert not dead.num_rows and turns.num_rows == 2


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T09:30:00Z",
        "2026-03-01T09:30:00z",
        "2026-03-01 09:30:00+00:00",
        "2026-03-01T10:30:00+01:00",
        "2026-03-01T10:30:00+0100",
        "2026-03-01T10:30:00+01",
        "2026-03-01T04:30:00.000000-05:00",
        "20260301T093000Z",
        "2026-03-01T09:30Z",
        " 2026-03-01T09:30:00Z ",
        "2026-03-01T09:30:00 +00:00",
        "2026-03-01T09:30:00.0000009Z",
    ],
)
def test_forms_of_the_same_time(text: str):
    assert time_of(text) == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "now",
        "today",
        "NaT",
        "nan",
        "2026",
        "2026-03",
        "09:30",
        "1700000000",
        "1700000000000",
        "2026-03-01T24:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-03-01T09:30:00+1",
        "2026-03-01T09:30:00+01:0",
        "2026-03-01T09:30:00UTC",
        "2026-03-01T09:30:00+99:00",
        "March 1st 2026",
    ],
)
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_what_is_no_time_of_a_request(text: str, zone: str | None):
    assert time_of(text, zone) == Reason.INVALID_TIME


def test_one_malformed_time_leaves_the_others_as_they_are():
    rows = [record(event_time=t) for t in ("2026-03-01T09:30:00+1", "2026-03-01T09:30:00", "2026-03-01T09:30:00Z")]
    turns, dead = check(logged(*rows), "UTC")
    assert turns.num_rows == 2 and dead["reason"].to_pylist() == [Reason.INVALID_TIME]


@pytest.mark.parametrize(
    ("text", "hour", "minute"),
    [
        ("2026-03-01T09:30:00", 14, 30),  # winter: five hours behind
        ("2026-07-01T09:30:00", 13, 30),  # summer: four
        ("2026-11-01T01:30:00", 5, 30),  # shown twice: the first is meant
        ("2026-03-08T02:30:00", 7, 0),  # skipped: the next that exists
    ],
)
def test_naive_times_take_the_declared_zone(text: str, hour: int, minute: int):
    day = datetime.fromisoformat(text)
    assert time_of(text, NEW_YORK) == day.replace(hour=hour, minute=minute, tzinfo=UTC)


def test_a_date_alone_is_naive_and_is_not_taken_for_an_offset():
    assert time_of("2026-03-01") == Reason.NAIVE_TIME
    assert time_of("2026-03-01", NEW_YORK) == datetime(2026, 3, 1, 5, tzinfo=UTC)


def test_an_offset_wins_over_the_declared_zone():
    assert time_of("2026-03-01T09:30:00+02:00", NEW_YORK) == datetime(2026, 3, 1, 7, 30, tzinfo=UTC)


def test_naive_and_offset_times_in_one_table():
    turns, _ = check(
        logged(
            record(event_time="2026-03-01T09:30:00"),
            record(event_time="2026-03-01T09:30:00Z"),
            record(event_time="2026-03-01T09:30:00.123456+01:00"),
        ),
        NEW_YORK,
    )
    assert [t.isoformat() for t in turns["event_time"].to_pylist()] == [
        "2026-03-01T14:30:00+00:00",
        "2026-03-01T09:30:00+00:00",
        "2026-03-01T08:30:00.123456+00:00",
    ]


def test_the_subject_is_the_user_else_the_conversation():
    turns, _ = check(logged(record(user_id="u", conversation_id="c"), record(user_id=None, conversation_id="c")), None)
    assert turns["subject_id"].to_pylist() == ["u", "conv:c"]
    assert turns["user_known"].to_pylist() == [True, False]


def test_a_missing_id_is_a_stable_hash():
    turns, _ = check(logged(record(turn_id=None, conversation_id="c", sequence=3), record(turn_id="own")), None)
    assert turns["turn_id"].to_pylist() == ["c0b700f8c9fecd14bf18aad269abe2f6", "own"]


def test_a_replayed_record_without_an_id_gets_the_same_id_and_another_one_does_not():
    same = record(turn_id=" ", utterance="go")
    turns, _ = check(
        logged(
            same,
            same,
            same | {"utterance": "stop"},
            same | {"user_id": "v"},
            same | {"sequence": 1},
            same | {"event_time": "2026-03-01T09:30:00.000001Z"},
        ),
        None,
    )
    ids = turns["turn_id"].to_pylist()
    assert ids[0] == ids[1] and len(set(ids)) == 5


def test_no_text_of_the_user_is_in_a_dead_letter():
    secret = "my pin is 4711"
    _, dead = check(
        logged(
            record(
                utterance=secret,
                event_time=secret,
                prompt=secret,
                outcome=secret,
                extra=secret,
                interpretations=[{"intent": secret, "slots": [{"value": secret}]}],
            )
        ),
        None,
    )
    assert "4711" not in json.dumps(dead.to_pylist())


ROWS = st.fixed_dictionaries(
    {},
    optional={
        "turn_id": st.text(max_size=3),
        "user_id": st.sampled_from(["", "u", None]),
        "conversation_id": st.sampled_from(["c", None]),
        "utterance": st.sampled_from(["", " ", "hi", None]),
        "event_time": st.sampled_from(["2026-03-01T09:30:00Z", "2026-03-01", "x", "", None, "2026-11-01T01:30:00"]),
        "received_time": st.sampled_from(["2026-03-01T09:30:00Z", "x", None]),
        "executed": st.integers(-1, 1),
        "interpretations": st.sampled_from([None, [], [None], [{"intent": "a"}]]),
        "sequence": st.none() | st.integers(0, 3),
        "outcome": st.sampled_from([None, "answered", "x"]),
        "explicit_rating": st.none() | st.floats(),
    },
)


@given(st.lists(ROWS, max_size=6), st.sampled_from([None, NEW_YORK]))
def test_every_row_lands_in_one_of_the_two(rows: list[dict[str, Any]], zone: str | None):
    turns, dead = check(logged(*rows), zone)
    assert turns.schema.equals(TURN.schema) and dead.schema.equals(DEAD_LETTER.schema)
    lines = [s["position"] for t in (turns, dead) for s in t["source"].to_pylist()]
    assert sorted(lines) == list(range(1, len(rows) + 1))
