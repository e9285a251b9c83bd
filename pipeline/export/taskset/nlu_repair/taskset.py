"""The taskset: one task an example, its reward the match of the interpretation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import verifiers.v1 as vf
from pydantic import Field

from nlu_repair.reward import parse, score
from nlu_repair.rows import labels, rows, wanted


class RepairData(vf.TaskData):
    """One example; `id` is its key in the release."""

    answer: str
    """The right reply."""
    domain: str | None = None
    locale: str | None = None
    kind: str
    support: int
    confidence: float
    solve_rate: float | None = None


class RepairTask(vf.Task[RepairData]):
    """Say what the user means, as JSON."""

    @property
    def key(self) -> str:
        """The example id: unique over splits and shards, and the same wherever the task stands."""
        return str(self.data.id)

    @vf.reward(weight=1.0)
    async def interpretation_match(self, trace: vf.Trace) -> float:
        """1.0 for the right meaning, less for a part of it."""
        return score(trace.last_reply, self.data.answer)

    @vf.metric
    async def exact(self, trace: vf.Trace) -> float:
        """Whether the meaning is right."""
        return float(parse(trace.last_reply) == parse(self.data.answer))

    @vf.metric
    async def parsed(self, trace: vf.Trace) -> float:
        """Whether the reply is of the form that was asked for."""
        return float(parse(trace.last_reply) is not None)

    async def validate(self, runtime: vf.Runtime) -> bool:
        """Whether the answer itself earns all."""
        return score(self.data.answer, self.data.answer) == 1.0


class NluRepairConfig(vf.TasksetConfig):
    """Which examples are tasks, under `--env.taskset.*`. A null solve rate is unknown, and passes `unknown_rate`."""

    path: Path | None = None
    """A release, its rl/data, or a file of either form. Wanted."""
    split: str = "train"
    """train or test."""
    min_solve_rate: float = 0.0
    """Least share of the logged turns in which the system had acted on the answer."""
    max_solve_rate: float = 1.0
    """Most of it: below 1 leaves out what the logged system always got right."""
    unknown_rate: bool = True
    """Whether to keep examples of which the rate is not known."""
    min_confidence: float = 0.0
    """Least mean probability of the answer."""
    min_support: int = 1
    """Least number of distinct users behind it."""
    domains: list[str] = Field(default_factory=list)
    """Only these domains; empty = all."""
    labels: bool = False
    """Whether the system prompt lists the domains, intents and slots that train has. False = the row's own prompt."""


class NluRepairTaskset(vf.Taskset[RepairTask, NluRepairConfig]):
    """Examples of the `rl` view, filtered by what the release knows of their difficulty."""

    def load(self) -> Iterator[RepairTask]:
        """The tasks in the order of the files.

        Raises
        ------
        ValueError
            If no path was given, or an example stands twice.
        """
        if self.config.path is None:
            raise ValueError("give --env.taskset.path: a release, its rl/data, or a file")
        seen: set[str] = set()
        known = labels(self.config.path) if self.config.labels else None
        for row in rows(self.config.path, self.config.split):
            if row["key"] in seen:
                raise ValueError(f"{self.config.path}: key {row['key']} stands twice")
            seen.add(row["key"])
            if wanted(row, self.config):
                yield RepairTask(_data(row, known), self.config.task)


def _data(row: dict[str, Any], known: str | None) -> RepairData:
    said = {message["role"]: message["content"] for message in row["prompt"]}
    own = {name: row[name] for name in ("answer", "domain", "locale", "kind", "support", "confidence", "solve_rate")}
    system = "\n\n".join(text for text in (said.get("system"), known) if text) or None
    return RepairData(id=row["key"], prompt=said["user"], system_prompt=system, **own)
