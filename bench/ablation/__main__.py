"""`python -m bench.ablation`: every study whose data is there; writes flat JSON and prints a table."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from bench import ablation
from bench.ablation import letsgo, rated, simulated, slurp
from bench.ablation.study import SEEDS, Study, ablate, table
from pipeline import storage

STUDIES: Final[Mapping[str, Callable[[Path], Iterator[Study]]]] = {
    "letsgo": letsgo.studies,
    "slurp": slurp.studies,
    "uss": rated.of_uss,
    "dbdc3": rated.of_dbdc3,
    "simulated": simulated.studies,
}


def computed(data: Path, seeds: tuple[int, ...] = SEEDS) -> dict[str, float]:
    """Figures of every work whose data is there; tells each study as it is done, and each work that is left out."""
    figures: dict[str, float] = {}
    for work, studies in STUDIES.items():
        before, begun = len(figures), time.monotonic()
        for study in studies(data):
            figures |= {key: round(value, 4) for key, value in ablate(study, seeds).items()}
            print(f"{study.name}: {len(study.groups)} groups, {time.monotonic() - begun:.0f} s", file=sys.stderr)
            begun = time.monotonic()
        if len(figures) == before:
            print(f"{work}: its data is not under {data}; left out", file=sys.stderr)
    return figures


def main() -> int:
    """Run every study, write and print."""
    parser = argparse.ArgumentParser(description=ablation.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    arguments = parser.parse_args()
    figures = computed(arguments.data)
    storage.write_bytes(str(arguments.out), storage.readable_json(figures))
    print(table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
