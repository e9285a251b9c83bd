"""What a quarantined domain's last good examples need to be carried over."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline import storage
from pipeline.curation.evaluation import EvaluationSet
from pipeline.curation.known import KnownPass
from pipeline.curation.passes import apply
from pipeline.curation.training_files import keep_training_set, read_training_set
from pipeline.ontology.parse import parse
from pipeline.transforms.quarantine import CarryOptions, ReadCarried
from schemas import EXAMPLE

ONTOLOGY = {
    "domains": {"music": {"intents": {"play": ["song"], "start": []}}},
    "renamed": [{"domain": "music", "intent": "begin", "to": "start"}],
}


def example(text: str, intent: str = "play", **fields: Any) -> dict[str, Any]:
    held = {
        "example_id": text,
        "locale": "en",
        "utterance": text,
        "domain": "music",
        "intent": intent,
        "slots": [],
        "kind": "correction",
        "blame": "intent",
        "confidence": 0.9,
        "support": 3,
        "agreement": 1.0,
        "certified": False,
        "provenance": {"turn_ids": ["t"], "subjects": ["s"], "domains": ["music"], "licences": ["free"]},
        "split": "train",
        "weight": 0.9,
    }
    return held | fields


def carried(tmp_path: Path, options: CarryOptions, *rows: dict[str, Any]) -> tuple[list[str], dict[str, int]]:
    """Ids of the examples that are carried over, and why others are not."""
    path = str(tmp_path / "lineage.parquet")
    storage.write_bytes(path, storage.encode(EXAMPLE.conform(pa.Table.from_pylist(list(rows), schema=EXAMPLE.schema))))
    counted, table = ReadCarried(options).process(path)
    told = {r["outcome"]: r["rows"] for r in counted.value.to_pylist() if r["outcome"].startswith("carried_dropped.")}
    return table["example_id"].to_pylist(), told


def options(**given: Any) -> CarryOptions:
    return CarryOptions(("music",), 2, 0.6, True, **given)


def known(tmp_path: Path, text: str, intent: str) -> KnownPass:
    (tmp_path / "set.jsonl").write_text(f'{{"text": "{text}", "intent": "{intent}", "domain": "music"}}\n')
    training, _ = read_training_set(str(tmp_path / "set.jsonl"))
    return keep_training_set(str(tmp_path / "known.parquet"), training, True)


def test_without_anything_given_all_that_have_their_support_stay(tmp_path: Path):
    ids, told = carried(tmp_path, options(), example("a song"), example("another", support=1), example("third", "gone"))
    assert ids == ["a song", "third"] and told == {"carried_dropped.below_minimum": 1}


def test_a_label_that_the_ontology_has_no_more_is_not_carried_over(tmp_path: Path):
    slots = [{"name": "singer", "value": "x", "start": None, "end": None}]
    rows = (
        example("a song"),
        example("unknown intent", "stop"),
        example("renamed since", "begin"),
        example("unknown slot", slots=slots),
        example("no intent of ours", "start"),
    )
    ids, told = carried(tmp_path, options(ontology=parse(ONTOLOGY, "ontology.json")), *rows)
    assert ids == ["a song", "no intent of ours"] and told == {"carried_dropped.ontology": 3}


def test_what_the_training_set_or_an_evaluation_set_says_otherwise_is_not_carried_over(tmp_path: Path):
    (tmp_path / "evaluation.txt").write_text("held out words\n")
    passes = (known(tmp_path, "a song", "stop"), EvaluationSet(str(tmp_path / "evaluation.txt"), None, 8))
    left_out = partial(apply, passes=passes)
    rows = (example("a song"), example("held out words"), example("new"), example("a song ", support=1))
    ids, told = carried(tmp_path, options(left_out=left_out), *rows)
    assert ids == ["new"]
    assert told == {f"carried_dropped.{k}": 1 for k in ("contradicts_training_set", "contaminated", "below_minimum")}


@pytest.mark.parametrize("rows", [(), (example("low", support=1),)])
def test_where_nothing_is_left_nothing_is_asked(tmp_path: Path, rows: tuple[dict[str, Any], ...]):
    ids, _ = carried(tmp_path, options(left_out=partial(apply, passes=(known(tmp_path, "x", "y"),))), *rows)
    assert ids == []
