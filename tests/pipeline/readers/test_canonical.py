from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from synthetic import lines, record

from pipeline.readers.base import Batch
from pipeline.readers.canonical import CanonicalReader
from pipeline.readers.canonical import lines as json_lines
from pipeline.readers.canonical import parquet as rows_of_parquet
from pipeline.readers.canonical.line_by_line import line_by_line
from schemas import LOGGED_TURN, Reason

SECRET = "my pin is 4711"


def read(data: bytes, uri: str = "a.jsonl") -> Batch:
    """All batches of a file as one."""
    batches = list(CanonicalReader().read(io.BytesIO(data), uri))
    return Batch(
        pa.concat_tables([LOGGED_TURN.empty(), *(b.turns for b in batches)]),
        dead=pa.concat_tables([Batch().dead, *(b.dead for b in batches)]),
        replaced=sum(b.replaced for b in batches),
    )


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def found(batch: Batch) -> list[tuple[int, str | None]]:
    """Line and id of each turn."""
    return [(r["source"]["position"], r["turn_id"]) for r in batch.turns.to_pylist()]


def refused(batch: Batch) -> list[tuple[int, str, str | None]]:
    """Line, reason and field of each dead letter."""
    return [(r["source"]["position"], r["reason"], r["field"]) for r in batch.dead.to_pylist()]


def test_a_line_becomes_a_turn_in_the_declared_schema_with_its_place():
    batch = read(lines(record(turn_id="x", executed=0, interpretations=[{"intent": "go", "score": 1}])))
    assert batch.turns.schema.equals(LOGGED_TURN.schema)
    row = batch.turns.to_pylist()[0]
    assert row["source"] == {"uri": "a.jsonl", "position": 1}
    assert row["event_time"] == "2026-03-01T09:30:00Z"
    assert row["interpretations"] == [{"domain": None, "intent": "go", "slots": None, "score": 1.0}]
    assert row["locale"] is None and row["extra"] is None


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_blank_lines_are_no_records_but_lines(end: bytes):
    one, two = lines(record(turn_id="1")).strip(), lines(record(turn_id="2")).strip()
    batch = read(end + one + end + b"  " + end + end + two + end)
    assert found(batch) == [(2, "1"), (5, "2")]
    assert batch.records == 2


@pytest.mark.parametrize("extra", [{}, {"unknown": 1}])
def test_the_last_line_needs_no_line_end(extra: dict[str, int]):
    assert found(read(lines(record(turn_id="1", **extra), record(turn_id="2", **extra))[:-1])) == [(1, "1"), (2, "2")]


def test_an_empty_file_gives_nothing():
    assert read(b"").records == 0
    assert read(b"\n \n").records == 0


def test_a_byte_order_mark_is_no_part_of_the_first_record():
    assert found(read(b"\xef\xbb\xbf" + lines(record(turn_id="1", unknown=1)))) == [(1, "1")]


def test_what_is_not_a_record_becomes_a_dead_letter_and_its_neighbours_stay():
    good = lines(record(turn_id="1"))
    batch = read(good + b"{bad\n" + b"[1]\n" + b'"text"\n' + good)
    assert found(batch) == [(1, "1"), (5, "1")]
    assert refused(batch) == [
        (2, Reason.INVALID_JSON, None),
        (3, Reason.NOT_A_RECORD, None),
        (4, Reason.NOT_A_RECORD, None),
    ]


def test_two_records_on_one_line_are_not_a_line_of_json():
    one = lines(record()).strip()
    assert refused(read(one + one + b"\n")) == [(1, Reason.INVALID_JSON, None)]


def test_two_records_on_one_line_are_not_made_up_for_by_a_blank_line():
    one = lines(record()).strip()
    batch = read(one + one + b"\n   \n")
    assert refused(batch) == [(1, Reason.INVALID_JSON, None)] and not batch.turns.num_rows


def test_a_record_over_two_lines_does_not_shift_the_places_of_others():
    one = lines(record(turn_id="1")).strip()
    batch = read(one.replace(b", ", b",\n", 1) + b"\n" + one + one + b"\n")
    assert not batch.turns.num_rows
    assert [at for at, _, _ in refused(batch)] == [1, 2, 3]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085"])
