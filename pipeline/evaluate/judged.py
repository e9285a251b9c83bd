"""Judgements and corrections of labelled turns: as a release has them, or made anew by a model file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from models.fitted import Models
from models.judge import judge
from models.store import ModelFileError, loads
from models.thresholds import Thresholds
from models.training_table import earlier_rows, wrong_gold
from pipeline import storage
from pipeline.errors import InputError, StageError
from pipeline.explain.release import Release
from pipeline.explain.tables import StageTables
from pipeline.jobs.train import audited, labels
from pipeline.workspace import Workspace
from schemas import CORRECTION, JUDGEMENT, SIGNALS

I64 = npt.NDArray[np.int64]
Pair = tuple[pa.Table, pa.Table]
# Columns that are asked for; a run's tables are large.
_JUDGED = ("turn_id", "domain", "p_defect", "is_defect")
_CORRECTED = ("turn_id", "candidate_id", "p_correct", "accepted", "source")


@dataclass(frozen=True)
class Judged:
    """What is held against the labels.

    Attributes
    ----------
    judgements, corrections : pyarrow.Table
        Of labelled turns, in the columns that are asked for.
    turns : int
        All turns of the run.
    learned : pyarrow.Array
        Ids of labelled turns that the model was fitted on.
    told : dict
        What judged: release or model file, ids, thresholds.
    """

    judgements: pa.Table
    corrections: pa.Table
    turns: int
    learned: pa.Array
    told: dict[str, object]


def release_told(release: Release) -> dict[str, object]:
    """What judged, of a release."""
    return {
        "release_id": release.id,
        "models": release.manifest["identity"]["models"],
        "thresholds": release.manifest["thresholds"],
        "training": release.manifest["training"],
    }


def of_release(out: str, release: Release, labelled: pa.Array) -> Judged:
    """Judgements of the release whose stages lie in an output folder.

    Raises
    ------
    StageError
        If the stages are those of another release.
    """
    tables = StageTables(Workspace(out))
    if reason := tables.mismatch(release.id):
        raise StageError(
            f"a release holds no judgements; those of {release.id[:12]} are wanted in the stages, but {reason}. "
            "Run it again, or give --model with its models.json"
        )

    def pair(bucket: int, rows: I64) -> Pair:
        judgements = tables.read("judgements", bucket, rows)
        return judgements, tables.corrections(bucket, judgements["turn_id"])

    return _gather(tables, labelled, pair, release_told(release), _fitted(tables.workspace, labelled))


def of_model(out: str, path: str, labelled: pa.Array) -> Judged:
    """Judgements that a model file makes of the run's signals.

    Raises
    ------
    InputError
        If it is not a model file of this code.
    """
    if not storage.exists(path):
        raise InputError(f"--model {path}: no such file; stage train writes models.json")
    data = storage.read_bytes(path)
    try:
        models = loads(data)
    except ModelFileError as error:
        raise InputError(f"--model {path}: {error}") from None
    workspace = Workspace(out)
    workspace.agree("signals")
    tables = StageTables(workspace)
    own = _is_stages_own(workspace, storage.sha256(data))
    told = {
        "models": {"file": storage.sha256(data), "defect": models.defect_id, "correction": models.correction_id},
        "thresholds": {"defect": _threshold(models.threshold), "correction": _threshold(models.tau)},
        "training": models.report,
    }
    learned = _fitted(workspace, labelled) if own else pa.array([], pa.string())
    # Of a model of another run it is not known whom it has seen.
    told["learned_known"] = own
    return _gather(tables, labelled, _judging(tables, models), told, learned)


def _threshold(held: Thresholds) -> dict[str, object]:
    """The pooled threshold, with those of domains, as a manifest has them."""
    return {"value": held.pooled.value, "domains": {name: {"value": t.value} for name, t in held.domains.items()}}


def _judging(tables: StageTables, models: Models) -> Callable[[int, I64], Pair]:
    def pair(bucket: int, rows: I64) -> Pair:
        session = tables.column("signals", bucket, "session_id").dictionary_encode().indices.to_numpy()
        # Whole sessions: what supports a candidate may be a later turn.
        whole = np.flatnonzero(np.isin(session, session[rows]))
        signals = tables.read("signals", bucket, whole).combine_chunks()
        judgements, corrections = judge(tables.read("turns", bucket, whole), signals, models)
        wanted = judgements["turn_id"].take(np.searchsorted(whole, rows)).combine_chunks()
        first, second = (t.filter(pc.is_in(t["turn_id"], value_set=wanted)) for t in (judgements, corrections))
        return first, second

    return pair


def _gather(
    tables: StageTables,
    labelled: pa.Array,
    pair: Callable[[int, I64], Pair],
    told: dict[str, object],
    learned: pa.Array,
) -> Judged:
    parts, turns = [(JUDGEMENT.empty().select(_JUDGED), CORRECTION.empty().select(_CORRECTED))], 0
    for bucket, rows, size in _labelled(tables, labelled):
        turns += size
        if len(rows):
            judgements, corrections = pair(bucket, rows)
            parts.append((judgements.select(_JUDGED), corrections.select(_CORRECTED)))
    judgements, corrections = (pa.concat_tables([p[k] for p in parts]).combine_chunks() for k in (0, 1))
    return Judged(judgements, corrections, turns, learned, told)


def _labelled(tables: StageTables, labelled: pa.Array) -> Iterator[tuple[int, I64, int]]:
    """Bucket, rows of labelled turns, and all its turns."""
    for bucket in tables.buckets:
        turn_ids = tables.column("turns", bucket, "turn_id")
        found = pc.is_in(turn_ids, value_set=labelled).to_numpy(zero_copy_only=False)
        yield bucket, np.flatnonzero(found), len(turn_ids)


def _fitted(workspace: Workspace, labelled: pa.Array) -> pa.Array:
    """Labelled turns that the models of the stages were fitted on: not those kept to prove the thresholds."""
    facts = workspace.facts("train")
    rows = workspace.read("train", "rows", SIGNALS, ["turn_id", "session_id", "event_time"])
    if not rows.num_rows:
        # They were fitted elsewhere, on turns that are not known here.
        return pa.array([], pa.string())
    gold = labels(workspace, audited(workspace, frozenset(f["uri"] for f in facts["gold"]["inputs"])))
    early = earlier_rows(rows, wrong_gold(rows, gold), facts["config"]["train"]["certify_share"])
    ids = flat(rows["turn_id"]).filter(pa.array(early))
    return ids.filter(pc.is_in(ids, value_set=labelled))


def _is_stages_own(workspace: Workspace, sha256: str) -> bool:
    try:
        return bool(workspace.facts("train")["sha256"] == sha256)
    except StageError:
        return False
