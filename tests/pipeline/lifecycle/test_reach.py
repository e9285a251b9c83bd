from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from build import turns
from golden_views import context_turn, example

from features.hashing import pseudonyms
from pipeline.filters.tombstones import Tombstones
from pipeline.lifecycle.reach import examples_of, turns_of
from pipeline.lifecycle.search import sought
from pipeline.transforms.write import write_bucket
from schemas import EXAMPLE, TURN

BLANK = Tombstones(b"k" * 32, {})
HELD = Tombstones(b"k" * 32, BLANK.mark(["leaves"]))


def name(subject: str) -> str:
    import numpy as np

    return str(pseudonyms(np.array([subject], dtype=object))[0])


def test_what_nobody_said_in_a_conversation_of_the_user_alone_is_theirs(tmp_path: Path):
    rows = turns(
        {"subject_id": "leaves", "conversation_id": "mine"},
        {"subject_id": "conv:mine", "user_known": False, "conversation_id": "mine"},
        {"subject_id": "leaves", "conversation_id": "ours"},
        {"subject_id": "stays", "conversation_id": "ours"},
        {"subject_id": "conv:ours", "user_known": False, "conversation_id": "ours"},
        {"subject_id": "stays", "conversation_id": None},
    )
    for bucket, part in enumerate((rows.slice(0, 2), rows.slice(2, 2), rows.slice(4))):
        write_bucket(str(tmp_path), bucket, part, TURN)
    found = turns_of(sorted(map(str, tmp_path.glob("*.parquet"))), HELD)
    assert sorted(found.ids.to_pylist()) == ["t000", "t001", "t002"]
    assert found.conversations == {"mine"}
    assert len(turns_of([], HELD).ids) == 0


def test_an_example_is_found_by_pseudonym_and_by_every_turn_that_it_names():
    def row(example_id: str, subject: str, **provenance: list[str]) -> dict:
        held = example(example_id)
        held["provenance"] |= {"subjects": [name(subject)], "turn_ids": [], "licences": []} | provenance
        return held

    rows = [
        row("a", "leaves"),
        row("b", "stays", turn_ids=["x", "t1"]),
        row("c", "stays", supporting_turns=["t1"]),
        row("d", "stays") | {"context": [context_turn("t0", "r"), context_turn("t1", "r")]},
        row("e", "stays", turn_ids=["t11"]),
        row("f", "stays", conversations=[name("conv:other"), name("leaves")]),
    ]
    table = pa.Table.from_pylist(rows, schema=EXAMPLE.schema)
    assert examples_of(table, HELD, pa.array(["t1"])).tolist() == [True, True, True, True, False, True]
    assert examples_of(table, BLANK, pa.array([], pa.string())).tolist() == [False] * 6


def test_examples_that_do_not_tell_their_users_may_be_anybodys():
    table = pa.table({"provenance": [{"turn_ids": ["x"], "supporting_turns": ["y"]}]})
    assert examples_of(table, HELD, pa.array([], pa.string())).tolist() == [True]


def test_ids_are_found_in_texts_but_not_inside_other_ids():
    ids = sought(["user-7", "anna", "7"], pa.array(["turn.9"]))
    for text in (b"logs/user-7.jsonl", b'{"id": "turn.9"}', name("anna").encode(), b"user-7-3"):
        assert ids.in_bytes(text), text
    for text in (b"user-77", b"xuser-7", b"turn.91", b"anna asked for 7"):
        assert not ids.in_bytes(text), text
    assert sorted(ids.turns(pa.array(["user-7-1", "turn.9", "turn.8"])).to_pylist()) == ["turn.9", "user-7-1"]
