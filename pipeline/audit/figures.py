"""What the answers say of the release: precision, recall, prevalence and correction precision, with intervals."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from models.audit import Strata, correction_precision, defect_figures
from models.melding import CONFIDENCE, Figure
from models.sampling import DECISIONS
from pipeline.audit.questions import RIGHT, WRONG
from pipeline.audit.said import Said

DECIMALS: Final = 4
Mask = npt.NDArray[np.bool_]


def figures(design: dict[str, Any], sample: pa.Table, said: dict[tuple[str, str], Said]) -> dict[str, Any]:
    """Figures over all turns and by domain, as JSON holds them.

    Parameters
    ----------
    design : dict
        `audit.json`.
    sample : pyarrow.Table
        AUDIT_SAMPLE rows.
    said : dict
        As `pipeline.audit.said.collect` gives it.
    """
    strata = design["strata"]
    domain = np.array([s["domain"] for s in strata], dtype=object)
    wrong, right = (_strata(strata, sample, said, question) for question in (WRONG, RIGHT))
    names = list(dict.fromkeys(domain.tolist()))
    return {
        "audit_id": design["audit_id"],
        "release_id": design["release_id"],
        "models": design["models"],
        "confidence": CONFIDENCE,
        "turns": design["turns"],
        "answers": _counts(sample, said),
        "all": _figures(wrong, right, np.ones(len(strata), bool)),
        "domains": {name: _figures(wrong, right, domain == name) for name in names},
    }


def _strata(strata: list[dict[str, Any]], sample: pa.Table, said: dict[tuple[str, str], Said], question: str) -> Strata:
    at = {(s["domain"], s["decision"]): k for k, s in enumerate(strata)}
    answered, total = np.zeros(len(strata), np.int64), np.zeros(len(strata))
    for row in sample.select(["task_id", "domain", "decision"]).to_pylist():
        share = said[key].share if (key := (row["task_id"], question)) in said else None
        if share is not None:
            answered[at[row["domain"], row["decision"]]] += 1
            total[at[row["domain"], row["decision"]]] += share
    decision = np.array([DECISIONS.index(s["decision"]) for s in strata], np.int64)
    return Strata(decision, np.array([s["turns"] for s in strata], np.int64), answered, total)


def _figures(wrong: Strata, right: Strata, rows: Mask) -> dict[str, Any]:
    held = defect_figures(wrong.take(rows)) | {"correction_precision": correction_precision(right.take(rows))}
    cells = wrong.take(rows)
    return {
        "turns": int(cells.size.sum()),
        "defective": int(cells.size[cells.decision < DECISIONS.index("satisfied")].sum()),
        "corrected": int(cells.size[cells.decision == 0].sum()),
        "judged": int(cells.answered.sum()),
    } | {name: _plain(figure) for name, figure in held.items()}


def _plain(figure: Figure) -> dict[str, float | None]:
    value = None if math.isnan(figure.value) else round(figure.value, DECIMALS)
    return {"value": value, "low": round(figure.low, DECIMALS), "high": round(figure.high, DECIMALS)}


def _counts(sample: pa.Table, said: dict[tuple[str, str], Said]) -> dict[str, int]:
    """What became of the questions, and how far raters agree."""
    asked = {WRONG: sample.num_rows, RIGHT: sample.num_rows - sample["candidate_id"].null_count}
    told = {q: [s for (_, question), s in said.items() if question == q] for q in asked}
    several = [s for held in told.values() for s in held if s.yes + s.no > 1]
    both = [t for (t, q), s in said.items() if q == RIGHT and s.share == 1.0 and _share(said, t) == 0.0]
    raters = {a.rater for s in said.values() for a in s.answers}
    return {
        "drawn": sample.num_rows,
        "raters": len(raters),
        "judged": sum(s.share is not None for s in told[WRONG]),
        "cannot_tell": sum(s.share is None for s in told[WRONG]),
        "open": asked[WRONG] - len(told[WRONG]),
        "corrections": asked[RIGHT],
        "corrections_judged": sum(s.share is not None for s in told[RIGHT]),
        "by_several": len(several),
        "by_several_agreed": sum(s.share in (0.0, 1.0) for s in several),
        "both_right": len(both),
    }


def _share(said: dict[tuple[str, str], Said], task_id: str) -> float | None:
    held = said.get((task_id, WRONG))
    return held.share if held else None
