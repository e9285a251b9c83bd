"""Peak memory of the shuffle as rows grow: spill against native, each in a process of its own.

    make bench-memory            writes out/memory.json, prints a table

Rows are made up in the workers (about 220 bytes each: ids, a time, an utterance), shuffled by user, counted a bucket.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline import storage
from pipeline.jobs.context import pipeline_options
from pipeline.transforms.shuffle import KeyHash, Shuffle

# Rows of one generated table, as a reader's batch has.
TABLE_ROWS: Final = 65_536
BYTES_PER_ROW: Final = 220
BUCKET_BYTES: Final = 64 << 20
RUNS: Final = (("spill", 1), ("spill", 3), ("spill", 10), ("native", 1), ("native", 3))


@beam.typehints.with_output_types(pa.Table)
class MakeRows(beam.DoFn):
    """(seed, rows) to tables."""

    def process(self, part: tuple[int, int]) -> Iterator[pa.Table]:
        """One part."""
        seed, rows = part
        generator = np.random.default_rng(seed)
        number = pa.array(np.arange(rows) + seed * TABLE_ROWS)
        user = pa.array(generator.integers(0, 2_000_000, rows)).cast(pa.string())
        words = pa.array(["play some jazz in the kitchen", "what is the weather like tomorrow", "turn the lights off"])
        utterance = words.take(pa.array(generator.integers(0, 3, rows)))
        yield pa.table(
            {
                "turn_id": pc.binary_join_element_wise("turn", number.cast(pa.string()), "-"),
                "subject_id": pc.binary_join_element_wise("user", user, "-"),
                "utterance": utterance,
                "response": pc.binary_join_element_wise(
                    utterance, "is what I heard, and here is an answer to it", ", "
                ),
                "event_time": pa.array(generator.integers(0, 10**15, rows)).cast(pa.timestamp("us", "UTC")),
            }
        )


def measure(mode: str, rows: int) -> dict[str, float]:
    """Run one shuffle in this process."""
    buckets = max(1, rows * BYTES_PER_ROW // BUCKET_BYTES)
    parts = [(k, min(TABLE_ROWS, rows - k * TABLE_ROWS)) for k in range(-(-rows // TABLE_ROWS))]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        counted = str(Path(folder) / "counted.json")
        with beam.Pipeline(options=pipeline_options([])) as pipeline:
            _ = (
                pipeline
                | beam.Create(parts)
                | beam.ParDo(MakeRows())
                | Shuffle(KeyHash("subject_id", buckets), mode, str(Path(folder) / "spill"))
                | beam.MapTuple(lambda _, table: table.num_rows)
                | beam.CombineGlobally(sum)
                | beam.Map(lambda n: storage.write_bytes(counted, str(n).encode()))
            )
        found = int(storage.read_bytes(counted))
    if found != rows:
        raise SystemExit(f"{mode}: {rows} rows in, {found} out")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": round(time.monotonic() - begin, 1),
        "peak_mib": round(peak / 1024),
        "start_mib": round(before / 1024),
        "buckets": buckets,
    }


def main() -> int:
    """Measure every run, each in a new process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/memory.json"))
    parser.add_argument("--one", nargs=2, metavar=("MODE", "ROWS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one[0], int(arguments.one[1]))))
        return 0
    figures: dict[str, float] = {}
    print(f"{'mode':<8}{'million rows':>14}{'peak MiB':>10}{'seconds':>9}")
    for mode, million in RUNS:
        command = [sys.executable, "-m", "bench.memory", "--one", mode, str(million * 1_000_000)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(run.stdout.splitlines()[-1])
        print(f"{mode:<8}{million:>14}{found['peak_mib']:>10}{found['seconds']:>9}")
        figures |= {f"shuffle.{mode}.{million}m.{key}": value for key, value in found.items()}
    storage.write_bytes(str(arguments.out), storage.readable_json(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