def test_a_line_separator_inside_a_text_does_not_end_the_line(separator: str):
    text = f"one{separator}two"
    data = json.dumps(record(utterance=text, unknown=1), ensure_ascii=False).encode() + b"\n"
    assert read(data).turns["utterance"].to_pylist() == [text]


@pytest.mark.parametrize("unknown", [b"", b'"unknown": 1, '])
def test_a_carriage_return_between_two_fields_does_not_end_the_line(unknown: bytes):
    data = lines(record(turn_id="1")).replace(b"{", b"{" + unknown + b"\r", 1)
    assert found(read(data + lines(record(turn_id="2")))) == [(1, "1"), (2, "2")]


@pytest.mark.parametrize("control", [b"\x0b", b"\x1c", b"\x0c"])
def test_a_raw_control_character_in_a_text_is_not_json_and_does_not_end_the_line(control: bytes):
    data = lines(record()).replace(b"hello", b"a" + control + b"b")
    assert refused(read(data + lines(record()))) == [(1, Reason.INVALID_JSON, None)]


def test_unknown_fields_are_kept_in_extra_beside_what_the_log_has_there():
    batch = read(lines(record(b=[1, {"c": "x"}], a=None, extra={"own": True}), record(extra="just text", b=1)))
    assert [json.loads(e) for e in batch.turns["extra"].to_pylist()] == [
        {"a": None, "b": [1, {"c": "x"}], "own": True},
        {"extra": "just text", "b": 1},
    ]


def test_unknown_fields_inside_a_list_of_records_are_kept_in_extra_too():
    reading = {"intent": "go", "rank": 1, "slots": [{"name": "a", "value": "b"}, {"name": "c", "source": "x"}]}
    batch = read(lines(record(interpretations=[{"intent": "deny"}, reading])))
    assert json.loads(batch.turns["extra"][0].as_py()) == {
        "interpretations": [{}, {"rank": 1, "slots": [{}, {"source": "x"}]}]
    }
    assert [i["intent"] for i in batch.turns["interpretations"][0].as_py()] == ["deny", "go"]


def test_fields_that_are_computed_anew_are_accepted():
    batch = read(lines(record(subject_id="x", user_known=False, source={"uri": "old", "position": 7})))
    assert batch.turns["extra"].to_pylist() == [None]
    assert batch.turns["source"].to_pylist() == [{"uri": "a.jsonl", "position": 1}]


def test_whole_numbers_are_ids_but_true_is_none():
    batch = read(lines(record(turn_id=12, user_id=2**60, conversation_id=0), record(turn_id=True)))
    row = batch.turns.to_pylist()[0]
    assert (row["turn_id"], row["user_id"], row["conversation_id"]) == ("12", str(2**60), "0")
    assert refused(batch) == [(2, Reason.INVALID_FIELD, "turn_id")]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("utterance", 5),
        ("utterance", ["a"]),
        ("sequence", "first"),
        ("sequence", 1.5),
        ("sequence", 2**70),
        ("sequence", True),
        ("explicit_rating", "good"),
        ("consent", "yes"),
        ("asr", "hello"),
        ("asr", [1]),
        ("interpretations", {"intent": "go"}),
        ("interpretations", [{"intent": 5}]),
        ("interpretations", [{"intent": "go", "slots": {"city": "rome"}}]),
        ("event_time", 1700000000),
    ],
)
def test_a_field_of_another_type_is_a_dead_letter_that_names_it(field: str, value: Any):
    batch = read(lines(record(turn_id="1"), record(**{field: value}), record(turn_id="3")))
    assert found(batch) == [(1, "1"), (3, "3")]
    assert refused(batch) == [(2, Reason.INVALID_FIELD, field)]
    assert f"a.jsonl:2: {field}" in batch.dead["detail"][0].as_py()


