"""Any bytes at all, read and checked: nothing ends the run, and every record is a turn or a dead letter."""

from __future__ import annotations

import io
import json
import string
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import record

from pipeline import storage
from pipeline.readers.canonical import CanonicalReader
from pipeline.transforms.check import check
from schemas import ADVICE, DEAD_LETTER, LOGGED_TURN, TURN

FIELDS = tuple(n for n in LOGGED_TURN.names if n != "source")
NAMES = ("domain", "intent", "slots", "score", "name", "value", "start", "end", "text", "confidence", "odd")
# What a writer of JSON may give where a number, a time or a text is wanted, each as it stands in the file.
RAW = (
    "NaN", "Infinity", "-Infinity", "1e999", "-0.0", "1E-400", "9" * 400,
    "-9223372036854775809", "18446744073709551616",
    "0.1", '"\\ud800"', '"\\udcb2 x"', '"\\ud83d\\ude00"', '"\\u0000"', '"2026-02-30T25:61:00Z"', '"now"', '"2026"',
    '"0000-00-00T00:00:00Z"', '"9999-12-31T23:59:59.999999999+14:00"', '"1677-09-21T00:00:00Z"', "true", "null", "[]",
    "{}", "[[]]", "[null]", '[{"intent":null}]', '[{"slots":[null]}]', '{"a":1,"a":2}', "01", "1.", "'x'", "\u2028",
)  # fmt: skip


def as_object(pairs: Iterable[str]) -> str:
    """Pairs of a name and a value, in text, as an object."""
    return "{" + ",".join(pairs) + "}"


def json_values() -> st.SearchStrategy[str]:
    """Values as text of JSON, or nearly: duplicate keys, any number, lone surrogates."""
    texts = st.text(st.characters(codec=None), max_size=12).map(json.dumps)
    leaves = st.sampled_from(RAW) | texts | st.integers().map(str) | st.floats().map(json.dumps)
    keys = st.sampled_from([*FIELDS, *NAMES]).map(json.dumps) | texts
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4).map(lambda v: f"[{','.join(v)}]")
            | st.lists(st.tuples(keys, inner), max_size=5).map(lambda v: as_object(map(":".join, v)))
        ),
        max_leaves=8,
    )


def fields() -> st.SearchStrategy[str]:
    """A record with fields of the form, and anything in them."""
    good = st.fixed_dictionaries({}, optional={k: st.just(json.dumps(v)) for k, v in record().items()})
    name = st.sampled_from(FIELDS) | st.text(string.ascii_lowercase, max_size=3)
    odd = st.lists(st.tuples(name, json_values()), max_size=4)
    pairs = st.tuples(good, odd).map(lambda both: [*both[0].items(), *both[1]])
    return pairs.map(lambda found: as_object(f"{json.dumps(k)}:{v}" for k, v in found))


def deep(depth: int) -> str:
    """A record with a value nested so deep."""
    return json.dumps(record())[:-1] + ',"extra":' + "[" * depth + "]" * depth + "}"


LINES = (
    fields().map(lambda line: line.encode("utf-8", "surrogatepass"))
    | json_values().map(lambda line: line.encode("utf-8", "surrogatepass"))
    | st.binary(max_size=40)
    | st.sampled_from([b"", b"  ", b"\xef\xbb\xbf{}", b"\x00", b"{", b"{}{}", b"\xff\xfe", b"PAR1"])
    | st.sampled_from([0, 50, 2_000, 100_000]).map(lambda n: json.dumps(record(utterance="x" * n)).encode())
    | st.sampled_from([1, 100, 5_000]).map(lambda depth: deep(depth).encode())
    | st.just(json.dumps(record()).encode())
)


def held(lines: list[bytes], zone: str | None) -> None:
    """Read and check; every record is a turn or a dead letter, told with a reason, and all of it can be written."""
    data = b"\n".join(line.replace(b"\n", b" ") for line in lines)
    records = sum(bool(line.strip()) for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    whole = data.removeprefix(b"\xef\xbb\xbf").startswith(b"PAR1")
    read = turns = dead = 0
    try:
        for batch in CanonicalReader().read(io.BytesIO(data), "a.jsonl"):
            kept, refused = check(batch.turns, zone)
            read, turns, dead = (
                read + batch.records,
                turns + kept.num_rows,
                dead + batch.dead.num_rows + refused.num_rows,
            )
            for table, schema in ((kept, TURN), (refused, DEAD_LETTER), (batch.dead, DEAD_LETTER)):
                back = storage.encode(schema.conform(table))
                assert schema.conform(pq.read_table(pa.BufferReader(back))).equals(schema.conform(table))
            assert set(refused["reason"].to_pylist()) | set(batch.dead["reason"].to_pylist()) <= {*map(str, ADVICE)}
            assert not kept["turn_id"].null_count and not kept["event_time"].null_count
    except pa.ArrowException:
        # A file that begins as Parquet and is none: stage ingest makes one dead letter of it.
        assert whole
        return
    assert turns + dead == read == records


@given(st.lists(LINES, max_size=6), st.sampled_from([None, "Europe/Berlin"]))
@settings(max_examples=100)
def test_no_line_ends_the_run_and_none_is_lost(lines: list[bytes], zone: str | None):
    held(lines, zone)


@pytest.mark.long
@given(st.lists(LINES, max_size=8), st.sampled_from([None, "Europe/Berlin", "America/New_York"]))
@settings(max_examples=1_000)
def test_no_line_ends_the_run_and_none_is_lost_at_length(lines: list[bytes], zone: str | None):
    held(lines, zone)


@pytest.mark.parametrize("field", FIELDS)
def test_any_value_in_any_field_makes_a_turn_or_a_dead_letter(field: str):
    good = {k: json.dumps(v) for k, v in record().items()}
    lines = [as_object(f'"{k}":{v}' for k, v in (good | {field: value}).items()) for value in RAW]
    held([line.encode("utf-8", "surrogatepass") for line in lines], None)
