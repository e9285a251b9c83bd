"""The figures of a run for Prometheus, in a file that node_exporter's textfile collector reads."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from pipeline import storage
from pipeline.errors import StageError
from pipeline.exposition import Family, render
from pipeline.gates.counts import by_domain, by_outcome
from pipeline.stages import STAGES
from pipeline.writers.licences import LICENCE
from pipeline.writers.views import rows_by_split

if TYPE_CHECKING:
    from pipeline.jobs.context import Context

# A label of many values is a series each: of more domains, those with the most turns have their own.
DOMAINS: Final = 50
OTHER: Final = "(other)"
# Outcomes that are no rows of their stage, but bytes; and what would be a series for each release that judged turns and
# each licence of examples.
_NOT_TOLD: Final = ("bytes.", "revised.", LICENCE)


def write(context: Context, ended: datetime, failed: str | None) -> None:
    """Write `events.metrics`, whole or not at all; nothing where it names no file.

    Parameters
    ----------
    context : Context
    ended : datetime
    failed : str or None
        The stage that failed. Counts of the stages before it are told, also of those that an earlier command ran; its
        own are not.
    """
    if context.config.events.metrics is not None:
        data = render(families(context, ended, failed)).encode("utf-8")
        storage.write_bytes(context.config.events.metrics, data)


def took(context: Context, failed: str | None) -> dict[str, tuple[float, int]]:
    """Seconds and rows of each stage of a run up to one that failed, by whichever of its commands ran it last."""
    progress, log = context.progress, context.progress.log
    held = log.finished() | {stage: (each, progress.rows[stage]) for stage, each in progress.seconds.items()}
    return {stage: held[stage] for stage in _upto(failed) if stage in held}


def families(context: Context, ended: datetime, failed: str | None) -> list[Family]:
    """The metrics of a run."""
    progress = context.progress
    seconds = Family("afterword_stage_seconds", "Seconds that a stage of the last run took.")
    for stage, (each, _) in took(context, failed).items():
        seconds.add(round(each, 3), stage=stage)
    counts = {stage: context.workspace.counts(stage) for stage in _held(context, failed)}
    rows = Family("afterword_stage_rows", "Rows of a stage of the last run by what became of them.")
    for stage, table in counts.items():
        for outcome, n in by_outcome(table).items():
            if not outcome.startswith(_NOT_TOLD):
                rows.add(n, stage=stage, outcome=outcome)
    success = Family("afterword_run_success", "Whether the last run ended well: 1, or 0 where a stage failed.")
    success.add(int(failed is None))
    stamp = Family("afterword_run_timestamp_seconds", "When the last run ended, in seconds since 1970, UTC.")
    stamp.add(round(ended.timestamp(), 3))
    return [
        success,
        stamp,
        seconds,
        rows,
        *_buckets(progress.buckets),
        *_domains(by_domain(counts["label"]) if "label" in counts else {}),
        *(_examples(by_outcome(counts["release"])) if "release" in counts else []),
    ]


def _held(context: Context, failed: str | None) -> list[str]:
    """Stages before one that failed that the work area holds, made from each other; train counts nothing."""
    held = []
    for stage in _upto(failed):
        with suppress(StageError):
            context.workspace.agree(stage)
            held.append(stage)
    return [stage for stage in held if stage not in ("train", failed)]


def _upto(failed: str | None) -> tuple[str, ...]:
    return STAGES[: STAGES.index(failed) + 1] if failed else STAGES


def _buckets(held: dict[str, dict[str, int]]) -> list[Family]:
    """The largest bucket that a stage's shuffle made: what its workers' memory goes by."""
    told = []
    for name, unit in (("rows", "Rows"), ("bytes", "Bytes in memory")):
        family = Family(f"afterword_stage_bucket_max_{name}", f"{unit} of the largest bucket of a stage's shuffles.")
        for stage, largest in held.items():
            if f"bucket_{name}" in largest:
                family.add(largest[f"bucket_{name}"], stage=stage)
        told.append(family)
    return told


def _domains(domains: dict[str, dict[str, int]]) -> list[Family]:
    """Turns and share of defects; domains beyond the first ones are put together."""
    turns = Family("afterword_turns", "Turns of the last run by domain.")
    share = Family("afterword_defect_share", "Share of a domain's turns that the last run judged defective.")
    ordered = sorted(domains.items(), key=lambda d: (-d[1].get("turns", 0), d[0]))
    rest: dict[str, Any] = {}
    for _, row in ordered[DOMAINS:]:
        rest = {k: rest.get(k, 0) + row.get(k, 0) for k in ("turns", "defects")}
    for name, row in [*ordered[:DOMAINS], *([(OTHER, rest)] if rest else [])]:
        n = row.get("turns", 0)
        turns.add(n, domain=name)
        if n:
            share.add(round(row.get("defects", 0) / n, 6), domain=name)
    return [turns, share]


def _examples(outcomes: dict[str, int]) -> list[Family]:
    """Examples by split and kind, and the rows of the views by split."""
    examples = Family("afterword_release_examples", "Examples of the last release by split and kind.")
    for outcome, n in outcomes.items():
        name, *labels = outcome.split(".")
        if name == "examples" and len(labels) == 2:
            examples.add(n, split=labels[0], kind=labels[1])
    rows = Family("afterword_release_view_rows", "Rows of the last release's views by split.")
    for (split, view), n in rows_by_split(outcomes).items():
        if n:
            rows.add(n, split=split, view=view)
    return [examples, rows]
