"""Figures on human truth, from one command.

    make bench-quality DATA=../shared/data OUT=out/quality.json

Flat JSON, one number a key; docs/benchmarks.md says what each means. Folds go by dialog and are fixed; nothing is
chosen on the fold that is scored; for each figure the simplest thing that could do it stands beside it (`.baseline.`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from bench import dbdc3, letsgo, loop, simulated, slurp, uss
from pipeline import storage

Figures = Callable[[Path], dict[str, float]]
WORKS: Mapping[str, Figures] = {
    "letsgo": letsgo.figures,
    "slurp": slurp.figures,
    "uss": uss.figures,
    "dbdc3": dbdc3.figures,
    "simulated": simulated.figures,
    "loop": loop.figures,
}


def main(works: Mapping[str, Figures] = WORKS) -> int:
    """Compute every figure whose data is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    for name, compute in works.items():
        found = compute(arguments.data)
        if not found:
            print(f"{name}: its data is not under {arguments.data}; left out", file=sys.stderr)
        figures |= {f"{name}.{key}": value for key, value in found.items()}
    if not figures:
        print(f"no data under {arguments.data}; nothing was computed", file=sys.stderr)
        return 3
    rounded = {key: round(value, 4) for key, value in sorted(figures.items())}
    storage.write_bytes(str(arguments.out), storage.readable_json(rounded))
    print(table(rounded))
    return 0


def table(figures: dict[str, float]) -> str:
    """Figures as lines, each with its baseline where there is one."""
    lines = [f"{'figure':<40}{'value':>10}{'baseline':>10}"]
    for key, value in figures.items():
        if ".baseline" in key:
            continue
        stem, _, metric = key.rpartition(".")
        simple = figures.get(f"{stem}.baseline.{metric}", figures.get(f"{key}.baseline"))
        lines.append(f"{key:<40}{value:>10g}{'' if simple is None else simple:>10}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
