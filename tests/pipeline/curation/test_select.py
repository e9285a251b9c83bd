"""The rounds of stage curate on made-up examples: the same whatever the buckets, and every example accounted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.testing.test_pipeline import TestPipeline
from golden_views import example, table

from features.hashing import hash64, strings
from pipeline.curation.caps import Caps
from pipeline.curation.evaluation import EvaluationSet
from pipeline.curation.near import NearOptions, near_duplicates
from pipeline.curation.passes import Pass
from pipeline.curation.proof import alike
from pipeline.curation.select import Apply, CapAndSample, Sift
from pipeline.curation.shuffling import Shuffling
from pipeline.gates.counts import by_outcome
from pipeline.transforms.counts import total
from pipeline.transforms.write import write_bucket
from schemas import COUNT, EXAMPLE, LEFT_OUT

NEAR = NearOptions(0.8, 4)
WORDS = "turn on off the light lamp in kitchen garden please now big small left room"
LIGHT = "turn on the light in the big kitchen now"


def log(n: int = 60) -> pa.Table:
    """Examples of few intents in words of which many are alike; a tenth is of test."""
    draw = np.random.default_rng(5)
    words = np.array(WORDS.split())
    rows = []
    for k in range(n):
        base = " ".join(words[draw.integers(0, len(words), 9)])
        for variant in range(3):
            text = base if variant == 0 else f"{base} {'xyz'[variant]}"
            rows.append(
                example(
                    f"{draw.integers(1 << 62):032x}",
                    utterance=text,
                    intent=f"i{k % 3}",
                    kind=("correction", "confirmation")[variant % 2],
                    support=int(draw.integers(2, 6)),
                    split="test" if draw.random() < 0.2 else "train",
                )
            )
    return table(*rows)


def sift(
    examples: pa.Table, folder: Path, buckets: int, *passes: Pass, near: NearOptions | None = NEAR, mode: str = "spill"
) -> tuple[pa.Table, pa.Table, dict[str, int]]:
    """The first round: what stays, what is left out, and the counts."""
    numbers = spread(examples, folder / "in", buckets)
    apply = Apply(str(folder / "in"), str(folder / "out"), str(folder / "left"), 0, True)
    shuffling = Shuffling(buckets, mode, str(folder / "spill"), 2)
    return run(Sift(passes, near, apply, str(folder / "in"), shuffling), numbers, folder)


def spread(examples: pa.Table, folder: Path, buckets: int) -> list[int]:
    at = hash64(strings(examples["utterance"])) % np.uint64(buckets)
    for k in range(buckets):
        write_bucket(str(folder), k, examples.filter(pa.array(at == k)).sort_by("example_id"), EXAMPLE)
    return list(range(buckets))


def run(rounds: beam.PTransform, numbers: list[int], folder: Path) -> tuple[pa.Table, pa.Table, dict[str, int]]:
    told = folder / "counts.parquet"
    with TestPipeline("FnApiRunner") as pipeline:
        _ = total(pipeline | beam.Create(numbers) | rounds) | beam.Map(lambda t: pq.write_table(t, told))
    files = sorted((folder / "left").glob("bucket-*")) if (folder / "left").exists() else []
    left = pa.concat_tables([LEFT_OUT.empty(), *(pq.read_table(f).cast(LEFT_OUT.schema) for f in files)])
    stays = pa.concat_tables(pq.read_table(f).cast(EXAMPLE.schema) for f in sorted((folder / "out").glob("bucket-*")))
    counts = by_outcome(pq.read_table(told).cast(COUNT.schema), closing=True)
    return stays.sort_by("example_id"), left.sort_by("example_id"), counts


def test_nothing_depends_on_buckets_or_the_way_rows_meet(tmp_path: Path):
    examples = log()
    one = sift(examples, tmp_path / "1", 1)
    for buckets, mode in ((4, "spill"), (3, "native")):
        other = sift(examples, tmp_path / f"{buckets}", buckets, mode=mode)
        assert other[0].equals(one[0]) and other[1].equals(one[1]) and other[2] == one[2]
    stays, left, counts = one
    assert counts == {"kept": stays.num_rows} | {
        r: left["reason"].to_pylist().count(r) for r in set(left["reason"].to_pylist())
    }
    assert stays.num_rows + left.num_rows == examples.num_rows
    assert {"near_duplicate", "duplicate_across_splits"} == set(left["reason"].to_pylist())
    assert alike(examples, NEAR) is not None and alike(stays, NEAR) is None


def test_what_is_left_out_names_one_that_is_kept_and_alike(tmp_path: Path):
    stays, left, _ = sift(log(), tmp_path, 2)
    ids = set(stays["example_id"].to_pylist())
    for row in left.to_pylist():
        assert row["similarity"] >= 0.8 and row["provenance"]["turn_ids"] == [f"{row['example_id']}-turn"]
        assert row["of"] in ids or row["reason"] == "duplicate_across_splits"


def test_the_same_words_under_another_label_stay_but_not_on_the_other_side(tmp_path: Path):
    rows = [
        example("a", utterance=LIGHT, support=5),
        example("b", utterance=LIGHT + "s"),
        example("c", utterance=LIGHT + "s", intent="off"),
        example("d", utterance=LIGHT + "t", intent="other", split="test", locale="de"),
        example("e", utterance="hey"),
        example("f", utterance="hey", locale="de"),
        example("g", utterance="hey", split="test", locale="fr"),
    ]
    stays, left, _ = sift(table(*rows), tmp_path, 2)
    assert stays["example_id"].to_pylist() == ["a", "c", "e", "f", "g"]
    told = {row["example_id"]: (row["reason"], row["of"]) for row in left.to_pylist()}
    assert told["b"] == ("near_duplicate", "a") and told["d"][0] == "duplicate_across_splits"


def test_a_pass_goes_before_duplicates_and_what_it_leaves_out_holds_nobody_off(tmp_path: Path):
    (tmp_path / "set.txt").write_text(LIGHT)
    rows = [example("a", utterance=LIGHT, support=5), example("b", utterance=LIGHT + "s")]
    stays, left, counts = sift(table(*rows), tmp_path, 2, EvaluationSet(str(tmp_path / "set.txt"), None, 20))
    assert stays["example_id"].to_pylist() == ["b"] and counts == {"kept": 1, "contaminated": 1}
    assert [(r["example_id"], r["reason"], r["of"]) for r in left.to_pylist()] == [("a", "contaminated", "set.txt:1")]


def test_without_duplicates_looked_for_all_goes_on(tmp_path: Path):
    examples = log(5)
    stays, left, counts = sift(examples, tmp_path, 2, near=None)
    assert stays.equals(examples.sort_by("example_id")) and not left.num_rows and counts == {"kept": examples.num_rows}


def cap(examples: pa.Table, folder: Path, buckets: int, caps: Caps) -> tuple[pa.Table, pa.Table, dict[str, int]]:
    numbers = spread(examples, folder / "in", buckets)
    apply = Apply(str(folder / "in"), str(folder / "out"), str(folder / "left"), 1, True)
    shuffling = Shuffling(buckets, "spill", str(folder / "spill"))
    return run(CapAndSample(caps, apply, str(folder / "in"), shuffling), numbers, folder)


@pytest.mark.parametrize(
    "caps", [Caps(None, 7, None, 1.0, 100), Caps(1, 20, 25, 0.5, 4), Caps(None, None, None, 0.3, 2)]
)
def test_caps_do_not_depend_on_buckets(tmp_path: Path, caps: Caps):
    examples = log()
    one, other = (cap(examples, tmp_path / f"{n}", n, caps) for n in (1, 5))
    assert other[0].equals(one[0]) and other[1].equals(one[1]) and other[2] == one[2]
    stays, left, counts = one
    assert stays.num_rows + left.num_rows == examples.num_rows == sum(counts.values()) and left.num_rows
    assert set(left["split"].to_pylist()) == {"train"}
    train: dict[Any, int] = {}
    for row in stays.to_pylist():
        train[row["intent"]] = train.get(row["intent"], 0) + (row["split"] == "train")
    assert caps.intent is None or max(train.values()) <= caps.intent


def test_in_memory_the_same_give_way(tmp_path: Path):
    examples = log(20)
    stays, left, _ = sift(examples, tmp_path, 3)
    told = near_duplicates(examples, NEAR)
    gone = examples["example_id"].take(told["key"])
    assert sorted(gone.to_pylist()) == left["example_id"].to_pylist()
    assert dict(zip(gone.to_pylist(), told["of"].to_pylist(), strict=True)) == dict(
        zip(left["example_id"].to_pylist(), left["of"].to_pylist(), strict=True)
    )
    assert near_duplicates(stays, NEAR).num_rows == 0 == near_duplicates(EXAMPLE.empty(), NEAR).num_rows
