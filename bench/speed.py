"""Turns a second and peak memory of the whole run and of each stage, beside the signals by hand in polars.

    make bench-speed OUT=out/speed.json                       a million simulated turns
    python -m bench.speed --turns 100000                      fewer
    python -m bench.speed --input logs/ --format canonical    a log that is there

Flat JSON; docs/benchmarks.md says what each key means. Every command is a process of its own. The two programmes for
the signals run in turn on the same turns, and what they write must agree, or there is no figure.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.agree import differences, read
from bench.reference_polars import LEFT_OUT
from pipeline import storage

TURNS: Final = 1_000_000
PAIRS: Final = 3
SAMPLE_S: Final = 0.2
AFTERWORD: Final = [sys.executable, "-m", "pipeline.cli"]
# Options of section `curate` that ask for more than one user.
ONE_USER: Final = ("min_users", "reject_min_users", "answer_min_users")
# All that a stage imports, and nothing done with it.
START: Final = [sys.executable, "-c", "import pipeline.jobs.run"]


@dataclass(frozen=True)
class Run:
    """One finished command."""

    seconds: float
    peak_mib: float
    out: str
    err: str


def watched(command: list[str]) -> Run:
    """Run a command to its end. The peak is what all its processes hold together, sampled."""
    peak, begin = 0, time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        while process.poll() is None:
            peak = max(peak, sum(map(held, tree(process.pid))))
            time.sleep(SAMPLE_S)
        seconds = time.monotonic() - begin
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read())
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}\n{texts[1][-2000:]}")
    return Run(seconds, peak / (1 << 20), *texts)


def tree(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from tree(int(child))


def held(pid: int) -> int:
    """Bytes of a process in memory, of a page that it shares with others its part (PSS); 0 of one that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


def examples(out: Path) -> dict[str, float]:
    """Stages curate and release again, of as many examples as the log gives: one user is enough for each."""
    sets = [part for name in ONE_USER for part in ("--set", f"curate.{name}=1")]
    told = watched([*AFTERWORD, "run", "--from", "curate", "--out", str(out), *sets])
    facts = _facts(out)
    pooled, seconds = facts["result"]["counts"]["curate"]["pooled"], sum(facts["seconds"].values())
    released = facts["result"]["counts"]["release"]["kept"]
    rates = {"examples.seconds": seconds, "examples.per_s": pooled / seconds, "examples.peak_mib": told.peak_mib}
    return {"examples.pooled": pooled, "examples.released": released, **rates}


def _facts(out: Path) -> dict[str, Any]:
    """What the last run in an output folder says of itself."""
    last = max((out / "runs").glob("*/run.json"), key=lambda path: path.stat().st_mtime)
    facts: dict[str, Any] = json.loads(last.read_text(encoding="utf-8"))
    return facts


def measure(log: Path, format: str, work: Path, pairs: int) -> dict[str, Any]:
    """All figures of a log."""
    out = work / "run"
    whole = watched([*AFTERWORD, "run", "--input", str(log), "--format", format, "--out", str(out)])
    facts = _facts(out)
    turns = facts["result"]["counts"]["ingest"]["kept"]
    figures: dict[str, Any] = {
        "turns": turns,
        "run.seconds": whole.seconds,
        "run.turns_per_s": turns / whole.seconds,
        "run.peak_mib": whole.peak_mib,
    }
    figures |= {f"{stage}.seconds": seconds for stage, seconds in facts["seconds"].items()}
    scored = json.loads(watched([sys.executable, "-m", "bench.scoring", "--out", str(out)]).out)
    figures["scoring.turns_per_s"] = scored["turns_per_s"]
    figures |= examples(out)
    return figures | signals(out, work / "polars.parquet", turns, pairs)


def signals(out: Path, other: Path, turns: int, pairs: int) -> dict[str, float]:
    """The signals by the product and by hand, in turn."""
    by_hand = ["-m", "bench.reference_polars", "--turns", str(out / "stages" / "ingest" / "turns"), "--out", str(other)]
    ours, theirs, starts = [], [], []
    for _ in range(pairs):
        ours.append(watched([*AFTERWORD, "signals", "--out", str(out)]))
        theirs.append(watched([sys.executable, *by_hand]))
        starts.append(watched(START))
    found = differences(read(out / "stages" / "signals" / "signals"), read(other), frozenset(LEFT_OUT))
    if found:
        raise SystemExit("the signals differ:\n" + "\n".join(found))
    wall, wall_by_hand = (statistics.median(r.seconds for r in runs) for runs in (ours, theirs))
    # What the stage itself says, without the start of the process.
    own = statistics.median(float(re.findall(r"signals: ([\d.]+) s", r.err)[-1]) for r in ours)
    own_by_hand = statistics.median(json.loads(r.out)["seconds"] for r in theirs)
    return {
        "signals.turns_per_s": turns / wall,
        "signals.vs_polars": wall / wall_by_hand,
        "signals.vs_polars.work": own / own_by_hand,
        "signals.process_seconds": wall,
        "signals.peak_mib": max(r.peak_mib for r in ours),
        "polars.seconds": wall_by_hand,
        "polars.peak_mib": max(r.peak_mib for r in theirs),
        "start.seconds": statistics.median(r.seconds for r in starts),
    }


def simulated(folder: Path, turns: int) -> Run:
    """Write a log of so many turns into `folder / "logs"`; the truth lies beside it."""
    return watched([*AFTERWORD, "simulate", "--out", str(folder), "--turns", str(turns), "--form", "parquet"])


def tell(figures: dict[str, Any], out: Path) -> None:
    """Write flat figures as JSON, and print them."""
    rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in sorted(figures.items())}
    storage.write_bytes(str(out), storage.readable_json(rounded))
    for key, value in rounded.items():
        print(f"{key:<28}{value:>16,}" if isinstance(value, int | float) else f"{key:<28}{value:>16}")


def machine() -> dict[str, Any]:
    """Where the figures come from; the load says whether others were at work."""
    return {
        "machine.cpus": os.cpu_count(),
        "machine.mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "machine.load": os.getloadavg()[0],
        "machine.platform": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
    }


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/speed.json"))
    parser.add_argument("--turns", type=int, default=TURNS, help="turns to simulate")
    parser.add_argument("--input", type=Path, help="a log to read instead")
    parser.add_argument("--format", default="canonical", help="its format")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="runs of each programme for the signals")
    arguments = parser.parse_args()
    figures = machine()
    with tempfile.TemporaryDirectory() as folder:
        log = arguments.input or Path(folder) / "log"
        if not arguments.input:
            figures["simulate.seconds"] = simulated(log, arguments.turns).seconds
            log /= "logs"
        figures |= measure(log, arguments.format, Path(folder), arguments.pairs)
    tell(figures, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
