"""Hold judgements against a Gold table, each definition by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.text import is_true
from models.evaluation import curve, decided, scored
from pipeline.errors import InputError, StageError
from pipeline.evaluate.examples import of_examples
from pipeline.evaluate.judged import Judged, of_model, of_release, release_told
from pipeline.explain.release import Release, open_release
from pipeline.gold import read_gold
from pipeline.transforms.counts import domain_names
from schemas import GOLD_DEFINITIONS

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
RIGHT: Final = "right_interpretation"


def evaluate(out: str, gold: list[str], release: str | None = None, model: str | None = None) -> dict[str, Any]:
    """Figures of a release, or of a model file, by definition.

    Parameters
    ----------
    out : str
        Output folder with the stages of the run whose turns are labelled.
    gold : list of str
        Files, folders or globs of labels.
    release, model : str or None
        CURRENT where neither is given.

    Raises
    ------
    InputError
        If there is no label, none of a turn of the run, or one that cannot be right.
    StageError
        If the stages' tables are missing, and nothing can be told of the release alone.
    """
    labels = read_gold(gold)
    if not labels.table.num_rows:
        raise InputError(f"--gold {' '.join(gold)}: no label in {len(labels.inputs)} file(s)")
    labelled = pc.unique(labels.table["turn_id"])
    frame = _averaged(labels.table)
    right = frame[frame["definition"] == RIGHT]
    held = None if model else open_release(out, release)
    judged, gone = _judged(out, held, model, labelled, bool(len(right)))
    if judged and not judged.judgements.num_rows:
        raise InputError(
            f"--gold {' '.join(gold)}: none of the {len(labelled):,} turns with a label is in the {judged.turns:,} of "
            f"{out} (the first is {labelled[0].as_py()!r}); turn_id must be the log's own"
        )
    definitions = [name for name in GOLD_DEFINITIONS if judged and (frame["definition"] == name).any()]
    return {
        "judged_by": judged.told if judged else release_told(held) if held else {},
        "turns": judged.turns if judged else None,
        "notes": [f"judgements are not told: {gone}"] if gone else [],
        "gold": [{k: f[k] for k in ("uri", "sha256", "labels")} for f in labels.inputs],
        "of_audits": sum(source.startswith("audit/") for source in labels.table["source"].to_pylist()),
        "definitions": {
            name: (_corrections if name == RIGHT else _judgements)(frame[frame["definition"] == name], judged)
            for name in definitions
        },
        "examples": of_examples(held, _by_candidate(right)) if held and len(right) else None,
    }


def _judged(
    out: str, release: Release | None, model: str | None, labelled: pa.Array, without: bool
) -> tuple[Judged | None, str | None]:
    """Judgements; or, where labels of the examples can do without them, none and why."""
    if release is None:
        return of_model(out, model or "", labelled), None
    try:
        return of_release(out, release, labelled), None
    except StageError as error:
        if not without:
            raise
        return None, str(error)


def _averaged(gold: pa.Table) -> pd.DataFrame:
    """One value a turn, definition and candidate: the mean over sources, as stage train takes it."""
    frame = gold.select(["turn_id", "definition", "candidate_id", "value"]).to_pandas()
    frame["candidate_id"] = frame["candidate_id"].fillna("")
    return frame.groupby(["turn_id", "definition", "candidate_id"], as_index=False)["value"].mean()


def _judgements(labels: pd.DataFrame, judged: Judged) -> dict[str, Any]:
    """One definition of turns against p(defect)."""
    at, share = _joined(strings(judged.judgements["turn_id"]), labels.set_index("turn_id")["value"])
    rows = judged.judgements.take(at)
    probability, taken = rows["p_defect"].to_numpy(), is_true(rows["is_defect"])
    domain = strings(domain_names(rows["domain"]))
    learned = is_true(pc.is_in(rows["turn_id"], value_set=judged.learned))

    def figures(of: Mask) -> dict[str, Any]:
        return scored(share[of], probability[of]) | decided(share[of], taken[of])

    return _by_part(len(labels), learned, domain, figures) | {"reliability": curve(share, probability)}


def _corrections(labels: pd.DataFrame, judged: Judged) -> dict[str, Any]:
    """Labels of candidates against p(correct), and the accepted ones' precision.

    Candidates are written for turns judged defective alone; labels of others, such as leading readings, join nothing.
    """
    key = strings(judged.corrections["turn_id"]) + "\x1f" + strings(judged.corrections["candidate_id"])
    at, share = _joined(key, _by_candidate(labels))
    rows = judged.corrections.take(at)
    # What a reviewer called right is accepted for that, and would be held against itself.
    probability, accepted = rows["p_correct"].to_numpy(), is_true(rows["accepted"])
    accepted &= strings(rows["source"]) != "reviewer"
    learned = is_true(pc.is_in(rows["turn_id"], value_set=judged.learned))
    domain = _domains_of(rows["turn_id"], judged.judgements)

    def figures(of: Mask) -> dict[str, Any]:
        taken = decided(share[of], accepted[of])
        return scored(share[of], probability[of]) | {
            "accepted": taken["taken"],
            "precision": taken["precision"],
        }

    return _by_part(len(labels), learned, domain, figures) | {"reliability": curve(share, probability)}


def _by_part(
    labels: int, learned: Mask, domain: npt.NDArray[np.object_], figures: Callable[[Mask], dict[str, Any]]
) -> dict[str, Any]:
    """Figures of all joined labels, of those that were not learned from, and by domain."""
    return {
        "labels": labels,
        "joined": len(learned),
        "unjoined": labels - len(learned),
        "learned_from": int(learned.sum()),
        "all": figures(np.ones(len(learned), bool)),
        "not_learned_from": figures(~learned),
        "domains": {name: figures(domain == name) for name in sorted(set(domain.tolist()))},
    }


def _by_candidate(labels: pd.DataFrame) -> pd.Series:
    return pd.Series(labels["value"].to_numpy(), index=labels["turn_id"] + "\x1f" + labels["candidate_id"])


def _joined(key: npt.NDArray[np.object_], values: pd.Series) -> tuple[npt.NDArray[np.int64], F64]:
    """Rows that have a label, and it."""
    share = values.reindex(key).to_numpy(np.float64)
    at = np.flatnonzero(~np.isnan(share))
    return at, share[at]


def _domains_of(turn_ids: pa.ChunkedArray, judgements: pa.Table) -> npt.NDArray[np.object_]:
    names = domain_names(judgements["domain"])
    at = pc.index_in(turn_ids, value_set=judgements["turn_id"].combine_chunks())
    return strings(names.take(at.combine_chunks()))
