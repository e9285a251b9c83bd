"""How the main job's time and memory grow with the log, and what one user of very many turns costs.

    make bench-scale                                      1, 3 and 10 million simulated turns, and the two below
    python -m bench.scale --millions 0.1,0.3 --hot 0.2    fewer

Flat JSON; docs/benchmarks.md says what each key means. Every run is a process of its own, on a log of its own:

- `run.<n>m`: all stages; `day.<first>m`: the same with the models of the run before, as a day between trainings has it;
- `hot`: a log of which half is one user's, beside the log from which it was made.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.speed import AFTERWORD, machine, simulated, tell, watched
from features.hashing import hash64, strings

MILLION: Final = 1_000_000
HOT_USER: Final = "user-of-many-turns"


def with_hot_user(log: Path, to: Path) -> None:
    """The same turns, those of every other user being one user's."""
    for path in sorted(log.rglob("*.parquet")):
        table = pq.read_table(path)
        at = table.column_names.index("user_id")
        theirs = hash64(strings(table["user_id"])) % 2 == 0
        users = pc.if_else(pa.array(theirs), HOT_USER, table["user_id"])
        placed = to / path.relative_to(log)
        placed.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table.set_column(at, table.schema.field(at), users), placed)


def measured(log: Path, out: Path, *more: str) -> dict[str, float]:
    """Figures of one run."""
    run = watched([*AFTERWORD, "run", "--input", str(log), "--format", "canonical", "--out", str(out), *more])
    facts = json.loads(next((out / "runs").glob("*/run.json")).read_text(encoding="utf-8"))
    turns = facts["result"]["counts"]["ingest"]["kept"]
    stages = {f"{stage}.seconds": seconds for stage, seconds in facts["seconds"].items()}
    whole = {"turns": turns, "seconds": run.seconds, "turns_per_s": turns / run.seconds, "peak_mib": run.peak_mib}
    return whole | stages


def exponent(first: dict[str, float], second: dict[str, float]) -> float:
    """The power of the turns that the seconds of two runs grow with."""
    return math.log(second["seconds"] / first["seconds"]) / math.log(second["turns"] / first["turns"])


def named(name: str, figures: dict[str, float]) -> dict[str, float]:
    """Figures under a name."""
    return {f"{name}.{key}": value for key, value in figures.items()}


def growth(millions: list[float], work: Path) -> dict[str, float]:
    """Runs over logs of these sizes, and one with the models of the first."""
    figures: dict[str, float] = {}
    runs: list[dict[str, float]] = []
    for size in millions:
        log, out = work / "log" / "logs", work / "out"
        simulated(work / "log", round(size * MILLION))
        runs.append(measured(log, out))
        figures |= named(f"run.{size:g}m", runs[-1])
        if len(runs) == 1:
            models = shutil.copy(out / "stages" / "train" / "models.json", work)
            figures |= named(f"day.{size:g}m", measured(log, work / "day", "--set", f"models.file={models}"))
        for folder in (work / "log", out, work / "day"):
            shutil.rmtree(folder, ignore_errors=True)
    for (first, second), (one, other) in zip(itertools.pairwise(millions), itertools.pairwise(runs), strict=True):
        figures[f"exponent.{first:g}m_{second:g}m"] = exponent(one, other)
    return figures


def hot(million: float, work: Path) -> dict[str, float]:
    """A log with and without a user of half its turns."""
    log = work / "log" / "logs"
    simulated(work / "log", round(million * MILLION))
    with_hot_user(log, work / "hot")
    plain, one = measured(log, work / "out"), measured(work / "hot", work / "out-hot")
    ratio = {"hot.vs_plain": one["seconds"] / plain["seconds"]}
    return named("hot", one) | named("hot.plain", plain) | ratio


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/scale.json"))
    parser.add_argument("--millions", default="1,3,10", help="turns of the logs, in millions, with commas")
    parser.add_argument("--hot", type=float, default=2.0, help="millions of turns of the log with a hot user; 0 = none")
    arguments = parser.parse_args()
    figures: dict[str, Any] = machine()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.hot:
            figures |= hot(arguments.hot, Path(folder) / "hot")
            shutil.rmtree(Path(folder) / "hot")
        figures |= growth([float(size) for size in arguments.millions.split(",")], Path(folder))
    tell(figures, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
