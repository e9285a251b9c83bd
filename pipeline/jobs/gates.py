"""The gates, at the start of stage release: exact counts first, then samples of rows, then each domain.

A gate on the whole that fails ends the run before anything is written. One that a domain fails quarantines the domain;
pipeline/gates/quarantine.py says what that means and in which form it is told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import apache_beam as beam
import pyarrow as pa

from pipeline import manifest as manifests
from pipeline import storage, tally
from pipeline.gates import drift
from pipeline.gates.counts import by_domain, by_outcome, closes
from pipeline.gates.evaluate import Library, evaluate
from pipeline.gates.pages import write_pages
from pipeline.gates.quarantine import counted, enforce, left, quarantined, reason
from pipeline.gates.summary import domain_summary, stage_summary
from pipeline.jobs.context import Context, write_counts
from pipeline.jobs.label import profile_path
from pipeline.jobs.settle import settle
from pipeline.transforms.gates import COUNTS, SAMPLINGS, CountRows, SampleRows, WriteLowest, highest_hash
from pipeline.writers.sampled import sampled_rows, view_sample
from schemas import COUNT
from schemas.expectations import DOMAINS, EXAMPLES, JUDGEMENTS, SIGNALS, STAGES, STAGES_SUMMED, TURNS, VIEWS, Suite

GATES_FILE: Final = "gates.json"
PAGES: Final = "data_docs"
# The table of each stage that has a row for each one kept.
_TABLES: Final = {
    "ingest": ("turns", "turns"),
    "signals": ("signals", "signals"),
    "label": ("judgements", "judgements"),
    "curate": ("examples", "examples"),
}


@dataclass(frozen=True)
class Passed:
    """What the gates let through.

    Attributes
    ----------
    gates : list of dict
        Gate rows, for the manifest and gates.json.
    quarantine : dict
        `domains` and `carried_from`; see pipeline/gates/quarantine.py.
    examples : str
        Folder of the examples to release.
    rows : int
        How many there are.
    """

    gates: list[dict[str, Any]]
    quarantine: dict[str, Any]
    examples: str
    rows: int


def run(context: Context, config: dict[str, Any], parent: str | None, library: Library) -> Passed:
    """Check what the stages left behind, and settle which examples are released.

    Parameters
    ----------
    context : Context
    config : dict
        What each stage was run with, and this one.
    parent : str or None
        Release id of the parent.
    library : Library
        See `pages`.

    Raises
    ------
    GateError
        If a gate on the whole fails, or one cannot be evaluated.
    VerifyError
        If the parent's files, needed for a quarantined domain, are not what its manifest lists.
    """
    tally.say("checking the gates")
    gates, summary = _check(context, config, parent, library)
    domains = quarantined(gates, summary)
    tally.say("")
    released, carried_from = settle(context, config, tuple(domains), parent)
    told = context.workspace.counts("release")
    outcomes = by_outcome(told)
    gates.append(left(domains, outcomes))
    gates.append(closes("release", told, context.workspace.facts("curate")["kept"]))
    domains = counted(domains, told)
    for name, entry in domains.items():
        context.progress.note(
            f"release: quarantined {reason(name, entry)}: {entry['withheld']:,} new example(s) left out, "
            f"{entry['carried']:,} carried over; {entry['advice']}"
        )
    rows = outcomes.get("kept", 0) + outcomes.get("carried", 0)
    return Passed(gates, {"domains": domains, "carried_from": carried_from}, released, rows)


def _check(
    context: Context, config: dict[str, Any], parent: str | None, library: Library
) -> tuple[list[dict[str, Any]], pa.Table]:
    """Gate rows and DOMAIN_SUMMARY rows. Rows of a suite are looked at after the counts are known to be true."""
    workspace = context.workspace
    told = {stage: workspace.counts(stage) for stage in STAGES_SUMMED}
    kept = {_TABLES[stage][0]: by_outcome(told[stage], closing=True).get("kept", 0) for stage in STAGES_SUMMED}
    wished = config["gates"]["sample_rows"]
    found = _sample(context, kept, wished)
    records = sum(f["records"] for f in workspace.facts("ingest")["inputs"])
    moved = drift.shifts(_profile(context), _before(context, parent), config["gates"]["min_drift_turns"])
    domains = domain_summary(told["label"], told["curate"], config["gates"]["min_domain_turns"], moved)
    written = {stage: found.get(_TABLES[stage][0], 0) for stage in STAGES_SUMMED}
    tables = [
        (STAGES, stage_summary(told, records, written)),
        *((suite, _read_sample(context, suite.name)) for suite in (TURNS, SIGNALS, JUDGEMENTS, EXAMPLES)),
        (DOMAINS, domains),
    ]
    rows = {name: min(n, wished) for name, n in kept.items()}
    settings = config | {"rows": rows | {"stages": len(STAGES_SUMMED), "judgements_all": kept["judgements"]}}
    return _evaluate(context, tables, settings, library), domains


@contextmanager
def pages(context: Context) -> Iterator[Library]:
    """The library that gates are evaluated with; what it found is written as pages with the run, whatever ends it."""
    with TemporaryDirectory(prefix="afterword-pages-") as folder:
        library = Library(folder)
        try:
            yield library
        finally:
            _keep_pages(context, library, Path(folder))


def _keep_pages(context: Context, library: Library, folder: Path) -> None:
    """Write the pages; what they are of is worth more than they are."""
    try:
        write_pages(library, folder, storage.join(context.run_folder, PAGES))
    except Exception as error:
        context.progress.note(f"the pages of the gates were not written ({type(error).__name__})")


def check_views(
    context: Context, config: Mapping[str, Any], files: list[dict[str, Any]], library: Library | None = None
) -> list[dict[str, Any]]:
    """Gate rows of the views, as they lie in the stage's folder.

    Raises
    ------
    GateError
        If one does not hold.
    """
    folder = context.workspace.table("release", "files")
    wished = config["gates"]["sample_rows"]
    settings = {**config, "rows": {"views": sampled_rows(files, wished)}}
    return _evaluate(context, [(VIEWS, view_sample(folder, files, wished))], settings, library or Library())


def _evaluate(
    context: Context, tables: list[tuple[Suite, pa.Table]], settings: Mapping[str, Any], library: Library
) -> list[dict[str, Any]]:
    """Gate rows of suites; the first that fails on the whole is the last."""
    gates: list[dict[str, Any]] = []
    path = storage.join(context.workspace.stage("release"), GATES_FILE)
    for suite, table in tables:
        gates += evaluate(suite, table, settings, library)
        storage.write_bytes(path, storage.readable_json(library.rows))
        enforce(gates)
    return gates


def profile(context: Context, parent: str | None, quarantined: Collection[str], min_turns: int) -> drift.Profile:
    """What the log is like, for the next release to be held against: see `pipeline.gates.drift.baseline`."""
    return drift.baseline(_profile(context), _before(context, parent), quarantined, min_turns)


def _profile(context: Context) -> drift.Profile:
    counted = by_domain(context.workspace.counts("label"))
    return drift.profile(storage.read_table(profile_path(context.workspace), COUNT.schema), counted)


def _before(context: Context, parent: str | None) -> drift.Profile:
    """The parent's profile; empty without one, or where it does not say how it was."""
    if parent is None:
        return {}
    held: drift.Profile = manifests.read(storage.join(context.workspace.out, "releases", parent)).get("profile", {})
    return held