@pytest.mark.parametrize("field", ["asr", "interpretations"])
def test_an_array_in_the_place_of_an_object_costs_its_line_alone(field: str):
    objects = [{"text": "go"}] if field == "asr" else [{"intent": "go"}]
    wrong = ([[]], [[["text", "go"]]], {"0": objects[0]})
    batch = read(lines(*(record(turn_id=f"t{k}", **{field: v}) for k, v in enumerate((objects, *wrong, objects)))))
    assert found(batch) == [(1, "t0"), (5, "t4")]
    assert refused(batch) == [(at, Reason.INVALID_FIELD, field) for at in (2, 3, 4)]


def test_slot_values_of_any_type_become_json_text():
    values = ["rome", 5, 1.5, True, None, ["a", 1], {"b": "ü"}]
    batch = read(lines(record(interpretations=[{"intent": "f", "slots": [{"name": "x", "value": v} for v in values]}])))
    slots = batch.turns["interpretations"][0].as_py()[0]["slots"]
    assert [s["value"] for s in slots] == ["rome", "5", "1.5", "true", None, '["a", 1]', '{"b": "ü"}']


def test_a_first_file_that_is_all_null_does_not_decide_the_type():
    null = read(lines(*(record(locale=None, asr=None, barge_in=None) for _ in range(3))))
    text = read(lines(record(locale="de-DE", asr=[{"text": "hallo", "confidence": 0.5}], barge_in=True)))
    both = pa.concat_tables([null.turns, text.turns])
    assert both["locale"].to_pylist() == [None, None, None, "de-DE"]
    assert both.schema.equals(LOGGED_TURN.schema)


@pytest.mark.parametrize("escape", [b"\\udcb2", b"\\ud83d", b"\\uDCB2\\uD83D"])
def test_a_lone_surrogate_becomes_the_replacement_character_and_is_counted(escape: bytes):
    batch = read(lines(record()) + lines(record()).replace(b"hello", b"a" + escape))
    text = batch.turns["utterance"][1].as_py()
    assert text.startswith("a\ufffd") and set(text[1:]) == {"\ufffd"}
    assert batch.replaced == 1


def test_a_pair_of_surrogates_is_a_character():
    batch = read(lines(record(utterance="\U0001f600", unknown=1)))
    assert batch.turns["utterance"].to_pylist() == ["\U0001f600"] and batch.replaced == 0


def test_bytes_that_are_not_utf8_are_replaced_and_counted():
    batch = read(lines(record(), record()).replace(b"hello", b"h\xffllo", 1))
    assert batch.turns["utterance"].to_pylist() == ["h\ufffdllo", "hello"]
    assert batch.replaced == 1


def test_a_replacement_character_in_the_log_itself_was_not_replaced_by_us():
    data = json.dumps(record(utterance="a\ufffd", unknown=1), ensure_ascii=False).encode()
    assert read(data).replaced == 0


def test_nan_is_a_missing_number_and_infinity_a_dead_letter():
    data = b"".join(
        lines(record(turn_id=t, explicit_rating=0.5, interpretations=[{"intent": "a", "score": 0.25}])) for t in "123"
    )
    data = data.replace(b"0.5", b"NaN", 1).replace(b"0.25", b"NaN", 1)
    data = data.replace(b"0.5", b"-Infinity", 1).replace(b"0.5", b"1e999", 1)
    batch = read(data)
    assert batch.turns["explicit_rating"].to_pylist() == [None]
    assert batch.turns["interpretations"][0].as_py()[0]["score"] is None
    assert refused(batch) == [(2, Reason.INVALID_FIELD, None), (3, Reason.INVALID_FIELD, None)]


@pytest.mark.parametrize("depth", [50, 700, 100_000])
@pytest.mark.parametrize("field", ["utterance", "unknown", "interpretations"])
def test_hostile_nesting_refuses_its_line_at_most(depth: int, field: str):
    deep = b'{"turn_id": "2", "' + field.encode() + b'": ' + b"[" * depth + b"]" * depth + b"}\n"
    batch = read(lines(record(turn_id="1")) + deep + lines(record(turn_id="3")))
    assert [t for _, t in found(batch)][::2] == ["1", "3"] or [t for _, t in found(batch)] == ["1", "3"]
    assert batch.records == 3


