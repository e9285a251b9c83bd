"""What is read of BigQuery: names, and the condition of a partition."""

from __future__ import annotations

import pytest

from pipeline.errors import ConfigError
from pipeline.warehouse.source import is_warehouse, parse, restriction


def test_names():
    source = parse("bq://my-project.logs.turns$20261101")
    assert (source.id, source.partition) == ("my-project.logs.turns", "20261101")
    # Projects of an organisation of old have its domain before them.
    assert parse("bq://example.com:talk.logs.turns").project == "example.com:talk"
    # A day as schedulers write it.
    dashed = parse("bq://my-project.logs.turns$2026-11-01")
    assert dashed == parse("bq://my-project.logs.turns$20261101")
    assert is_warehouse("bq://a.b.c") and is_warehouse("bq+query:q.sql") and not is_warehouse("gs://b/bq")


@pytest.mark.parametrize(
    ("partition", "cut", "column", "type", "wanted"),
    [
        ("2026110123", "HOUR", "at", "TIMESTAMP", ("2026-11-01 23:00:00+00:00", "2026-11-02 00:00:00+00:00")),
        ("20261231", "DAY", "day", "DATE", ("2026-12-31", "2027-01-01")),
        ("20280228", "DAY", "at", "DATETIME", ("2028-02-28 00:00:00", "2028-02-29 00:00:00")),
        ("202612", "MONTH", None, None, ("2026-12-01 00:00:00+00:00", "2027-01-01 00:00:00+00:00")),
        ("202602", "MONTH", "day", "DATE", ("2026-02-01", "2026-03-01")),
        ("2026", "YEAR", "day", "DATE", ("2026-01-01", "2027-01-01")),
    ],
)
def test_a_partition_is_from_its_first_moment_to_the_next_ones(
    partition: str, cut: str, column: str | None, type: str | None, wanted: tuple[str, str]
):
    where = restriction(parse(f"bq://p.d.t${partition}"), cut, column, type)
    name, kind = f"`{column}`" if column else "_PARTITIONTIME", type or "TIMESTAMP"
    assert where == f"{name} >= CAST('{wanted[0]}' AS {kind}) AND {name} < CAST('{wanted[1]}' AS {kind})"


@pytest.mark.parametrize(
    "partition", ["2026", "202611", "20261301", "2026110", "2026-11", "2026-13-01", "2026-11-01-02", "20261101x"]
)
def test_another_kind_of_partition_is_refused(partition: str):
    with pytest.raises(ConfigError):
        restriction(parse(f"bq://p.d.t${partition}"), "DAY", "at", "TIMESTAMP")
