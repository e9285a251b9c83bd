"""How fast both models judge turns: from the tables of an output folder, read into memory before the clock starts.

    python -m bench.scoring --out out/ [--threads 2]

Prints JSON. Each thread judges whole buckets, as a worker of stage label does; reading and writing are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from features.hashing import strings
from features.said import READS
from models.fitted import Models
from models.judge import TURN_READS, judge
from models.store import loads
from pipeline.transforms.sessions import pieces

THREADS: Final = 2


def tables(folder: Path, columns: list[str] | None = None) -> list[pa.Table]:
    """The buckets of a table, in order."""
    return [pq.read_table(path, columns=columns) for path in sorted(folder.glob("*.parquet"))]


def parts(out: Path) -> list[tuple[pa.Table, pa.Table]]:
    """Turns and signals of whole sessions, some thousands at a time."""
    columns = sorted({*TURN_READS, *READS})
    stages = out / "stages"
    found = []
    for turns, signals in zip(
        tables(stages / "ingest" / "turns", columns), tables(stages / "signals" / "signals"), strict=True
    ):
        for start, length in pieces(strings(signals["session_id"])):
            found.append(tuple(t.slice(start, length).combine_chunks() for t in (turns, signals)))
    return found


def seconds(held: list[tuple[pa.Table, pa.Table]], models: Models, threads: int) -> float:
    """Time to judge them all."""
    begin = time.monotonic()
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda part: judge(*part, models)[0].num_rows, held):
            pass
    return time.monotonic() - begin


def main() -> int:
    """Read, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="output folder of a run")
    parser.add_argument("--threads", type=int, default=THREADS)
    arguments = parser.parse_args()
    models = loads((arguments.out / "stages" / "train" / "models.json").read_bytes())
    held = parts(arguments.out)
    # Boosters are parsed at the first call.
    seconds(held[:1], models, 1)
    spent = seconds(held, models, arguments.threads)
    turns = sum(signals.num_rows for _, signals in held)
    print(json.dumps({"turns": turns, "threads": arguments.threads, "seconds": spent, "turns_per_s": turns / spent}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
