"""What a run would cost, before it starts: its size, told from its files, times what a turn costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pipeline import sizing
from pipeline.cost import THREADS, Estimate, estimate
from pipeline.errors import BudgetError, ConfigError
from pipeline.inputs import find
from pipeline.options import Config
from pipeline.readers import reader
from pipeline.warehouse.source import TABLE, parse, snapshot_time

_GIB: Final = 1 << 30


@dataclass(frozen=True)
class Budget:
    """What a run is estimated for, and what it may cost.

    Attributes
    ----------
    runner : str
        `local`, `dataflow` or `spark`.
    workers : int
        Workers of a vCPU each.
    max_cost : float or None
        What it may cost, in the money of the prices.
    vcpu_hour, gib_hour, shuffle_gib : float or None
        Price of an hour of a vCPU, of an hour of a GiB of memory, of a GiB shuffled. No price is known to us: without
        that of a vCPU there is no cost in money, and one of the others that is not given counts as nothing.
    job_minutes : float or None
        Minutes that a job takes to start and to end; None takes those of the runner (`pipeline.cost.JOB_MINUTES`).
    """

    runner: str = "local"
    workers: int = 1
    max_cost: float | None = None
    vcpu_hour: float | None = None
    gib_hour: float | None = None
    shuffle_gib: float | None = None
    job_minutes: float | None = None


def plan(
    pattern: str, format: str, config: Config, budget: Budget, out: str | None = None, project: str | None = None
) -> dict[str, Any]:
    """Estimate a run. Reads footers and the first bytes of a few files, and writes nothing.

    Of a table of BigQuery, or a partition, its metadata; the query that counts is run in `project`, and is free.

    Returns
    -------
    dict
        Files, bytes, turns, buckets; per stage CPU seconds and bytes; vCPU-hours, peak memory of a worker in bytes,
        `cost` (None without a price) and `max_cost`; what to look at, as `notes`.

    Raises
    ------
    ConfigError
        If a number cannot be, there is no such reader, or `max_cost` has no price to go by.
    InputError
        If no file matches.
    NotReadyError
        If BigQuery has no such table.
    """
    _check(budget)
    size = _size(pattern, format, config.shuffle.bucket_bytes, out, project)
    rows = 0 if config.models.file else config.sample.train_rows
    threads = config.workers.threads or THREADS[budget.runner]
    work = (size.turns, size.buckets, budget.runner, size.turn_bytes, rows, threads, budget.workers)
    found = estimate(*work, budget.job_minutes)
    return {
        "input": pattern,
        "format": format,
        "runner": budget.runner,
        "workers": budget.workers,
        "files": size.files,
        "bytes": size.bytes,
        "turns": size.turns,
        "turns_from": size.basis,
        "turn_bytes": None if size.turn_bytes is None else round(size.turn_bytes, 1),
        "buckets": size.buckets,
        "stages": found.stages,
        "shuffled_bytes": found.shuffled,
        "stored_bytes": found.stored,
        "vcpu_hours": round(found.vcpu_hours, 6),
        "hours": round(found.hours, 6),
        "worker_bytes": found.worker_bytes,
        "cost": cost(found, budget),
        "max_cost": budget.max_cost,
        "notes": _notes(size, found, budget, config, pattern.startswith(TABLE)),
    }


def _size(pattern: str, format: str, bucket_bytes: int, out: str | None, project: str | None) -> sizing.Size:
    suffixes = reader(format).suffixes
    # A query would have to be run, and paid for, to be counted: it is refused as no file.
    if not pattern.startswith(TABLE):
        return sizing.measure(find(pattern, suffixes, out), format, bucket_bytes)
    # The client takes half a second to import.
    from pipeline.warehouse.pull import FILE_ROWS
    from pipeline.warehouse.reading import find_rows

    rows = find_rows(parse(pattern), snapshot_time(None), project)
    return sizing.of_rows(rows.records, rows.nbytes, FILE_ROWS, bucket_bytes)


def cost(found: Estimate, budget: Budget) -> float | None:
    """Cost in the money of the prices; None without that of a vCPU."""
    if budget.vcpu_hour is None:
        return None
    memory = found.vcpu_hours * found.worker_bytes / _GIB
    shuffled = found.shuffled / _GIB
    paid = found.vcpu_hours * budget.vcpu_hour
    return round(paid + memory * (budget.gib_hour or 0) + shuffled * (budget.shuffle_gib or 0), 6)


def afford(told: dict[str, Any]) -> None:
    """Refuse what would cost more than it may.

    Raises
    ------
    BudgetError
        If so.
    """
    if told["max_cost"] is not None and told["cost"] > told["max_cost"]:
        raise BudgetError(
            f"--input {told['input']}: about {told['turns']:,} turns in {told['files']:,} file(s), estimated at "
            f"{told['vcpu_hours']:,.2f} vCPU-hours and a cost of {told['cost']:,.2f}; --max-cost {told['max_cost']:g} "
            "is allowed. Nothing was begun; read fewer files, or allow more"
        )


def _check(budget: Budget) -> None:
    for name in ("max_cost", "job_minutes", "vcpu_hour", "gib_hour", "shuffle_gib"):
        option = f"--{name}" if name in ("max_cost", "job_minutes") else f"--price-{name}"
        value = getattr(budget, name)
        # Not a number is neither.
        if value is not None and not value >= 0:
            raise ConfigError(f"{option.replace('_', '-')} {value}: a number of at least 0 is wanted")
    if budget.workers < 1:
        raise ConfigError(f"--workers {budget.workers}: at least 1 is wanted")
    if budget.max_cost is not None and budget.vcpu_hour is None:
        raise ConfigError("--max-cost: --price-vcpu-hour is wanted with it, by your price list")


def _notes(size: sizing.Size, found: Estimate, budget: Budget, config: Config, is_table: bool) -> list[str]:
    notes, bucket_bytes = [], config.shuffle.bucket_bytes
    if size.buckets < budget.workers:
        notes.append(
            f"{size.buckets:,} bucket(s) for {budget.workers:,} workers: {budget.workers - size.buckets:,} would have "
            f"nothing to do; set shuffle.bucket_bytes to at most {bucket_bytes * size.buckets // budget.workers:,}"
        )
    if found.scale > 2:
        notes.append(
            f"a turn of this log is {found.scale:.1f} times the size of those that the figures were measured on; "
            "the estimate is the less sure"
        )
    if config.ingest.incremental:
        notes.append(
            "turns that are taken over from the run before are not in it: those of open sessions, and of the last "
            f"{config.ingest.lateness:,.0f} s (ingest.lateness) before the interval"
        )
    if is_table:
        notes.append("a table: `afterword pull` writes the files that a run reads; bytes are as BigQuery counts them")
    elif not size.turns:
        notes.append("no turn was seen in what was read of the files; is --format right?")
    return notes


def render(told: dict[str, Any]) -> str:
    """A plan as text."""
    lines = [
        f"files       {told['files']:>16,}   {_bytes(told['bytes'])} as stored",
        f"turns       {told['turns']:>16,}   estimated from {told['turns_from']}",
        f"buckets     {told['buckets']:>16,}   as stage ingest cuts them (shuffle.bucket_bytes)",
        "",
        f"{'stage':<12}{'CPU seconds':>16}{'shuffled':>14}{'stored':>14}",
        *(
            f"{name:<12}{row['cpu_seconds']:>16,.1f}{_bytes(row['shuffled']):>14}{_bytes(row['stored']):>14}"
            for name, row in told["stages"].items()
        ),
        "",
        f"vCPU-hours  {told['vcpu_hours']:>16,.3f}   on {told['runner']}; {told['hours']:,.3f} h by the clock or more",
        f"shuffled    {_bytes(told['shuffled_bytes']):>16}",
        f"stored      {_bytes(told['stored_bytes']):>16}",
        f"memory      {_bytes(told['worker_bytes']):>16}   a worker, at its peak",
        _cost_line(told),
        *(f"note        {note}" for note in told["notes"]),
    ]
    return "\n".join(lines)


def _cost_line(told: dict[str, Any]) -> str:
    if told["cost"] is None:
        return "cost        " + f"{'unknown':>16}   give --price-vcpu-hour by your price list"
    limit = "" if told["max_cost"] is None else f"; {told['max_cost']:,.2f} is allowed"
    return f"cost        {told['cost']:>16,.2f}   at the prices given{limit}"


def _bytes(n: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024:
            return f"{n:,.0f} {unit}" if unit == "B" else f"{n:,.1f} {unit}"
        n /= 1024
    return f"{n:,.1f} TiB"
