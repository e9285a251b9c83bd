"""The simulation: block after block of users and days, each written before the next is begun."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from simulator.grammar import Grammar
from simulator.lists import load
from simulator.log import START, LogTables, placed
from simulator.options import SimulateOptions, SimulatorError
from simulator.repertoire import ABSENT, repertoire
from simulator.sessions import Block, Turns, joined
from simulator.users import Users, users
from simulator.world import Action, World
from simulator.write import SUFFIXES, write_packed, write_parquet

# Turns of a session as a first guess of how many sessions a block needs; what lacks is simulated on top.
_TURNS_A_SESSION: Final = 2.2


class Plan(NamedTuple):
    """One block: users `first` to `last` on one day."""

    day: int
    part: int
    first: int
    last: int
    turns: int


@dataclass
class Summary:
    """What was simulated, for the closing table."""

    talked: npt.NDArray[np.bool_]
    turns: int = 0
    sessions: int = 0
    domains: int = 0
    wrong: int = 0
    wrong_listed: int = 0
    files: int = 0
    seconds: float = 0.0
    seconds_prepared: float = 0.0

    @property
    def users(self) -> int:
        """Users who said anything."""
        return int(self.talked.sum())


def simulate(out: Path, options: SimulateOptions) -> Summary:
    """Write a log to `<out>/logs` and its truth to `<out>/truth`.

    Parameters
    ----------
    out : pathlib.Path
        A folder that does not hold a log yet.
    options : SimulateOptions

    Raises
    ------
    SimulatorError
        If the folder holds a log, or the packages of the sentences are not installed.
    """
    begun = time.monotonic()
    for name in ("logs", "truth"):
        if (out / name).exists():
            raise SimulatorError(f"{out / name}: is there already; give another --out, or remove it")
    world = prepared(options)
    ready = time.monotonic() - begun
    summary = write_log(out, world)
    summary.seconds, summary.seconds_prepared = time.monotonic() - begun, ready
    return summary


def write_log(out: Path, world: World) -> Summary:
    """Simulate and write all blocks of a world, one after the other."""
    tables = LogTables(world)
    summary = Summary(np.zeros(world.options.population, bool), domains=world.known.domains)
    for plan in plans(world.options):
        _write(out, plan, world, tables, summary)
    return summary


def prepared(options: SimulateOptions) -> World:
    """All that is worked out before the first block."""
    lists = load()
    texts = {
        Action.FALLBACK: "fallback",
        Action.CLARIFY: "clarify",
        Action.ERROR: "error",
        Action.SORRY: "denied",
        Action.OKAY: "cancelled",
        Action.WELCOME: "thanked",
        Action.HANDOFF: "handoff",
    }
    known = repertoire(Grammar(lists), lists, options)
    return World(known, options, {action: lists.system[name] for action, name in texts.items()})


def plans(options: SimulateOptions) -> Iterator[Plan]:
    """Blocks by day; each has at most `block_turns` turns, and together they have all."""
    population, days = options.population, options.days
    a_day = -(-options.turns // days)
    parts = max(-(-a_day // options.block_turns), -(-options.files // days))
    parts = min(parts, population)
    blocks = days * parts
    for number in range(blocks):
        day, part = divmod(number, parts)
        first, last = (population * k // parts for k in (part, part + 1))
        turns = options.turns * (number + 1) // blocks - options.turns * number // blocks
        if turns:
            yield Plan(day, part, first, last, turns)


def block(plan: Plan, world: World) -> tuple[Users, Turns, np.random.Generator]:
    """The turns of a block, exactly as many as planned, whole sessions but for the last."""
    options = world.options
    numbers = np.random.default_rng([options.seed, 17, plan.day, plan.part])
    people = users(plan.first, plan.last, world.known.wish_weight, options.rates.no_consent, options.seed)
    share = people.activity / people.activity.sum()
    run = Block(world, people, numbers).run
    found: list[Turns] = []
    held = sessions = 0
    while held < plan.turns:
        wanted = 16 + int((plan.turns - held) / _TURNS_A_SESSION)
        turns = run(numbers.choice(len(share), wanted, p=share))
        turns = turns.take(np.lexsort((turns.step, turns.session)))
        turns.session[:] += sessions
        found.append(turns)
        held, sessions = held + len(turns), sessions + wanted
    return people, joined(found).take(np.arange(plan.turns)), numbers


def _write(out: Path, plan: Plan, world: World, tables: LogTables, summary: Summary) -> None:
    people, turns, numbers = block(plan, world)
    seconds = placed(turns, plan.day, numbers)
    order = np.lexsort((turns.step, turns.session, seconds))
    turns, seconds = turns.take(order), seconds[order]
    log = tables.table(turns, people, seconds, f"c{plan.day:03d}-{plan.part:03d}", numbers)
    form = world.options.form
    date = START.date().fromordinal(START.date().toordinal() + plan.day)
    name = f"day={date}/part-{plan.part:03d}"
    path = out / "logs" / f"{name}{SUFFIXES[form]}"
    if form == "parquet":
        write_parquet(log, path)
    else:
        write_packed(tables.lines(log, turns), path)
    write_parquet(tables.truth(turns, log["turn_id"]), out / "truth" / f"{name}.parquet")
    rank = world.known.rank[turns.recognition]
    summary.turns += len(turns)
    summary.sessions += int(pc.count_distinct(log["conversation_id"]).as_py())
    summary.wrong += int(turns.wrong.sum())
    summary.wrong_listed += int((turns.wrong & (rank != ABSENT)).sum())
    summary.files += 1
    summary.talked[people.number[turns.user]] = True


def closing_table(summary: Summary, out: Path) -> str:
    """What was simulated, and the next command."""
    wrong = summary.wrong / summary.turns
    listed = summary.wrong_listed / max(summary.wrong, 1)
    speed = summary.turns / max(summary.seconds - summary.seconds_prepared, 1e-9)
    rows = [
        ("turns", f"{summary.turns:,}", f"{summary.turns / summary.sessions:.1f} a session"),
        ("users", f"{summary.users:,}", ""),
        ("sessions", f"{summary.sessions:,}", ""),
        ("domains", f"{summary.domains:,}", ""),
        ("wrong", f"{wrong:.1%}", "turns whose best interpretation is not what was meant"),
        ("in n-best", f"{listed:.1%}", "of them with the right interpretation further down the list"),
        ("files", f"{summary.files:,}", f"{out / 'logs'}; their truth is in {out / 'truth'}, apart"),
        ("seconds", f"{summary.seconds:.1f}", f"{summary.seconds_prepared:.1f} to prepare, then {speed:,.0f} turns/s"),
    ]
    lines = [f"{name:<12}{value:>12}   {note}".rstrip() for name, value, note in rows]
    return "\n".join([*lines, "", f"next      afterword run --input {out / 'logs'} --format canonical --out OUT"])
