"""What a turn costs: figures of `python -m bench.cost`. docs/cost.md says on what they were measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class StageCost:
    """A stage's cost.

    Attributes
    ----------
    turn_us : float
        CPU microseconds a turn.
    once_s : float
        CPU seconds once a run, whatever its turns; of train those of a fit on `MEASURED_TRAIN_ROWS`.
    shuffled, stored : float
        Bytes a turn.
    """

    turn_us: float
    once_s: float
    shuffled: float
    stored: float


# Either mode of the shuffle on the local runner, without an engine's own work. Bytes are those of the files of
# `spill`, for both.
SPILL: Final = {
    "ingest": StageCost(11.6, 3.1, 714.9, 59.9),
    "signals": StageCost(20.4, 0.2, 0.0, 113.7),
    "train": StageCost(12.9, 12.6, 0.0, 33.3),
    "label": StageCost(17.9, 0.8, 0.0, 50.9),
    "curate": StageCost(10.5, 0.9, 115.4, 23.0),
    "release": StageCost(2.9, 4.1, 42.6, 41.4),
}
NATIVE: Final = {
    "ingest": StageCost(17.9, 1.2, 714.9, 59.9),
    "signals": StageCost(19.7, 0.6, 0.0, 113.7),
    "train": StageCost(13.6, 12.1, 0.0, 33.3),
    "label": StageCost(18.2, 0.9, 0.0, 50.9),
    "curate": StageCost(11.5, 0.8, 115.4, 23.0),
    "release": StageCost(4.7, 3.6, 42.6, 41.4),
}
# Bytes of a measured turn as an Arrow table, as its reader gives it.
LOGGED_BYTES: Final = 574.0
# Bytes that a turn of a bucket takes in each thread or process that holds one, and those of a worker without any. The
# local runner's worker is the command with its processes; elsewhere it is one process with its threads.
TURN_MEMORY: Final = {"local": 2509.0, "dataflow": 2463.0, "spark": 2463.0}
WORKER_MEMORY: Final = {"local": 1207 << 20, "dataflow": 871 << 20, "spark": 871 << 20}
MEASURED_TRAIN_ROWS: Final = 20_000
_COSTS: Final = {"local": SPILL, "dataflow": NATIVE, "spark": NATIVE}
# What an engine adds (`python -m bench.spark`, clusters of one and two workers; of Dataflow nothing was measured): CPU
# seconds once a run, and as many again for each worker, whose SDK worker starts anew for some dozen pipelines; and how
# many times the CPU of a turn.
ENGINE_ONCE_S: Final = {"local": 0.0, "dataflow": 0.0, "spark": 14.0}
ENGINE_WORKER_S: Final = {"local": 0.0, "dataflow": 0.0, "spark": 27.0}
ENGINE_TURN: Final = {"local": 1.0, "dataflow": 1.0, "spark": 1.24}
# Beam pipelines of a run, of which each is a job elsewhere.
JOBS: Final = {"ingest": 1, "signals": 1, "train": 3, "label": 1, "curate": 3, "release": 3}
# Minutes that a job takes to start and to end, its workers paid for. Assumed for Dataflow; on Spark the executors stay.
JOB_MINUTES: Final = {"local": 0.0, "dataflow": 3.0, "spark": 0.0}
# Threads of a worker that each hold a bucket (`workers.threads` = 0).
THREADS: Final = {"local": 2, "dataflow": 1, "spark": 1}
# Share of the hours paid for that a worker works; the rest is starting, waiting for the last bucket, and the engine's
# own work. Assumed for a cluster, not measured: hold it against your first bill.
BUSY: Final = {"local": 1.0, "dataflow": 0.7, "spark": 0.7}
# What reads, redacts and encodes text goes by its length; of the later stages nothing was measured that would say so.
_BY_LENGTH: Final = frozenset({"ingest"})


@dataclass(frozen=True)
class Estimate:
    """What a run is estimated to take.

    Attributes
    ----------
    stages : dict
        Stage to `cpu_seconds`, `shuffled` and `stored` bytes.
    shuffled, stored : int
        Bytes in all.
    vcpu_hours : float
        Paid for: CPU hours over the share of them that is work, and the workers of each job while it starts and ends.
    hours : float
        By the clock, if no worker ever waits for another.
    worker_bytes : int
        Peak memory of a worker.
    scale : float
        Size of a turn over that of the measured ones.
    """

    stages: dict[str, dict[str, Any]]
    shuffled: int
    stored: int
    vcpu_hours: float
    hours: float
    worker_bytes: int
    scale: float


def estimate(
    turns: int,
    buckets: int,
    runner: str = "local",
    turn_bytes: float | None = None,
    train_rows: int = MEASURED_TRAIN_ROWS,
    threads: int = 1,
    workers: int = 1,
    job_minutes: float | None = None,
) -> Estimate:
    """Estimate a run of all stages.

    Parameters
    ----------
    turns, buckets : int
    runner : str
        `local`, `dataflow` or `spark`.
    turn_bytes : float or None
        Bytes of a turn as an Arrow table, as a reader gives it; None takes that of the measured ones.
    train_rows : int
        Turns that are learned from, at most; the fit is taken to go by their number. 0 = the models are given, and
        stage train takes them as they are.
    threads : int
        Buckets that a worker holds at once.
    workers : int
        Workers of a vCPU each.
    job_minutes : float or None
        Minutes that each job takes to start and to end, its workers paid for; None takes those of the runner.
    """
    scale = 1.0 if turn_bytes is None else turn_bytes / LOGGED_BYTES
    learned = min(turns, train_rows) / MEASURED_TRAIN_ROWS
    stages, once, each = {}, 0.0, 0.0
    minutes, jobs = JOB_MINUTES[runner] if job_minutes is None else job_minutes, 0
    for name, cost in _COSTS[runner].items():
        if name == "train" and not train_rows:
            cost = StageCost(0.0, 0.0, 0.0, 0.0)
        else:
            jobs += JOBS[name]
        own_once = cost.once_s * (learned if name == "train" else 1)
        own_each = cost.turn_us * turns / 1e6 * (scale if name in _BY_LENGTH else 1) * ENGINE_TURN[runner]
        once, each = once + own_once, each + own_each
        stages[name] = {
            "cpu_seconds": round(own_once + own_each, 3),
            "shuffled": round(cost.shuffled * turns * scale),
            "stored": round(cost.stored * turns * scale),
        }
    once += ENGINE_ONCE_S[runner] + ENGINE_WORKER_S[runner]
    others = ENGINE_WORKER_S[runner] * (workers - 1)
    busy, starting = BUSY[runner], jobs * minutes / 60
    return Estimate(
        stages=stages,
        shuffled=sum(row["shuffled"] for row in stages.values()),
        stored=sum(row["stored"] for row in stages.values()),
        vcpu_hours=(once + others + each) / 3600 / busy + starting * workers,
        # What is once a run is one process's work; workers start side by side.
        hours=(once + each / min(workers, buckets)) / 3600 / busy + starting,
        worker_bytes=round(WORKER_MEMORY[runner] + TURN_MEMORY[runner] * scale * threads * turns / buckets),
        scale=scale,
    )
