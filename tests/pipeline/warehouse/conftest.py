"""A BigQuery on this machine, with the synthetic log in a table cut by day."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tail")]
DAY = "lake.logs.turns"


@pytest.fixture
def fake(synthetic_turns: pa.Table) -> Iterator[Any]:
    from fake_bigquery import Held, bigquery

    with bigquery() as held:
        kinds = [{"name": "turn_id", "type": "STRING"}, {"name": "event_time", "type": "TIMESTAMP"}]
        held.tables[DAY] = Held(synthetic_turns, partitioning={"type": "DAY", "field": "event_time"}, schema=kinds)
        yield held


@pytest.fixture(scope="session")
def synthetic_turns() -> pa.Table:
    """The synthetic log as the columns of a warehouse: times as times, lists of structs."""
    from synthetic import records

    rows = [{k: v for k, v in row.items() if k != "app_build"} for row in records()]
    table = pa.Table.from_pylist(rows)
    times = pa.compute.strptime(
        pa.compute.utf8_slice_codeunits(table["event_time"], 0, 19), "%Y-%m-%dT%H:%M:%S", "us"
    ).cast(pa.timestamp("us", "UTC"))
    return table.set_column(table.column_names.index("event_time"), "event_time", times)
