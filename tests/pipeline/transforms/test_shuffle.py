from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.testing.util import assert_that
from hypothesis import given
from hypothesis import strategies as st

from pipeline.transforms import shuffle
from pipeline.transforms.coder import ArrowTableCoder
from pipeline.transforms.shuffle import KeyHash, Shuffle, split

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("n", pa.int64()),
        ("nested", pa.list_(pa.struct([("a", pa.string()), ("b", pa.list_(pa.float64()))]))),
    ]
)


def table(seed: int, rows: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    nested = [
        None if draw.random() < 0.2 else [{"a": str(k), "b": [0.5] * (k % 3)} for k in range(draw.integers(3))]
        for _ in range(rows)
    ]
    return pa.Table.from_pydict(
        {
            "key": [f"k{draw.integers(40)}" if draw.random() < 0.9 else None for _ in range(rows)],
            "n": [seed * 10_000 + k for k in range(rows)],
            "nested": nested,
        },
        schema=SCHEMA,
    )


class Make(beam.DoFn):
    """Tables from seeds, so that no data lies in the graph; one of them is a slice."""

    def process(self, seed: int) -> Any:
        """A few tables, one of no rows."""
        yield table(seed, 30).slice(5, 20)
        yield table(seed, 0)
        yield table(seed + 100, 17)


def rows_of(pairs: list[tuple[int, pa.Table]]) -> list[tuple[int, str]]:
    return sorted((bucket, repr(row)) for bucket, piece in pairs for row in piece.to_pylist())


def expected(buckets: int) -> list[tuple[int, str]]:
    whole = pa.concat_tables(itertools.chain.from_iterable(Make().process(seed) for seed in range(6)))
    of_row = KeyHash("key", buckets)(whole)
    return sorted((int(b), repr(r)) for b, r in zip(of_row, whole.to_pylist(), strict=True))


@pytest.mark.parametrize("mode", ["spill", "native"])
@pytest.mark.parametrize(("buckets", "limit"), [(1, 1 << 20), (7, 1 << 20), (7, 1), (100, 2000)])
def test_both_modes_bring_every_row_to_its_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, buckets: int, limit: int
):
    monkeypatch.setattr(shuffle, "SPILL_BYTES", limit)
    monkeypatch.setattr(shuffle, "NATIVE_BYTES", limit)

    def check(pairs: list[tuple[int, pa.Table]]) -> None:
        assert rows_of(pairs) == expected(buckets)
        assert len({b for b, _ in pairs}) == len(pairs), "a bucket came twice"
        assert all(piece.schema.equals(SCHEMA) for _, piece in pairs)

    with TestPipeline(runner="FnApiRunner") as pipeline:
        tables = pipeline | beam.Create(range(6), reshuffle=True) | beam.ParDo(Make()).with_output_types(pa.Table)
        assert_that(tables | Shuffle(KeyHash("key", buckets), mode, str(tmp_path / "spill")), check)


@pytest.mark.parametrize("mode", ["spill", "native"])
def test_no_rows_give_no_bucket(tmp_path: Path, mode: str):
    with TestPipeline(runner="FnApiRunner") as pipeline:
        tables = pipeline | beam.Create([0]) | beam.Map(lambda _: table(0, 0)).with_output_types(pa.Table)
        assert_that(tables | Shuffle(KeyHash("key", 3), mode, str(tmp_path)), lambda pairs: _none(pairs))


def _none(pairs: list[Any]) -> None:
    assert pairs == []


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="spill or native"):
        Shuffle(KeyHash("key", 1), "memory", "x")


def test_the_hash_of_a_key_is_pinned():
    keys = pa.table({"key": ["", None, "u001", "ünï", "conv:1"]})
    assert KeyHash("key", 1 << 20)(keys).tolist() == [767226, 767226, 263250, 1034313, 376220]
    assert KeyHash("key", 1)(keys).tolist() == [0] * 5


@given(st.lists(st.integers(0, 9), max_size=40))
def test_split_keeps_every_row_once_in_its_order(buckets: list[int]):
    rows = pa.table({"n": pa.array(range(len(buckets)), pa.int64())})
    pieces = dict(split(rows, np.array(buckets, np.int64)))
    assert {k: p["n"].to_pylist() for k, p in pieces.items()} == {
        k: [n for n, b in enumerate(buckets) if b == k] for k in set(buckets)
    }


def test_a_retried_bundle_does_not_bring_what_its_first_attempt_held():
    cut = shuffle._CutTables(KeyHash("key", 4), 1 << 30)
    cut.start_bundle()
    assert list(cut.process(table(1, 10))) == []
    # The bundle fails here; the runner starts another on the same instance.
    cut.start_bundle()
    list(cut.process(table(2, 10)))
    got = [v.value for v in cut.finish_bundle()]
    assert sorted(n for _, p in got for n in p["n"].to_pylist()) == table(2, 10)["n"].to_pylist()
    assert list(cut.finish_bundle()) == []


def test_a_second_attempt_writes_other_files(tmp_path: Path):
    for _ in range(2):
        cut = shuffle._CutToFiles(KeyHash("key", 4), 1 << 30, str(tmp_path))
        cut.start_bundle()
        list(cut.process(table(1, 10)))
        paths = [v.value[1] for v in cut.finish_bundle()]
    assert len(list(tmp_path.iterdir())) == 2 * len(paths)
    loaded = [r for path in paths for _, p in shuffle._Load().process((0, [path])) for r in p["n"].to_pylist()]
    assert sorted(loaded) == table(1, 10)["n"].to_pylist()


@pytest.mark.parametrize(
    "made",
    [
        table(1, 0),
        table(1, 50),
        table(1, 50).slice(7, 3),
        pa.concat_tables([table(1, 5), table(2, 0), table(3, 5)]),
        table(1, 50).slice(50),
        pa.table({"t": pa.array([1], pa.timestamp("us", "UTC")), "b": [None]}),
    ],
)
def test_tables_come_back_from_the_coder_as_they_went_in(made: pa.Table):
    coder = ArrowTableCoder()
    assert coder.decode(coder.encode(made)).equals(made)


def test_a_slice_is_encoded_without_its_parent():
    whole = table(1, 5000)
    assert len(ArrowTableCoder().encode(whole.slice(10, 5))) < len(ArrowTableCoder().encode(whole)) / 50


def test_beam_takes_the_coder_for_tables():
    assert isinstance(beam.coders.registry.get_coder(pa.Table), ArrowTableCoder)
