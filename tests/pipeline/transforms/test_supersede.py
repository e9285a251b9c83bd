from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from build import START, turns
from hypothesis import given
from hypothesis import strategies as st

from pipeline.transforms.ingest import Place, by_place, last_read
from pipeline.transforms.shuffle import KeyHash
from pipeline.transforms.superseding import marked, notices, numbered, repeated, settled, strangers, supersede
from schemas import DEAD_LETTER, GOLD


def at(seconds: int | None) -> Any:
    return None if seconds is None else START + timedelta(seconds=seconds)


def version(turn_id: str, received: int | None, uri: str, position: int, text: str) -> dict[str, Any]:
    return {
        "turn_id": turn_id,
        "received_time": at(received),
        "source": {"uri": uri, "position": position},
        "utterance": text,
    }


def kept(*rows: dict[str, Any]) -> list[str]:
    return supersede(marked(turns(*rows)))["utterance"].to_pylist()


def test_the_row_received_last_stays():
    assert kept(version("t", 9, "a", 1, "new"), version("t", 3, "b", 2, "old")) == ["new"]


def test_a_row_without_received_time_counts_as_received_first():
    assert kept(version("t", None, "z", 9, "unknown"), version("t", -(10**9), "a", 1, "known")) == ["known"]


def test_of_rows_received_together_the_later_file_then_the_later_line_stays():
    assert kept(version("t", 5, "b", 1, "file b"), version("t", 5, "a", 7, "file a")) == ["file b"]
    assert kept(version("t", None, "a", 10, "line 10"), version("t", None, "a", 9, "line 9")) == ["line 10"]


def test_the_same_id_under_two_subjects_is_one_turn():
    twins = (version("t", 1, "a", 1, "x") | {"subject_id": "u"}, version("t", 2, "a", 2, "y") | {"subject_id": "v"})
    got = supersede(marked(turns(*twins)))
    assert got["subject_id"].to_pylist() == ["v"]


def test_other_turns_are_untouched_and_no_rows_give_none():
    assert kept(version("a", 1, "f", 1, "x"), version("b", 1, "f", 1, "x")) == ["x", "x"]
    assert supersede(marked(turns())).num_rows == 0


ROWS = st.lists(
    st.builds(
        version,
        st.sampled_from("abc"),
        st.none() | st.integers(0, 2),
        st.sampled_from("fg"),
        st.integers(1, 3),
        st.sampled_from("xyz"),
    ),
    max_size=8,
)


@given(ROWS, st.randoms(use_true_random=False))
def test_one_row_an_id_whatever_the_order_they_come_in(rows: list[dict[str, Any]], draw: random.Random):
    # A record may hold several turns: then one place does.
    read = marked(turns(*rows))
    first = supersede(read)
    assert first["turn_id"].to_pylist() == sorted({r["turn_id"] for r in rows})
    order = draw.sample(range(len(rows)), len(rows))
    assert supersede(read.take(pa.array(order, pa.int64()))).equals(first)


@pytest.mark.parametrize("subjects", ["uu", "uv"])
@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_of_two_turns_of_one_record_the_one_read_last_stays_whatever_order_they_are_loaded_in(
    subjects: str, order: list[int]
):
    twins = [
        version("t", None, "a", 1, "yes") | {"subject_id": s, "response": r}
        for s, r in zip(subjects, "AB", strict=True)
    ]
    read = marked(turns(*twins)).take(pa.array(order))
    rows = pa.concat_tables([notices(read, supersede(read)), read])
    assert settled(rows)[0]["response"].to_pylist() == ["B"]


def letters(*places: tuple[str, int]) -> pa.Table:
    rows = [{"reason": "invalid_json", "source": {"uri": u, "position": p}, "detail": "x"} for u, p in places]
    return pa.Table.from_pylist(rows, schema=DEAD_LETTER.schema)


def test_dead_letters_are_ordered_as_the_input_is():
    got = by_place(letters(("b", 1), ("a", 10), ("a", 9)))
    assert [(s["uri"], s["position"]) for s in got["source"].to_pylist()] == [("a", 9), ("a", 10), ("b", 1)]


def test_a_dead_letters_bucket_follows_from_its_place():
    buckets = Place(1000)(letters(("a", 1), ("a", 2), ("a", 1), ("b", 1)))
    assert buckets[0] == buckets[2] and len(set(buckets.tolist())) == 3


def label(value: float, uri: str = "a", position: int = 1, **other: Any) -> dict[str, Any]:
    held = {"turn_id": "t", "definition": "wrong_interpretation", "value": value, "source": "human"}
    return held | {"read_from": {"uri": uri, "position": position}} | other


def labels(*rows: dict[str, Any]) -> pa.Table:
    return numbered(pa.Table.from_pylist(list(rows), schema=GOLD.schema))


def test_of_a_label_read_twice_the_one_read_last_is_kept():
    gold = labels(label(1.0, "b"), label(0.0, "a"), label(0.5, "a", 2), label(0.0, definition="breakdown"))
    assert {(r["definition"], r["value"]) for r in last_read(gold).to_pylist()} == {
        ("wrong_interpretation", 1.0),
        ("breakdown", 0.0),
    }
    assert last_read(labels()).schema.equals(GOLD.schema) and last_read(labels()).num_rows == 0


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_of_two_labels_of_one_record_the_one_read_last_is_kept(order: list[int]):
    twins = labels(label(1.0, raters=1), label(1.0, raters=3))
    assert last_read(twins.take(pa.array(order)))["raters"].to_pylist() == [3]


def test_rows_that_another_conversation_supersedes_are_counted():
    ids = ({"turn_id": "1", "conversation_id": "a"}, {"turn_id": "1", "conversation_id": "b"}, {"turn_id": "2"})
    rows = marked(turns(*ids))
    assert strangers(rows, supersede(rows)) == 1


@given(ROWS, st.lists(st.sampled_from("uvw"), min_size=8, max_size=8), st.integers(1, 3))
def test_what_subjects_keep_by_notices_of_the_winners_is_what_all_rows_together_keep(
    rows: list[dict[str, Any]], subjects: list[str], buckets: int
):
    rows = [r | {"subject_id": s, "sequence": 0, "at": 0.0} for r, s in zip(rows, subjects, strict=False)]
    read = marked(turns(*rows))
    rivals = read.filter(pa.array(repeated(read)))
    every = pa.concat_tables([read, notices(rivals, supersede(rivals))])
    bucket = KeyHash("subject_id", buckets)(every)
    got = pa.concat_tables([settled(every.filter(pa.array(bucket == k)))[0] for k in range(buckets)])
    assert got.sort_by("turn_id").equals(supersede(read).select(got.column_names))
