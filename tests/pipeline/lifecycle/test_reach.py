from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from build import turns
from golden_views import context_turn, example

from features.hashing import pseudonyms
from pipeline.filters.tombstones import Tombstones
from pipeline.lifecycle.reach import examples_of, turns_of
from pipeline.lifecycle.search import files_with, sought
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
    assert sought(["alice.smith@example.com"], pa.array([], pa.string())).in_bytes(b'"alice.smith@example.com"')
    assert sorted(ids.turns(pa.array(["user-7-1", "turn.9", "turn.8"])).to_pylist()) == ["turn.9", "user-7-1"]


def test_ids_of_any_form_are_found_as_words_in_names_of_files_and_in_what_quotes_them(tmp_path: Path):
    ids = sought(["anna", "conv:evening talk", "42", "é"], pa.array([], pa.string()))
    for text in ("anna", "logs/anna.jsonl", "a_anna-2.csv", "evening talk.jsonl", "Zoë/anna"):
        assert ids.in_name(text), text
    for text in ("annals", "hanna.jsonl", "annaé", "evening talks", "day=42", "part-00042", "é.jsonl"):
        assert not ids.in_name(text), text
    texts = {
        "gold/anna.csv": "turn_id",
        "releases/r/manifest.json": json.dumps({"identity": {"inputs": [{"uri": "b/anna.jsonl"}]}, "domains": {}}),
        "releases/s/manifest.json": json.dumps({"identity": {"inputs": [{"uri": "b.jsonl"}]}, "domains": {"anna": 1}}),
        "releases/s/anna/README.md": "anna is a word",
        "runs/1/run.json": json.dumps({"result": {"failed": "ingest", "error": "logs/anna.jsonl: cut short"}}),
        "runs/2/run.json": json.dumps({"result": {"left_out": ["anna.txt"], "labels": "gold"}}),
        "runs/3/run.json": json.dumps({"result": {"labels": "anna", "left_out": []}}),
        "runs/3/log.jsonl": json.dumps({"message": "x"}) + "\n" + json.dumps({"message": "read of anna.jsonl"}),
        "runs/4/log.jsonl": "no JSON anna",
        "stages/ingest/stage.json": json.dumps({"facts": {"inputs": [{"uri": "anna.jsonl"}]}}),
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    table = pa.table({"read_from": [{"uri": "logs/anna.jsonl"}], "utterance": ["x"]})
    pq.write_table(table, tmp_path / "stages" / "turns.parquet")
    pq.write_table(pa.table({"utterance": ["anna"]}), tmp_path / "stages" / "words.parquet")
    found = {path[len(str(tmp_path)) + 1 :] for path in files_with(str(tmp_path), ids)}
    assert found == {
        "gold/anna.csv",
        "releases/r/manifest.json",
        "runs/1/run.json",
        "runs/2/run.json",
        "runs/3/log.jsonl",
        "stages/ingest/stage.json",
        "stages/turns.parquet",
    }
