"""Carried examples give way to new ones that read alike, and to those of their conversation in the other split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow.parquet as pq
import pytest
from apache_beam.testing.test_pipeline import TestPipeline
from golden_views import example, table

from pipeline import storage
from pipeline.curation.carried import HoldCarried, Places
from pipeline.curation.near import NearOptions
from pipeline.curation.proof import alike
from pipeline.curation.shuffling import Shuffling
from pipeline.transforms.counts import add_up
from pipeline.transforms.write import bucket_path, write_bucket
from schemas import EXAMPLE

NEAR = NearOptions(0.7, 3)
BUCKETS = 2
WORDS = "play me the newest song of the beatles"


def row(example_id: str, text: str, split: str = "train", talks: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    held = example(example_id, utterance=text, split=split, **({"domain": "music"} | fields))
    held["provenance"] |= {"conversations": list(talks), "subjects": [example_id], "licences": []}
    return held


def held(
    tmp_path: Path, new: list[dict[str, Any]], old: list[dict[str, Any]], near: NearOptions | None = NEAR
) -> tuple[set[str], dict[str, int]]:
    """Ids of the carried examples that stay, and the counts."""
    places = Places(str(tmp_path / "new"), str(tmp_path / "old"), BUCKETS)
    for number in range(BUCKETS):
        write_bucket(places.new, number, table(*new[number::BUCKETS]), EXAMPLE)
        if old[number::BUCKETS]:
            write_bucket(places.carried, number, table(*old[number::BUCKETS]), EXAMPLE)
    listed = [0, 1, *(BUCKETS + k for k in range(BUCKETS) if old[k::BUCKETS])]
    path = str(tmp_path / "counts.parquet")
    with TestPipeline(runner="FnApiRunner") as pipeline:
        hold = HoldCarried(places, near, ("music",), Shuffling(BUCKETS, "spill", str(tmp_path / "spill")))
        counted = pipeline | beam.Create(listed) | hold | beam.CombineGlobally(add_up)
        _ = counted | beam.Map(lambda summed: storage.write_table(path, summed))
    told = [r for r in pq.read_table(path).to_pylist() if r["domain"] is None]
    stays = [
        e
        for k in listed[BUCKETS:]
        for e in storage.read_table(bucket_path(places.new, k), EXAMPLE.schema)["example_id"].to_pylist()
    ]
    for number in range(BUCKETS):
        same = storage.read_table(bucket_path(places.new, number), EXAMPLE.schema)
        assert same.equals(table(*new[number::BUCKETS])), "a new example was touched"
    return set(stays), {r["outcome"]: r["rows"] for r in told}


ALIKE = f"{WORDS} please"


@pytest.mark.parametrize(
    ("split", "label", "reason"),
    [
        ("train", "play", "near_duplicate"),
        # Near words under another label are information.
        ("train", "stop", None),
        ("test", "play", "duplicate_across_splits"),
        ("test", "stop", "duplicate_across_splits"),
    ],
)
@pytest.mark.parametrize("new_split", ["train", "test"])
def test_a_carried_example_gives_way_to_a_new_one_that_reads_alike(
    tmp_path: Path, new_split: str, split: str, label: str, reason: str | None
):
    if new_split == "test":
        split = {"train": "test", "test": "train"}[split]
    # The carried one is the better of the two in all else.
    old = [row("old", ALIKE, split, intent=label, support=9), row("apart", "stop it now", split)]
    new = [row("new", WORDS, new_split, intent="play", domain="media" if label == "stop" else "music", support=2)]
    ids, told = held(tmp_path, new, old)
    assert ids == ({"apart"} if reason else {"apart", "old"})
    assert told["carried"] == len(ids) and told.get(f"carried_dropped.{reason}", 0) == bool(reason)
    assert told["carried_dropped"] == bool(reason)


def test_of_two_carried_ones_the_worse_goes(tmp_path: Path):
    old = [row("few", WORDS, support=2), row("many", ALIKE, support=9), row("test", ALIKE + " now", "test", support=20)]
    ids, told = held(tmp_path, [row("new", "turn off the lamp")], old)
    assert ids == {"many"}
    assert told["carried_dropped.near_duplicate"] == told["carried_dropped.duplicate_across_splits"] == 1


def test_a_carried_one_that_went_takes_no_other_with_it(tmp_path: Path):
    old = [row("a", WORDS, support=9), row("b", f"{ALIKE} now", support=2)]
    new = [row("new", "play me the newest song of the beat", support=2)]
    ids, _ = held(tmp_path, new, old, NearOptions(0.8, 3))
    assert alike(table(*new, *old), NearOptions(0.8, 3)) is not None
    assert ids == {"b"} and alike(table(*new, old[1]), NearOptions(0.8, 3)) is None


@pytest.mark.parametrize("near", [None, NEAR])
def test_a_conversation_with_a_new_example_in_the_other_split_is_not_carried(tmp_path: Path, near: NearOptions | None):
    new = [row("new", "turn on the lamp", "test", ("desk", "hall")), row("more", "lock the door", "train", ("yard",))]
    old = [
        row("shared", "one two three", "train", ("desk", "else")),
        row("own side", "four five six", "test", ("desk",)),
        row("other", "seven eight nine", "train", ("else",)),
        row("reverse", "ten eleven twelve", "test", ("yard",)),
        row("none", "thirteen fourteen"),
    ]
    ids, told = held(tmp_path, new, old, near)
    assert ids == {"own side", "other", "none"}
    assert told["carried_dropped.conversation_on_other_side"] == told["carried_dropped"] == 2