def _sample(context: Context, kept: dict[str, int], wished: int) -> dict[str, int]:
    """Write the samples; gives the rows of each table as they were found."""
    workspace = context.workspace
    path = storage.join(workspace.table("release", "gates"), "rows.parquet")

    def build(pipeline: beam.Pipeline) -> None:
        told = []
        for stage, (name, table) in _TABLES.items():
            folder, listed = workspace.table(stage, table), workspace.buckets(stage, table)
            buckets = pipeline | f"Buckets {name}" >> beam.Create(listed, reshuffle=True)
            if name not in SAMPLINGS:
                told.append(buckets | f"Count {name}" >> beam.ParDo(CountRows(name, folder)))
                continue
            read = SampleRows(name, folder, highest_hash(kept[name], wished), context.threads)
            sampled = buckets | f"Sample {name}" >> beam.ParDo(read).with_outputs(COUNTS, main="rows")
            record = SAMPLINGS[name].sample
            _ = sampled.rows | f"Write {name}" >> WriteLowest(_sample_path(context, name), record, wished)
            told.append(sampled[COUNTS])
        write_counts(told | beam.Flatten(), path)

    context.run(build)
    return by_outcome(storage.read_table(path, COUNT.schema))


def _sample_path(context: Context, name: str) -> str:
    return storage.join(context.workspace.table("release", "gates"), f"{name}.parquet")


def _read_sample(context: Context, name: str) -> Any:
    return storage.read_table(_sample_path(context, name), SAMPLINGS[name].sample.schema)