def test_no_text_of_the_user_is_in_a_dead_letter():
    bad = [
        record(utterance={SECRET: SECRET}),
        record(sequence=SECRET),
        record(asr=[SECRET]),
        record(interpretations=SECRET),
        record(consent=SECRET),
        [SECRET],
        SECRET,
    ]
    data = lines(*bad) + b'{"utterance": "' + SECRET.encode() + b"\n" + SECRET.encode() + b"\n"
    batch = read(data + lines(record(utterance=SECRET)).replace(b"}", b', "explicit_rating": Infinity}'))
    assert batch.dead.num_rows == len(bad) + 3
    for row in batch.dead.to_pylist():
        assert "4711" not in row["detail"] and "4711" not in row["record"], row


def test_a_dead_letter_shows_the_shape_of_its_record():
    batch = read(lines(record(sequence="first", asr=[{"text": "abc", "confidence": 0.5}])))
    shape = json.loads(batch.dead["record"][0].as_py())
    assert shape["sequence"] == "<text of 5>" and shape["asr"] == [{"text": "<text of 3>", "confidence": "<float>"}]


@pytest.mark.parametrize("size", [16, 100, 300, 1000])
@pytest.mark.parametrize("unknown", [{}, {"unknown": 1}])
def test_places_are_right_across_blocks(monkeypatch: pytest.MonkeyPatch, size: int, unknown: dict[str, int]):
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", size)
    rows = [record(turn_id=str(k), utterance="x" * (k % 40), **unknown) for k in range(1, 60)]
    data = lines(*rows[:20]) + b"\n{bad\n" + lines(*rows[20:])
    batch = read(data)
    assert found(batch) == [(k if k <= 20 else k + 2, str(k)) for k in range(1, 60)]
    assert refused(batch) == [(22, Reason.INVALID_JSON, None)]


TEXT = st.text(max_size=12)
SLOTS = st.lists(
    st.fixed_dictionaries(
        {}, optional={"name": TEXT, "value": st.none() | TEXT, "start": st.integers(0, 9), "end": st.none()}
    ),
    max_size=2,
)
RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "turn_id": TEXT,
        "user_id": st.none() | TEXT,
        "utterance": TEXT,
        "event_time": TEXT,
        "extra": TEXT,
        "sequence": st.integers(-(2**63), 2**63 - 1),
        "explicit_rating": st.floats(allow_nan=False, allow_infinity=False),
        "consent": st.booleans() | st.none(),
        "executed": st.integers(-9, 9),
        "asr": st.none()
        | st.lists(st.none() | st.fixed_dictionaries({"text": TEXT}, optional={"confidence": st.just(1)})),
        "interpretations": st.lists(
            st.fixed_dictionaries(
                {}, optional={"intent": TEXT, "score": st.floats(0, 1) | st.integers(0, 3), "slots": st.none() | SLOTS}
            ),
            max_size=3,
        ),
    },
)


@given(st.lists(RECORDS, min_size=1, max_size=5), st.booleans())
def test_the_fast_and_the_slow_path_give_the_same_table(rows: list[dict[str, Any]], ascii: bool):
    data = b"".join(json.dumps(r, ensure_ascii=ascii).encode("utf-8", "replace") + b"\n" for r in rows)
    fast = json_lines.fast(data)
    slow = line_by_line(data, "a.jsonl", 1)
    assert not slow.dead.num_rows
    if fast is not None:
        assert fast.to_pylist() == slow.turns.drop_columns("source").to_pylist()


UNKNOWN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT | st.floats(), lambda v: st.lists(v) | st.dictionaries(TEXT, v)
)


@given(st.lists(st.tuples(RECORDS, UNKNOWN, st.booleans()), min_size=1, max_size=4))
def test_unknown_fields_are_kept_alike_by_the_quick_and_the_slow_path(rows: list[tuple[dict[str, Any], Any, bool]]):
    data = b""
    for row, value, inside in rows:
        first = row.get("interpretations", [])[:1] if inside else [row]
        for part in first:
            part["more"] = value
        data += json.dumps(row).encode() + b"\n"
    quick = json_lines.with_extra(json_lines.fast(data, "ignore"), data)
    if quick is not None:
        slow = line_by_line(data, "a.jsonl", 1)
        assert not slow.dead.num_rows
        assert quick.to_pylist() == slow.turns.drop_columns("source").to_pylist()


