from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from features.hashing import hash64
from pipeline.transforms.counts import total
from pipeline.transforms.gates import _HASH_KEY, COUNTS, SampleRows, WriteLowest, highest_hash
from pipeline.transforms.write import write_bucket
from schemas import JUDGEMENT, JUDGEMENT_SAMPLE

ROWS = 900


def judgements(ids: list[str]) -> pa.Table:
    n = len(ids)
    return pa.table(
        {
            "turn_id": ids,
            "model_id": ["m"] * n,
            "subject_id": ["u"] * n,
            "session_id": ["s"] * n,
            "event_time": [datetime(2026, 3, 1, tzinfo=UTC)] * n,
            "domain": pa.nulls(n, pa.string()),
            "p_defect": [0.7 if int(i[1:]) % 2 else 0.2 for i in ids],
            "threshold": [0.5] * n,
            "threshold_basis": ["option"] * n,
            "is_defect": [bool(int(i[1:]) % 2) for i in ids],
            "certified": [False] * n,
            "blame": ["asr" if int(i[1:]) % 2 else "none" for i in ids],
            "reasons": pa.nulls(n, JUDGEMENT.schema.field("reasons").type),
        }
    )


def sample(folder: Path, buckets: int, wished: int, ids: list[str]) -> tuple[pa.Table, int]:
    """The sample of a table in so many buckets, and the rows counted."""
    place = np.arange(len(ids)) % buckets
    for bucket in range(buckets):
        mine = [i for i, k in zip(ids, place, strict=True) if k == bucket]
        write_bucket(str(folder / "table"), bucket, judgements(mine), JUDGEMENT)
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        read = SampleRows("judgements", str(folder / "table"), highest_hash(len(ids), wished))
        out = pipeline | beam.Create(list(range(buckets))) | beam.ParDo(read).with_outputs(COUNTS, main="rows")
        _ = out.rows | WriteLowest(str(folder / "sample.parquet"), JUDGEMENT_SAMPLE, wished)
        counted = total(out[COUNTS])
        _ = counted | beam.Map(
            lambda t, path: Path(path).write_text(str(t["rows"][0].as_py())), str(folder / "rows")
        ).with_output_types(int)
    return pq.read_table(folder / "sample.parquet"), int((folder / "rows").read_text())


@pytest.mark.parametrize("wished", [1, 100, ROWS, 5000])
def test_the_sample_is_the_rows_of_lowest_hash_whatever_the_buckets(tmp_path: Path, wished: int):
    ids = [f"t{k}" for k in range(ROWS)]
    hashes = hash64(np.array(ids, dtype=object), _HASH_KEY)
    lowest = [ids[k] for k in np.argsort(hashes)][:wished]
    tables = []
    for buckets in (1, 7):
        (tmp_path / str(buckets)).mkdir()
        table, rows = sample(tmp_path / str(buckets), buckets, wished, ids)
        assert rows == ROWS and table["turn_id"].to_pylist() == lowest
        tables.append(table)
    assert tables[0].equals(tables[1])
    assert tables[0]["at_threshold"].to_pylist() == tables[0]["is_defect"].to_pylist()
    assert tables[0]["blamed"].to_pylist() == tables[0]["is_defect"].to_pylist()


def test_what_occurs_twice_stands_in_the_sample_twice(tmp_path: Path):
    table, rows = sample(tmp_path, 3, 5000, ["t1", "t2", "t3", "t1"])
    assert rows == 4 and sorted(table["turn_id"].to_pylist()) == ["t1", "t1", "t2", "t3"]


@pytest.mark.parametrize(("rows", "wished"), [(1_000, 1), (1_000_000, 20_000), (10**9, 20_000)])
def test_the_cut_lies_far_enough_above_the_number_wished(rows: int, wished: int):
    share = highest_hash(rows, wished) / 2**64
    assert rows * share > wished + 9 * np.sqrt(rows * share * (1 - share)) and rows * share < 120 + 2 * wished


def test_where_all_rows_are_wished_every_hash_is_taken():
    assert highest_hash(10, 10) == highest_hash(10, 11) == highest_hash(0, 5) == 2**64 - 1
