"""The main job: every stage in turn; the last one proves the release before it is published."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from typing import Any

from pipeline import manifest as manifests
from pipeline import metrics, storage
from pipeline.completeness.ready import Wanted
from pipeline.curation.training_files import read_training_set
from pipeline.errors import StageError, told
from pipeline.events import Events
from pipeline.gates.counts import by_domain, by_outcome
from pipeline.jobs import curate, datasets, ingest, label, release, signals, train
from pipeline.jobs.belongs import belongs
from pipeline.jobs.beside import Beside, read_beside
from pipeline.jobs.context import Context
from pipeline.stages import STAGES
from pipeline.tail.takeover import take_over
from pipeline.version import code_version
from pipeline.writers.views import VIEWS


def run(
    context: Context,
    pattern: str | None,
    format: str | None,
    first: str = "ingest",
    gold: tuple[str, ...] = (),
    wanted: Wanted | None = None,
) -> dict[str, Any]:
    """Run the stages from `first` on.

    Parameters
    ----------
    context : Context
    pattern, format : str or None
        Input and its format; needed where `first` is ingest.
    first : str
        Stage to begin with; what earlier ones left in the output folder is used.
    gold : tuple of str
        Files, folders or globs of labels, for stage ingest.
    wanted : Wanted or None
        What the input has to hold to be whole, for stage ingest.

    Raises
    ------
    ConfigError
        If a file that an option names cannot be right; nothing was begun.
    StageError
        If one of stage ingest has changed since, and `first` is a later stage; or sessions that the release before left
        open would be judged by no run.

    Returns
    -------
    dict
        What the closing table shows, also kept as `<out>/runs/<run_id>/run.json`; a run that fails leaves the stage
        and the error there.
    """
    begun = datetime.now(UTC)
    context.progress.log.begin(context.run_id, context.run_folder)
    events = Events(context.run_folder, context.config.events, context.progress.note)
    _prove_files(context, first)
    taken = take_over(context.workspace.out, context.config) if first == "ingest" else None
    steps: dict[str, Callable[[], object]] = {
        "ingest": lambda: ingest.run(context, pattern or "", format or "", gold, wanted),
        "signals": lambda: signals.run(context),
        "train": lambda: train.run(context),
        "label": lambda: label.run(context),
        "curate": lambda: curate.run(context),
        "release": lambda: release.run(context),
    }
    read = datasets.log_of(pattern, gold, taken)
    with events.run(read) as wrote:
        for stage in STAGES[STAGES.index(first) :]:
            try:
                with context.progress.stage(stage), datasets.told(context, events, stage, read):
                    steps[stage]()
                context.keep_options(stage)
            except BaseException as error:
                _record(context, begun, {"failed": stage, "error": told(error)})
                raise
        release_id = context.workspace.facts("release")["release_id"]
        folder = storage.join(context.workspace.out, "releases", release_id)
        wrote += datasets.release_of(context)
    result = summary(context, folder)
    _record(context, begun, result)
    return result


def _prove_files(context: Context, first: str) -> None:
    """Read the files that options name before hours of work, as an error in them ends it."""
    options, beside = context.config.curate, read_beside(context.config)
    if first != "ingest":
        _unchanged(context, beside, first)
        belongs(context)
    if options.training_set and STAGES.index(first) <= STAGES.index("curate"):
        read_training_set(options.training_set)


def _unchanged(context: Context, beside: Beside, first: str) -> None:
    """The files that stage ingest read are those that it would read now, as far as they are named now."""
    held = {(g["option"], g["sha256"]) for g in context.workspace.facts("ingest").get("given", [])}
    changed = [given.where for given in beside.files if (given.option, given.sha256) not in held]
    if changed:
        raise StageError(
            f"{', '.join(changed)}: not what the turns in {context.workspace.stage('ingest')} were read with; run from "
            f"ingest, not --from {first}"
        )


def summary(context: Context, folder: str) -> dict[str, Any]:
    """The figures of the closing table."""
    workspace = context.workspace
    counts = {stage: workspace.counts(stage) for stage in ("ingest", "signals", "label", "curate", "release")}
    files = storage.files(folder, "*/data/*.parquet")
    found = {f.rsplit("/data/", 1)[0].rsplit("/", 1)[-1] for f in files}
    views = [*(v for v in VIEWS if v in found), *sorted(found - set(VIEWS))]
    return {
        "release": folder,
        "release_id": workspace.facts("release")["release_id"],
        "before": workspace.facts("release").get("before"),
        "counts": {stage: by_outcome(table) for stage, table in counts.items()},
        "domains": by_domain(counts["label"]),
        "thresholds": {k: workspace.facts("train")[k] for k in ("threshold", "tau")},
        "labels": workspace.facts("train")["report"]["labels"],
        "training": workspace.facts("train")["report"],
        "shards": {v: sum(f"/{v}/data/" in f for f in files) for v in views},
        "left_out": workspace.facts("ingest")["left_out"],
        "complete": workspace.facts("ingest").get("complete"),
        "made_of": manifests.read(folder).get("made_of"),
        "proofs": workspace.facts("release")["proofs"],
        "quarantined": workspace.facts("release")["quarantined"],
    }


def _record(context: Context, begun: datetime, result: dict[str, Any]) -> None:
    """All that carries a clock, outside the release."""
    ended = datetime.now(UTC)
    took = metrics.took(context, result.get("failed"))
    facts = {
        "run_id": context.run_id,
        "begun": begun.isoformat(),
        "ended": ended.isoformat(),
        "code": code_version(),
        "seconds": {stage: round(seconds, 3) for stage, (seconds, _) in took.items()},
        "rows": {stage: rows for stage, (_, rows) in took.items()},
        "result": result,
    }
    path = storage.join(context.run_folder, "run.json")
    # What stopped the run may keep this from being written too; the first error is the one to tell.
    with suppress(OSError) if "failed" in result else nullcontext():
        storage.write_bytes(path, storage.readable_json(facts))
    # The release stands by now, or has failed for its own reason: a folder that cannot be written changes neither.
    try:
        metrics.write(context, ended, result.get("failed"))
    except OSError as error:
        context.progress.note(f"events.metrics {context.config.events.metrics}: {error.strerror or error}")
