"""Edges counted over buckets: the same however the users are spread, without what may not be learned from."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.testing.test_pipeline import TestPipeline as Pipeline
from build import START, interpretation, turns

from features.interpretation import flatten
from features.signals import signals
from features.timeline import sort
from models.chain import ChainOptions
from models.chain_fit import fit_chain
from models.edges import add_edges
from models.judge import judge
from models.options import TrainOptions
from models.training import train
from pipeline import storage
from pipeline.jobs.context import LOCAL_RUNNER
from pipeline.transforms.chain import ByStart, CountEdges, KnownEdges
from pipeline.transforms.shuffle import Group, KeyHash, split
from pipeline.transforms.write import write_bucket
from schemas import EDGE, GOLD, SIGNALS, SUCCESS, TURN

ROCK, JAZZ = interpretation("play", 0.9, genre="rock"), interpretation("play", 0.9, genre="Jazz")
FOLDS = 5


def repaired(users=9, refuses=()):
    """Users who are misheard and say it again; a second session an hour later goes well at once."""
    rows = []
    for user in range(users):
        own = {"subject_id": f"u{user}", "consent": False if user in refuses else None}
        said = [("play some jass", ROCK, 0), ("play some jazz", JAZZ, 10), ("play some jazz", JAZZ, 3600)]
        rows += [
            own | {"turn_id": f"u{user}-{k}", "utterance": words, "nbest": [reading], "at": at, "sequence": k}
            for k, (words, reading, at) in enumerate(said)
        ]
    return turns(*rows)


def folders(table: pa.Table, folder: Path, buckets: int) -> tuple[tuple[str, str], list[int]]:
    where = (str(folder / f"{buckets}-turns"), str(folder / f"{buckets}-signals"))
    numbers = []
    for number, piece in split(table, KeyHash("subject_id", buckets)(table)):
        ordered = sort(piece)
        write_bucket(where[0], number, ordered, TURN)
        write_bucket(where[1], number, signals(ordered), SIGNALS)
        numbers.append(number)
    return where, numbers


def edges(table: pa.Table, folder: Path, buckets: int = 1, min_users: int = 3, before=None) -> pa.Table:
    """Through the transform, on the local runner."""
    where, numbers = folders(table, folder, buckets)
    path = str(folder / "edges.parquet")
    by_start = Group(ByStart(7), "spill", str(folder / "spill"))
    with Pipeline(runner=LOCAL_RUNNER) as pipeline:
        counted = pipeline | beam.Create(numbers) | beam.ParDo(CountEdges(*where, "en", True, 60.0, FOLDS, before))
        _ = counted | KnownEdges(min_users, by_start) | beam.Map(lambda found: storage.write_table(path, found))
    return storage.read_table(path, EDGE.schema)


def ids():
    return flatten(pa.array([[ROCK, JAZZ]], TURN.schema.field("interpretations").type)).candidate_id.tolist()


def users(table: pa.Table) -> dict[tuple[bool, int, int], int]:
    """Users by (of words, reading, target)."""
    out: dict[tuple[bool, int, int], int] = {}
    for e in table.to_pylist():
        key = (e["words"] is not None, e["reading"], e["target"])
        out[key] = out.get(key, 0) + e["users"]
    return out


@pytest.mark.parametrize("buckets", [1, 5])
def test_users_are_counted_once_whatever_the_buckets(tmp_path: Path, buckets: int):
    rock, jazz = ids()
    found = edges(repaired(), tmp_path, buckets)
    assert users(found) == {(True, rock, jazz): 9, (False, rock, jazz): 9, (False, jazz, SUCCESS): 9}
    assert found.equals(edges(repaired(), tmp_path, 9))
    meaning = {e["interpretation"] for e in found.to_pylist() if e["target"] == jazz}
    assert meaning == {
        '{"domain":"d","intent":"play","slots":[{"end":null,"name":"genre","start":null,"value":"Jazz"}]}'
    }


def test_the_chain_of_what_was_counted_proposes_what_users_settled_on(tmp_path: Path):
    rock, jazz = ids()
    chain = fit_chain(edges(repaired(30), tmp_path), FOLDS, ChainOptions())
    at = chain.starts.tolist().index(rock)
    assert set(chain.target[at, :, 1].tolist()) == {jazz}
    assert chain.readings.candidate_id.tolist() == [jazz]


def test_refused_consent_counts_neither_way(tmp_path: Path):
    rock, jazz = ids()
    assert users(edges(repaired(9, refuses=(0, 1)), tmp_path))[True, rock, jazz] == 7


def test_what_the_thresholds_are_proved_on_is_not_counted(tmp_path: Path):
    _, jazz = ids()
    found = edges(repaired(), tmp_path, before=START + timedelta(seconds=1800))
    # The first session alone, with the same users in it.
    assert users(found)[False, jazz, SUCCESS] == 9
    assert not edges(repaired(), tmp_path, before=START).num_rows


def test_too_few_users_and_none_at_all_give_no_edges(tmp_path: Path):
    assert not any(e["interpretation"] for e in edges(repaired(2), tmp_path).to_pylist())
    assert edges(turns(), tmp_path, 2).num_rows == 0
    assert add_edges([]).num_rows == 0


NEWS, OPERATOR = interpretation("news", 0.9), interpretation("operator", 0.9)


def left_alone(users=150):
    """Callers who are all misheard the same way: four of six say it again, the others ask for a person and go.

    Between them each asks for something that is understood.
    """
    rows = []
    for user in range(users):
        own = {"subject_id": f"u{user:03d}", "conversation_id": f"c{user:03d}"}
        said = [("what is new today", NEWS, 0, "here is the news"), ("play some jass", ROCK, 60, "playing rock")]
        said += (
            [("an operator please", OPERATOR, 70, "one moment")]
            if user % 3 == 2
            else [("no", interpretation("negate", 0.9), 70, "sorry"), ("play some jazz", JAZZ, 80, "playing jazz")]
        )
        rows += [
            own
            | {"turn_id": f"u{user:03d}-{k}", "utterance": words, "nbest": [reading], "response": answer}
            | {"at": at, "sequence": k, "executed": 0}
            for k, (words, reading, at, answer) in enumerate(said)
        ]
    return turns(*rows)


def test_what_others_settled_on_corrects_those_who_left(tmp_path: Path):
    log = sort(left_alone())
    rows = signals(log)
    chain = fit_chain(edges(log, tmp_path), 5, ChainOptions())
    models = train(rows, GOLD.empty(), TrainOptions(), chain)
    _, found = judge(log, rows, models)
    _, jazz = ids()
    gone = [c for c in found.to_pylist() if c["source"] == "chain"]
    assert {c["candidate_id"] for c in gone} == {f"{np.int64(jazz).view(np.uint64):016x}"}
    assert {c["turn_id"] for c in gone} == {f"u{user:03d}-1" for user in range(2, 150, 3)}
    assert all(c["accepted"] and not c["certified"] and not c["supporting_turns"] for c in gone)
    (slot,) = gone[0]["interpretation"]["slots"]
    # "jass" is too little like "Jazz" to be its words.
    assert (slot["value"], slot["start"], slot["end"]) == ("Jazz", None, None)
    without = judge(log, rows, train(rows, GOLD.empty(), TrainOptions()))[1]
    assert not [c for c in without.to_pylist() if c["turn_id"] in {c["turn_id"] for c in gone}]