def test_records_with_unknown_fields_are_not_read_line_by_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(json_lines, "line_by_line")
    batch = read(lines(record(app={"v": 1}), record(asr=[{"text": "a", "rank": 1}])))
    assert batch.turns["extra"].to_pylist() == ['{"app": {"v": 1}}', '{"asr": [{"rank": 1}]}']


def test_ordinary_records_take_the_fast_path():
    full = record(asr=[{"text": "a", "confidence": 1}], interpretations=[{"intent": "a", "score": 0.5, "slots": []}])
    assert json_lines.fast(lines(full, record())) is not None
    assert json_lines.fast(lines(full, record()).replace(b"\n", b"\r\n")) is not None


def test_parquet_gives_the_turns_of_the_same_records_in_json():
    rows = [
        record(
            turn_id=str(k), sequence=k, interpretations=[{"domain": None, "intent": "a", "slots": None, "score": 0.5}]
        )
        for k in range(3)
    ]
    columns = {k: [r[k] for r in rows] for k in rows[0]}
    batch = read(parquet(pa.table(columns)), "a.parquet")
    assert batch.turns.drop_columns("source").equals(read(lines(*rows)).turns.drop_columns("source"))
    assert [p for p, _ in found(batch)] == [0, 1, 2]


def test_parquet_times_become_iso_text_with_their_offset():
    at = pa.array([1_500_000], pa.timestamp("us"))
    batch = read(parquet(pa.table({"event_time": at.cast(pa.timestamp("ms", "Europe/Berlin")), "received_time": at})))
    row = batch.turns.to_pylist()[0]
    assert (row["event_time"], row["received_time"]) == ("1970-01-01T00:00:01.500000Z", "1970-01-01T00:00:01.500000")


def test_parquet_keeps_unknown_columns_and_fields_in_extra():
    asr = pa.array([[{"text": "a", "confidence": 0.5, "rank": 1}]])
    row = read(parquet(pa.table({"turn_id": [7], "app": ["x"], "asr": asr}))).turns.to_pylist()[0]
    assert row["turn_id"] == "7" and row["asr"] == [{"text": "a", "confidence": 0.5}]
    assert json.loads(row["extra"]) == {"app": "x", "asr": [{"rank": 1}]}


def test_parquet_rows_that_do_not_fit_are_dead_letters_alone():
    batch = read(parquet(pa.table({"turn_id": ["a", "b", "c"], "sequence": ["1", "first", "3"]})))
    assert [r for r in refused(batch) if r[0] == 1] == [(1, Reason.INVALID_FIELD, "sequence")]


def test_parquet_nan_is_a_missing_number():
    batch = read(parquet(pa.table({"turn_id": ["a", "b"], "explicit_rating": [float("nan"), 0.5]})))
    assert batch.turns["explicit_rating"].to_pylist() == [None, 0.5]


def test_parquet_positions_run_on_over_batches(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rows_of_parquet, "BATCH_ROWS", 4)
    batch = read(parquet(pa.table({"turn_id": [str(k) for k in range(10)]})))
    assert found(batch) == [(k, str(k)) for k in range(10)]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_parquet_is_known_by_its_first_bytes_not_by_its_name(pack: Any):
    assert found(read(parquet(pa.table({"turn_id": ["a"]})), "no-suffix")) == [(0, "a")]


def test_a_large_parquet_file_is_read_from_the_disk_alike(monkeypatch: pytest.MonkeyPatch):
    sink = io.BytesIO()
    pq.write_table(pa.table({"user_id": ["u"] * 9, "utterance": [str(k) for k in range(9)]}), sink)
    whole = read(sink.getvalue()).turns
    monkeypatch.setattr(rows_of_parquet, "SPOOL_BYTES", 10)
    assert read(sink.getvalue()).turns.equals(whole) and whole.num_rows == 9
