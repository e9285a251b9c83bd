"""Beam's own counters and distributions, for a runner's pages. They only monitor; what is counted for good is data."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from apache_beam.metrics import Metrics, MetricsFilter

NAMESPACE: Final = "afterword"
BUCKET_ROWS, BUCKET_BYTES, BUCKET_MS = "bucket_rows", "bucket_bytes", "bucket_load_ms"


@dataclass(frozen=True)
class Bucket:
    """What is told of one bucket of a shuffle. A worker's thread or process finds it; its DoFn tells it, as Beam knows
    that alone.
    """

    rows: int
    bytes: int
    ms: int

    @staticmethod
    def of(table: pa.Table, begin: float) -> Bucket:
        """Of a bucket that was begun to be put together then, by `time.monotonic`."""
        return Bucket(table.num_rows, table.nbytes, int((time.monotonic() - begin) * 1e3))

    def tell(self) -> None:
        """Tell it to the runner."""
        for name, value in ((BUCKET_ROWS, self.rows), (BUCKET_BYTES, self.bytes), (BUCKET_MS, self.ms)):
            Metrics.distribution(NAMESPACE, name).update(value)


def counted(counts: pa.Table) -> pa.Table:
    """Tell of summed COUNT rows over all domains, as counters named `stage.outcome`; gives them back."""
    for row in counts.to_pylist():
        if row["domain"] is None:
            Metrics.counter(NAMESPACE, f"{row['stage']}.{row['outcome']}").inc(row["rows"])
    return counts


def largest(result: Any) -> dict[str, int]:
    """The largest value of each distribution of a finished pipeline; nothing where the runner keeps none."""
    found: dict[str, int] = {}
    # Whatever a runner's service says to this must not end a run that is done.
    with suppress(Exception):
        for held in result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))["distributions"]:
            name = held.key.metric.name
            found[name] = max(found.get(name, 0), int(held.result.max))
    return found
