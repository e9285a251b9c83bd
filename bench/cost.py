"""What a turn costs: CPU by stage, bytes shuffled and stored, memory of a worker; the figures of `pipeline/cost.py`.

    python -m bench.cost --out out/cost.json                  100,000 and 400,000 simulated turns, a quarter of an hour
    python -m bench.cost --turns 20000 80000 --repeats 1      fewer, once each

The main job runs on two logs of different size, each run a process of its own, all of them in turn, three times over.
CPU time is that of the process and of all below it, by stage; of a run's three the one in the middle counts. Of a
stage, what grows with the turns is its cost a turn, and the rest stands once a run: the start of Beam, the gates, the
fit on `sample.train_rows`. The job is run with either mode of the shuffle: `spill` with two processes beside it, as the
command has them on the local runner, `native` in two threads. Memory a turn of a bucket is told from runs with smaller
buckets, by processes and by threads, which workers of other runners have; both with `spill`, as in here `native` holds
the whole log. docs/cost.md says what is made of it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.spark_cluster import below
from bench.speed import machine, simulated, watched
from pipeline import processes, storage
from pipeline.cli import quiet
from pipeline.stages import STAGES
from pipeline.workspace import Workspace

TURNS: Final = (100_000, 400_000)
# Of the run whose buckets are small, against `shuffle.bucket_bytes`, 64 MiB: what a bucket's rows take in memory.
SMALL_BUCKET: Final = 8 << 20
MODES: Final = ("spill", "native")
REPEATS: Final = 3
# Workers of the local runner: processes of the command, or its threads.
AT_ONCE: Final = 2


@dataclass(frozen=True)
class Weighed(Workspace):
    """A workspace that weighs every file of a shuffle: whoever removes them asks for their folder first."""

    seen: dict[str, dict[str, int]] = field(default_factory=dict)

    def spill(self, stage: str) -> str:
        """The folder; what lies there now is weighed."""
        folder = super().spill(stage)
        self.seen.setdefault(stage, {}).update(storage.sizes(folder))
        return folder

    def shuffled(self, stage: str) -> int:
        """Bytes of all of them."""
        return sum(self.seen.get(stage, {}).values())


def one(beside: int, log: str, out: str, *settings: str) -> dict[str, Any]:
    """Run the main job in this process and in so many beside it; gives seconds of CPU and bytes by stage."""
    from pipeline.config import load
    from pipeline.jobs import curate, ingest, label, release, signals, train
    from pipeline.jobs.context import Context
    from pipeline.progress import Progress

    processes.begin(beside)
    if processes.number() != beside:
        raise SystemExit(f"{beside} processes are wanted beside the job, and {processes.number()} were begun")
    workspace = Weighed(out)
    with (Path(out).parent / f"{Path(out).name}.log").open("w") as said:
        context = Context(workspace, load(None, list(settings)), [], Progress(said))
        steps = {"ingest": lambda: ingest.run(context, log, "canonical")}
        steps |= {m.__name__.rpartition(".")[2]: _step(m, context) for m in (signals, train, label, curate, release)}
        stages = {}
        for stage in STAGES:
            before, begin = _cpu(), time.monotonic()
            steps[stage]()
            stages[stage] = {
                "cpu": _cpu() - before,
                "seconds": time.monotonic() - begin,
                "shuffled": workspace.shuffled(stage),
                "stored": sum(storage.sizes(workspace.stage(stage)).values()),
            }
    stages["release"]["stored"] += sum(storage.sizes(storage.join(out, "releases")).values())
    facts = workspace.facts("ingest")
    return {"turns": facts["kept"], "buckets": facts["buckets"], "stages": stages}


def _step(module: Any, context: Any) -> Any:
    return lambda: module.run(context)


def _cpu() -> float:
    """CPU seconds of this process and of all below it, those that have ended too."""
    return sum(process.cpu for process in below([os.getpid()]))


def coefficients(small: dict[str, Any], large: dict[str, Any]) -> dict[str, dict[str, float]]:
    """By stage: CPU microseconds a turn, CPU seconds once a run, bytes shuffled and stored a turn."""
    more, turns = large["turns"] - small["turns"], large["turns"]
    told = {}
    for stage in STAGES:
        a, b = small["stages"][stage], large["stages"][stage]
        turn_us = max(0.0, (b["cpu"] - a["cpu"]) / more * 1e6)
        told[stage] = {
            "turn_us": turn_us,
            "once_s": max(0.0, b["cpu"] - turn_us * turns / 1e6),
            "shuffled": b["shuffled"] / turns,
            "stored": b["stored"] / turns,
        }
    return told


def middle(repeated: list[dict[str, Any]]) -> dict[str, Any]:
    """One run of its repetitions: CPU and seconds of a stage, and the peak, are those in the middle."""
    first = repeated[0]
    stages = {
        stage: row
        | {key: median(run["stages"][stage][key] for run in repeated) for key in ("cpu", "seconds")}
        | {"cpu.each": [run["stages"][stage]["cpu"] for run in repeated]}
        for stage, row in first["stages"].items()
    }
    return first | {"stages": stages, "peak": median(run["peak"] for run in repeated)}


def memory(small_buckets: dict[str, Any], large_buckets: dict[str, Any], threads: int = AT_ONCE) -> dict[str, float]:
    """Bytes that a turn of a bucket takes in each thread or process that holds one, and those without any."""
    in_bucket = [run["turns"] / run["buckets"] for run in (small_buckets, large_buckets)]
    if in_bucket[0] == in_bucket[1]:
        raise SystemExit("buckets of two sizes are wanted, and the larger log fits into one of either: more --turns")
    a_turn = (large_buckets["peak"] - small_buckets["peak"]) / (in_bucket[1] - in_bucket[0]) / threads
    return {"turn": a_turn, "worker": large_buckets["peak"] - a_turn * in_bucket[1] * threads}


def run_apart(name: str, beside: int, log: Path, out: Path, setting: str) -> dict[str, Any]:
    """`one` in a process of its own, with its peak in bytes; what it wrote is removed."""
    command = [sys.executable, "-m", "bench.cost", "--processes", str(beside), "--one"]
    run = watched([*command, str(log), str(out), setting])
    told: dict[str, Any] = json.loads(run.out.splitlines()[-1]) | {"peak": run.peak_mib * (1 << 20)}
    shutil.rmtree(out)
    cpu = sum(stage["cpu"] for stage in told["stages"].values())
    print(f"{name:<16}{told['turns']:>10,} turns{cpu:>10.1f} s of CPU{run.peak_mib:>8,.0f} MiB", flush=True)
    return told


def measure(folder: Path, turns: tuple[int, int], repeats: int) -> dict[str, Any]:
    """All runs in turn, so many times, each in a new process."""
    logs = {}
    for n in turns:
        logs[n] = folder / f"log-{n}"
        simulated(logs[n], n)
    small = f"shuffle.bucket_bytes={SMALL_BUCKET}"
    planned = {
        **{f"spill.{n}": (AT_ONCE, n, "shuffle.mode=spill") for n in turns},
        **{f"native.{n}": (0, n, "shuffle.mode=native") for n in turns},
        "processes.small": (AT_ONCE, turns[1], small),
        "threads": (0, turns[1], "shuffle.mode=spill"),
        "threads.small": (0, turns[1], small),
    }
    repeated: dict[str, list[dict[str, Any]]] = {name: [] for name in planned}
    for _ in range(repeats):
        for name, (beside, n, setting) in planned.items():
            repeated[name].append(run_apart(name, beside, logs[n] / "logs", folder / name, setting))
    runs = {name: middle(of_it) for name, of_it in repeated.items()}
    from pipeline.readers import reader

    path = next((logs[turns[1]] / "logs").rglob("*.parquet"))
    with path.open("rb") as stream:
        batch = next(iter(reader("canonical").read(stream, path.name)))
    return {
        "logged_bytes": batch.turns.nbytes / batch.turns.num_rows,
        "memory.processes": memory(runs["processes.small"], runs[f"spill.{turns[1]}"]),
        "memory.threads": memory(runs["threads.small"], runs["threads"]),
        "runs": runs,
        **{mode: coefficients(*(runs[f"{mode}.{n}"] for n in turns)) for mode in MODES},
    }


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/cost.json"))
    parser.add_argument("--turns", type=int, nargs=2, default=TURNS, metavar="N", help="turns of the two logs")
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N", help="times that each run is made")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--processes", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    quiet()
    if arguments.one:
        print(json.dumps(one(arguments.processes, *arguments.one)))
        return 0
    figures: dict[str, Any] = machine()
    with tempfile.TemporaryDirectory() as folder:
        figures |= measure(Path(folder), tuple(arguments.turns), arguments.repeats)
    figures["machine.load_after"] = machine()["machine.load"]
    storage.write_bytes(str(arguments.out), storage.readable_json(figures))
    for mode in MODES:
        print(f"\n{mode:<10}{'us a turn':>12}{'s once':>10}{'shuffled':>10}{'stored':>10}   (bytes a turn)")
        for stage, row in figures[mode].items():
            held = f"{row['shuffled']:>10.0f}{row['stored']:>10.0f}"
            print(f"{stage:<10}{row['turn_us']:>12.1f}{row['once_s']:>10.1f}{held}")
    for way in ("processes", "threads"):
        told = figures[f"memory.{way}"]
        print(f"\nmemory by {way}: {told['turn']:,.0f} bytes a turn in each, {told['worker'] / 2**20:,.0f} MiB without")
    print(f"a logged turn: {figures['logged_bytes']:,.0f} bytes as an Arrow table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
