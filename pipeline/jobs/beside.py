"""Files beside the log that decide what of it is learned from: read at stage ingest, and kept with its tables."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from pipeline import storage
from pipeline.checks import parse_time
from pipeline.errors import StageError
from pipeline.filters.opt_out import OptOuts, read_opt_outs
from pipeline.filters.rules import Rule, own_rules, read_filters, read_incidents
from pipeline.given import Given, table_of
from pipeline.gold import GoldFiles
from pipeline.ontology.govern import with_names_now
from pipeline.ontology.labels import Ontology
from pipeline.ontology.parse import parse, read_ontology
from pipeline.options import Config
from pipeline.progress import Progress
from pipeline.workspace import Workspace
from schemas import EXPIRED, RENAMED

_ONTOLOGY: Final = "ontology.json"
_RENAMED: Final = "renamed.parquet"


@dataclass(frozen=True)
class Beside:
    """What the files say.

    Attributes
    ----------
    ontology : Ontology or None
    opt_outs : OptOuts or None
    rules : tuple of Rule
        Consent and expiry, then incidents, then filters, each in the order of its file: they are asked in this order.
    files : tuple of Given
    """

    ontology: Ontology | None = None
    opt_outs: OptOuts | None = None
    rules: tuple[Rule, ...] = ()
    files: tuple[Given, ...] = field(default=(), repr=False)

    @property
    def facts(self) -> list[dict[str, Any]]:
        """The files by content, for the release's identity."""
        return [given.facts() for given in self.files]


def read_beside(config: Config) -> Beside:
    """Read the files that sections `ontology` and `filters` name.

    Raises
    ------
    ConfigError
        If one cannot be right.
    """
    files: list[Given] = []
    end = config.release.interval_end
    rules = own_rules(config.filters.require_consent, None if end is None else parse_time(end, "release.interval_end"))
    ontology, opt_outs = None, None
    if config.ontology.file:
        ontology, given = read_ontology(config.ontology.file)
        files.append(given)
    if config.filters.opt_out:
        opt_outs, given = read_opt_outs(config.filters.opt_out)
        files.append(given)
    for path, read in ((config.filters.incidents, read_incidents), (config.filters.file, read_filters)):
        if path:
            found, given = read(path)
            rules += found
            files.append(given)
    return Beside(ontology, opt_outs, tuple(rules), tuple(files))


def keep_ontology(workspace: Workspace, beside: Beside) -> None:
    """Keep the ontology beside the turns that were put under it."""
    for given in beside.files:
        if given.option == "ontology.file":
            storage.write_bytes(
                storage.join(workspace.stage("ingest"), _ONTOLOGY), storage.readable_json(table_of(given))
            )


def ontology_of(workspace: Workspace) -> Ontology | None:
    """The ontology that the turns of stage ingest are under; None where there is none.

    Raises
    ------
    StageError
        If the turns are under one that is not there any more.
    """
    path = storage.join(workspace.stage("ingest"), _ONTOLOGY)
    if storage.exists(path):
        return parse(json.loads(storage.read_bytes(path)), path)
    if workspace.facts("ingest")["config"].get("ontology", {}).get("file") is not None:
        raise StageError(f"{path}: the ontology of the turns is gone; run `afterword ingest` and what follows it again")
    return None


def labelled(ontology: Ontology | None, *gold: pa.Table) -> pa.Array | None:
    """Turns whose candidates labels of people name, where the ontology may give these other ids; None = none."""
    if ontology is None:
        return None
    ids = pc.unique(pa.concat_arrays([flat(t["turn_id"].filter(t["candidate_id"].is_valid())) for t in gold]))
    return ids if len(ids) else None


def renamed_path(workspace: Workspace) -> str:
    """Where stage ingest keeps its RENAMED rows."""
    return storage.join(workspace.stage("ingest"), _RENAMED)


def under_names_now(workspace: Workspace, labels: GoldFiles) -> GoldFiles:
    """Labels of files, those of candidates that stage ingest renamed under the ids that they have now."""
    path = renamed_path(workspace)
    if not storage.exists(path):
        return labels
    return replace(labels, table=with_names_now(labels.table, storage.read_table(path, RENAMED.schema)))


def tell(progress: Progress, beside: Beside, outcomes: dict[str, int]) -> None:
    """Say what the files did to the turns."""
    if beside.opt_outs is not None:
        n = outcomes.get("opted_out", 0)
        progress.note(
            f"ingest: {n:,} turn(s) of the {len(beside.opt_outs.users):,} users of filters.opt_out were dropped"
            + ("" if n else "; are the ids those of the log?")
        )
    for name, why in {rule.name: rule.why for rule in reversed(beside.rules)}.items():
        n = outcomes.get(f"excluded.{name}", 0)
        # Most logs have no turn that expires, and were not asked about it.
        if name == EXPIRED and not n:
            continue
        progress.note(f"ingest: {n:,} turn(s) are kept out of learning by {name}{f' ({why})' if why else ''}")
    told = {
        "labels_renamed": "interpretation(s) have their new names",
        "labels_dropped": "interpretation(s) left the n-best lists, as they are no label of the ontology",
        "labels_history": "interpretation(s) that are no label any more stay as history, and are never learned",
    }
    for key, text in told.items():
        by = {k.partition(".")[2]: n for k, n in outcomes.items() if k.partition(".")[0] == key}
        if n := sum(by.values()):
            parts = ", ".join(f"{rows:,} {name}" for name, rows in sorted(by.items()) if name)
            progress.note(f"ingest: {n:,} {text}{f' ({parts})' if parts else ''}")
