"""What each group of signals adds: AUC and AP of a model without it.

    python -m bench.ablation --data ../shared/data --out out/ablation.json

A group is taken away by blanking its columns (NaN, as if never logged), so that labelling functions which read them
abstain. Another work takes part by giving a `Study` for each of its models; its columns fall into the same groups by
their names.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from bench import letsgo
from models.boost import fit_folds
from models.design import Design
from models.metrics import ap, auc
from models.weak import weak_labels

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Of a column's name without whose evidence it is; the first that fits. What fits none is the group `other`.
GROUPS: Final = {
    "pooled prior": r"prior\.",
    "confidence": r"asr_|top_score|score_(margin|entropy)",
    "n-best": r"(mass|rank|share|repeats|kin|kin_mass|candidates_distinct)$",
    "earlier interpretations": r"earlier_|(denied|affirmed)_before",
    "later interpretations": r"later_|(denied|affirmed)_after|same_(interpretation|frame)|next_value|support_offset",
    "rephrase": r"(partial_)?rephrase|repeats_",
    "time": r"gap_|dwell|turns_(before|after)|skipped_|new_conversation|barge_in",
    "system words": (
        r"asked_confirmation|asks_confirmation|confirmation|system_|question_|response_|apologises|cannot_help|"
        r"falls_back|clarifies|hands_off|abandoned|prompt_|outcome_|echo"
    ),
    "user words": (
        r"utterance_|negates|affirms|goes_back|restarts|corrects|asks_back|gives_up|closes|escalates|thanks|says_sorry|"
        r"explicit_rating"
    ),
}
OTHER: Final = "other"
_WHOSE: Final = re.compile(r"^(top|second|other|candidate|vs_top)\.")


@dataclass(frozen=True)
class Study:
    """One model on one set.

    Attributes
    ----------
    name : str
        For the key, such as `letsgo.gold`.
    design : Design
        n rows.
    score : callable
        Fits on a design of these columns and gives out-of-fold scores, shape (n,).
    truth : numpy.ndarray, shape (n,)
        0 or 1.
    at : numpy.ndarray of bool, shape (n,)
        Rows that are scored.
    """

    name: str
    design: Design
    score: Callable[[Design], F64]
    truth: F64
    at: Mask


def group_of(column: str) -> str:
    """The group of a design's column."""
    name = _WHOSE.sub("", column)
    return next((group for group, pattern in GROUPS.items() if re.match(pattern, name)), OTHER)


def without(design: Design, group: str) -> Design:
    """The design with a group's columns blank."""
    gone = np.array([group_of(name) == group for name in design.names])
    return Design(np.where(gone, np.float32(np.nan), design.values), design.names)


def ablate(study: Study) -> dict[str, float]:
    """AUC and AP with all columns and without each group that the design has."""
    out: dict[str, float] = {}
    groups = [None, *(g for g in (*GROUPS, OTHER) if any(group_of(n) == g for n in study.design.names))]
    for group in groups:
        score = study.score(study.design if group is None else without(study.design, group))
        part = "all" if group is None else f"without.{group.replace(' ', '_')}"
        out[f"{study.name}.{part}.auc"] = auc(study.truth[study.at], score[study.at])
        out[f"{study.name}.{part}.ap"] = ap(study.truth[study.at], score[study.at])
    return out


def of_letsgo(data: Path) -> Iterator[Study]:
    """The defect model of the bus line's callers, from truth and from labelling functions alone."""
    work = letsgo.load(data)
    if work is None:
        return
    table, at = work.table, work.scored
    truth = np.nan_to_num(table.wrong)

    def gold(design: Design) -> F64:
        return fit_folds(design, truth, at.astype(np.float64), table.fold, letsgo.FOLDS, letsgo.SEED)[1]

    def no_gold(design: Design) -> F64:
        label = weak_labels(design, table.fold, letsgo.FOLDS, letsgo.SEED)
        return fit_folds(design, label, np.ones(len(label)), table.fold, letsgo.FOLDS, letsgo.SEED)[1]

    yield Study("letsgo.gold", table.turns, gold, truth, at)
    yield Study("letsgo.nogold", table.turns, no_gold, truth, at)


STUDIES: Final[tuple[Callable[[Path], Iterator[Study]], ...]] = (of_letsgo,)


def table(figures: dict[str, float]) -> str:
    """Figures as lines: what is lost without each group."""
    lines = [f"{'study':<18}{'without':<26}{'AUC':>8}{'':>9}{'AP':>8}"]
    for key in figures:
        if not key.endswith(".auc"):
            continue
        stem = key.removesuffix(".auc")
        name, _, part = stem.partition(".without.") if ".without." in stem else (stem.removesuffix(".all"), "", "-")
        cells = [f"{figures[f'{stem}.{m}']:>8.4f}{_lost(figures, name, stem, m):>9}" for m in ("auc", "ap")]
        lines.append(f"{name:<18}{part.replace('_', ' '):<26}{''.join(cells)}")
    return "\n".join(lines)


def _lost(figures: dict[str, float], name: str, stem: str, metric: str) -> str:
    change = figures[f"{stem}.{metric}"] - figures[f"{name}.all.{metric}"]
    return "" if stem == f"{name}.all" else f"{change:+.4f}"


def main() -> int:
    """Run every study whose data is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    for studies in STUDIES:
        for study in studies(arguments.data):
            figures |= {key: round(value, 4) for key, value in ablate(study).items()}
    if not figures:
        print(f"no data under {arguments.data}; nothing was computed", file=sys.stderr)
        return 3
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
