"""What the main job costs on Spark, beside the local runner: embedded, and on a cluster of one and of two workers.

    make bench-spark OUT=out/spark.json                     100,000 and 400,000 simulated turns; needs `make spark`
    python -m bench.spark --turns 20000 80000               fewer

The main job runs on two logs of different size on each engine, once each, as a command of its own; a cluster is
warmed up with a small log first, so its executors are there. What grows with the turns is a turn's cost, and the rest
stands once a run: the start of SDK workers, the fit, the gates. CPU is that of the command and of all of Spark's
processes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench import spark_cluster
from bench.spark_cluster import Spark
from bench.speed import AFTERWORD, machine, simulated, watched
from pipeline import storage

TURNS: Final = (100_000, 400_000)
WARM_UP: Final = 2_000
SAMPLE_S: Final = 0.2
Engine = Callable[[Path], AbstractContextManager[Spark | None]]
ENGINES: Final[dict[str, Engine]] = {
    "local": lambda folder: nullcontext(),
    "embedded": lambda folder: spark_cluster.local(folder),
    "cluster.1": lambda folder: spark_cluster.standalone(folder, workers=1),
    "cluster.2": lambda folder: spark_cluster.standalone(folder, workers=2),
}


@dataclass(frozen=True)
class Cost:
    """One run: seconds by the clock and of CPU, the most bytes in memory, all processes together."""

    seconds: float
    cpu: float
    peak: int


@contextmanager
def peak(pids: list[int]) -> Iterator[list[int]]:
    """The most bytes that processes, and all below them, held at once meanwhile, as a list of one."""
    most, done = [0], threading.Event()

    def sample() -> None:
        while not done.wait(SAMPLE_S):
            most[0] = max(most[0], sum(p.resident for p in spark_cluster.below(pids)))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def used(pids: list[int]) -> float:
    """CPU seconds of processes that run on, and of all that they started and saw end."""
    return sum(p.cpu for p in spark_cluster.below(pids))


def one(log: Path, out: Path, spark: Spark | None) -> Cost:
    """The whole main job."""
    beam = ["--", *spark.beam] if spark else []
    engine = spark.pids if spark else []
    before, begin = used(engine), time.monotonic()
    log_file = Path(f"{out}.log")
    with log_file.open("w") as said:
        arguments = ["run", "--input", str(log / "logs"), "--format", "canonical", "--out", str(out), *beam]
        command = subprocess.Popen([*AFTERWORD, *arguments], stdout=said, stderr=said)
        with peak([command.pid, *engine]) as most:
            own = _waited(command, log_file)
    seconds = time.monotonic() - begin
    subprocess.run(["rm", "-rf", str(out)], check=True)
    return Cost(seconds, own + used(engine) - before, most[0])


def _waited(command: subprocess.Popen[bytes], log: Path) -> float:
    """CPU seconds of a command and its children, at its end."""
    _, status, usage = os.wait4(command.pid, 0)
    command.returncode = os.waitstatus_to_exitcode(status)
    if command.returncode:
        raise SystemExit(f"exit code {command.returncode}\n{log.read_text()[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def told(small: Cost, large: Cost, turns: tuple[int, int]) -> dict[str, float]:
    """Costs of a turn in microseconds, and what stands once a run in seconds."""
    figures = {}
    for name in ("seconds", "cpu"):
        a, b = getattr(small, name), getattr(large, name)
        turn_us = (b - a) / (turns[1] - turns[0]) * 1e6
        figures |= {f"{name}.turn_us": turn_us, f"{name}.once_s": a - turn_us * turns[0] / 1e6}
    return figures


def measure(folder: Path, turns: tuple[int, int]) -> dict[str, Any]:
    """All engines, one after the other, on the same logs."""
    logs = {}
    for n in (WARM_UP, *turns):
        logs[n] = folder / f"log-{n}"
        simulated(logs[n], n)
    figures: dict[str, Any] = {}
    for name, engine in ENGINES.items():
        (folder / name).mkdir()
        with engine(folder / name) as spark:
            if spark:
                warm = ["ingest", "--input", str(logs[WARM_UP] / "logs"), "--format", "canonical"]
                watched([*AFTERWORD, *warm, "--out", str(folder / "warm"), "--", *spark.beam])
            costs = []
            for n in turns:
                costs.append(cost := one(logs[n], folder / f"{name}-{n}", spark))
                figures[f"{name}.{n}"] = asdict(cost) | {"load": machine()["machine.load"]}
                held = f"{cost.seconds:>9.1f} s{cost.cpu:>9.1f} s of CPU{cost.peak >> 20:>8,} MiB"
                print(f"{name:<12}{n:>10,} turns{held}", flush=True)
        figures[name] = told(*costs, turns)
    return figures


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/spark.json"))
    parser.add_argument("--turns", type=int, nargs=2, default=TURNS, metavar="N", help="turns of the two logs")
    arguments = parser.parse_args()
    if not spark_cluster.JARS.is_dir():
        raise SystemExit(".spark/jars is absent: run make spark")
    figures: dict[str, Any] = machine()
    with tempfile.TemporaryDirectory() as folder:
        figures |= measure(Path(folder), tuple(arguments.turns))
    figures["machine.load_after"] = machine()["machine.load"]
    storage.write_bytes(str(arguments.out), storage.readable_json(figures))
    print(f"\n{'':<12}{'CPU us a turn':>14}{'CPU s once':>12}{'us a turn':>12}{'s once':>10}{'CPU a turn / local':>20}")
    for name in ENGINES:
        row = figures[name]
        ratio = row["cpu.turn_us"] / figures["local"]["cpu.turn_us"]
        cpu = f"{row['cpu.turn_us']:>14.1f}{row['cpu.once_s']:>12.1f}"
        print(f"{name:<12}{cpu}{row['seconds.turn_us']:>12.1f}{row['seconds.once_s']:>10.1f}{ratio:>20.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
