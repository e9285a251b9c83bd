"""The command; see the package."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import polars as pl

import bench.reference_polars
from bench.reference_polars import signals
from bench.reference_polars.common import lexicons


def main() -> int:
    """Read, compute, write; says on standard output how long the work took without the start."""
    parser = argparse.ArgumentParser(
        description=bench.reference_polars.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=Path, required=True, help="folder of the ingest stage's turns")
    parser.add_argument("--out", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()
    begin = time.monotonic()
    table = signals(pl.scan_parquet(arguments.turns / "bucket-*.parquet"), lexicons())
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(arguments.out, compression="zstd", compression_level=1)
    print(json.dumps({"turns": table.height, "seconds": round(time.monotonic() - begin, 3)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
