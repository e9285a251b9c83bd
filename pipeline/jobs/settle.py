"""Which examples are released: those of stage curate, or where a domain is quarantined the others and what the parent
release has of it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import apache_beam as beam
import pyarrow as pa

from features.hashing import pseudonyms, strings
from pipeline import manifest as manifests
from pipeline import storage
from pipeline.checks import names
from pipeline.curation.carried import HoldCarried, Places
from pipeline.curation.near import near_options
from pipeline.curation.passes import apply, local_passes
from pipeline.curation.shuffling import Shuffling
from pipeline.errors import VerifyError
from pipeline.filters.opt_out import read_opt_outs
from pipeline.gates.counts import by_outcome
from pipeline.jobs.beside import ontology_of
from pipeline.jobs.context import Context, numbers, write_counts
from pipeline.jobs.curate import known_pass
from pipeline.transforms.counts import add_up, counts
from pipeline.transforms.quarantine import CarryOptions, Quarantine
from pipeline.writers.licences import LICENCE, NO_LICENCE
from schemas import COUNT, EXAMPLE

# Counts of what a stage hands on, which are those of the release where it releases the same.
_OF_EXAMPLES: Final = ("examples.", "view_rows.", "bytes.", LICENCE, NO_LICENCE)


def settle(
    context: Context, config: dict[str, Any], domains: tuple[str, ...], parent: str | None
) -> tuple[str, str | None]:
    """The folder of examples to release, and the release that some are carried over from. Writes the stage's counts."""
    workspace = context.workspace
    source = workspace.table("curate", "examples")
    if not domains:
        _write_unchanged(context)
        return source, None
    folder, held = workspace.table("release", "examples"), workspace.table("release", "carried")
    files, same_split = _lineage(context, config, parent)
    carry = _carry_options(context, config["curate"], domains, same_split)
    buckets, mode, parts = workspace.facts("ingest")["buckets"], context.shuffle_mode, [_counts_of(context, "settled")]
    quarantine = Quarantine(source, folder, held, carry, buckets, mode, workspace.spill("release"))

    def build(pipeline: beam.Pipeline) -> None:
        listed = numbers(pipeline, workspace.buckets("curate", "examples"))
        carried = pipeline | "Parent" >> beam.Create(files, reshuffle=True)
        write_counts((listed, carried) | quarantine, parts[0])

    context.run(build)
    storage.remove(workspace.spill("release"))
    if workspace.bucket_numbers(held):
        parts.append(_hold_carried(context, config["curate"], Places(folder, held, buckets), domains))
    summed = add_up([storage.read_table(path, COUNT.schema) for path in parts])
    storage.write_record(workspace.counts_file("release"), summed, COUNT)
    return folder, parent if files else None


def _carry_options(
    context: Context, curate: dict[str, Any], domains: tuple[str, ...], same_split: bool
) -> CarryOptions:
    """What an example of the parent needs, by this run's options."""
    options = context.config
    opted_out = (
        read_opt_outs(options.filters.opt_out)[0].users if options.filters.opt_out else pa.array([], pa.string())
    )
    return CarryOptions(
        domains,
        curate["min_users"],
        curate["min_agreement"],
        same_split,
        tuple(pseudonyms(strings(opted_out))),
        None if curate["licences"] is None else names(curate["licences"]),
        ontology_of(context.workspace),
        partial(apply, passes=(*known_pass(context.workspace), *local_passes(options.curate))),
    )


def _hold_carried(context: Context, curate: dict[str, Any], places: Places, domains: tuple[str, ...]) -> str:
    """Hold carried examples against the new ones; gives the file of their counts."""
    workspace, path = context.workspace, _counts_of(context, "carried")
    listed = workspace.bucket_numbers(places.new)
    listed += [places.first_carried + number for number in workspace.bucket_numbers(places.carried)]
    shuffling = Shuffling(places.first_carried, context.shuffle_mode, workspace.spill("release"), context.threads)
    near = near_options(curate, by_outcome(workspace.counts("curate")).get("pooled", 0))
    hold = HoldCarried(places, near, domains, shuffling)

    def build(pipeline: beam.Pipeline) -> None:
        write_counts(numbers(pipeline, listed) | hold, path)

    context.run(build)
    storage.remove(workspace.spill("release"))
    return path


def _counts_of(context: Context, part: str) -> str:
    return storage.join(context.workspace.table("release", "counts"), f"{part}.parquet")


def _write_unchanged(context: Context) -> None:
    """Counts of a release without quarantine: all that curate handed on is kept."""
    workspace = context.workspace
    made = workspace.counts("curate")
    kept = by_outcome(made, closing=True).get("kept", 0)
    detail = {k: n for k, n in by_outcome(made).items() if k.startswith(_OF_EXAMPLES)}
    table = counts("release", {"in": kept, "kept": kept, "quarantined": 0}, detail)
    storage.write_record(workspace.counts_file("release"), table, COUNT)


def _lineage(context: Context, config: dict[str, Any], parent: str | None) -> tuple[list[str], bool]:
    """Lineage files of the parent, and whether it split its users as this run does."""
    if parent is None:
        return [], True
    folder = storage.join(context.workspace.out, "releases", parent)
    manifest = manifests.read(folder)
    files = {storage.join(folder, p): f for p, f in manifest["files"].items() if p.startswith("lineage/data/")}
    if any(f["schema"] != EXAMPLE.digest for f in files.values()):
        context.progress.note(
            f"release: nothing is carried over from {parent[:12]}: its examples have another schema than this code's"
        )
        return [], True
    for path, facts in files.items():
        if not storage.exists(path) or storage.sha256(storage.read_bytes(path)) != facts["sha256"]:
            raise VerifyError(
                f"{path}: not the file that its release lists, and examples of it are to be carried over. Put that "
                f"release back as it was (`afterword verify {folder}` tells what is wrong), or remove it"
            )
    return sorted(files), manifest["identity"]["config"]["curate"]["test_share"] == config["curate"]["test_share"]
