"""The views of a release, in one place: what rows each holds, of which examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.text import is_true
from pipeline.writers.completions import differ, is_reading, rejected, says_something
from pipeline.writers.kto import kto, labels
from pipeline.writers.nlu import nlu
from pipeline.writers.preference import preference
from pipeline.writers.review import review
from pipeline.writers.rl import rl
from pipeline.writers.sft import sft
from pipeline.writers.texts import with_texts
from pipeline.writers.verl import verl
from schemas import KTO, LABEL_KINDS, NLU, PREFERENCE, REVIEW, RL, SFT, SPLITS, TOOL_DOMAIN, VERL, Record

Mask = npt.NDArray[np.bool_]

_COUNT: Final = "view_rows"
# Columns that cost most to copy.
_NESTED: Final = ("context", "rejected", "provenance")
_DIALOG: Final = ("context", "rejected")


@dataclass(frozen=True)
class View:
    """One view of a release.

    Attributes
    ----------
    record : Record
        What its rows are.
    rows : callable
        Makes them from EXAMPLE rows, one each, in the same order.
    kinds : tuple of str
        Kinds of examples that it holds.
    only : callable, optional
        Which of them it holds, shape (n,); all, if there is none.
    label : callable, optional
        Truth value of each of its rows, shape (n,), of which a split must have both: a trainer refuses one alone.
    nested : tuple of str
        Which of `_NESTED` it reads.
    """

    record: Record
    rows: Callable[[pa.Table], pa.Table]
    kinds: tuple[str, ...]
    only: Callable[[pa.Table], Mask] | None = None
    label: Callable[[pa.Table], pa.Array] | None = None
    nested: tuple[str, ...] = ()

    def holds(self, examples: pa.Table) -> Mask:
        """Which of EXAMPLE rows it has a row for, shape (n,)."""
        held = is_true(pc.is_in(examples["kind"], value_set=pa.array(self.kinds)))
        if self.only is not None:
            held = held.copy()
            held[held] = self.only(filtered(examples, held))
        return held

    def __call__(self, examples: pa.Table) -> pa.Table:
        """The view of examples of any kind."""
        told = with_texts(examples)
        left = [name for name in _NESTED if name not in self.nested]
        return self.rows(filtered(told.drop_columns(left), self.holds(told)))


def filtered(table: pa.Table, mask: Mask) -> pa.Table:
    """Rows of a mask; the table itself where none is left out."""
    return table if mask.all() else table.filter(pa.array(mask))


def no_tool_call(examples: pa.Table) -> Mask:
    """EXAMPLE rows whose label is no tool call, shape (n,)."""
    return ~is_true(pc.equal(examples["domain"], TOOL_DOMAIN))


def unlearnable(examples: pa.Table) -> Mask:
    """Rejections of a reading that may have been right for what the NLU was given, shape (n,): what was misheard, or
    understood and then not done, is no fault of it.
    """
    blamed = is_true(pc.is_in(examples["blame"], value_set=pa.array(["intent", "slots"])))
    return np.asarray(is_reading(examples) & ~blamed & ~is_true(labels(examples)), dtype=bool)


def says_what(examples: pa.Table) -> Mask:
    """Rejections that say what was rejected and may be learned from, and all rows of other kinds, shape (n,)."""
    known = says_something(rejected(examples), is_reading(examples)) & ~unlearnable(examples)
    return np.asarray(known | is_true(labels(examples)), dtype=bool)


# The first that a release has rows of is what a reader gets who names none.
VIEWS: Final = {
    "nlu": View(NLU, nlu, LABEL_KINDS),
    "sft": View(SFT, sft, (*LABEL_KINDS, "answer"), nested=_DIALOG),
    "preference": View(PREFERENCE, preference, ("correction", "preference"), only=differ, nested=_DIALOG),
    "kto": View(KTO, kto, (*LABEL_KINDS, "answer", "rejection"), only=says_what, label=labels, nested=_DIALOG),
    # A corrected tool call is taught as a call by `sft`; rewarded as JSON it would be unlearned.
    "rl": View(RL, rl, LABEL_KINDS, only=no_tool_call),
    "verl": View(VERL, verl, LABEL_KINDS, only=no_tool_call),
    "review": View(REVIEW, review, ("rejection",), nested=("rejected", "provenance")),
}


def count_rows(examples: pa.Table) -> dict[str, int]:
    """Rows that each view has of EXAMPLE rows, for COUNT rows: `view_rows.<split>.<view>`, with `.true` and `.false`
    where both are needed.
    """
    out: dict[str, int] = {}
    split = strings(examples["split"])
    for name, view in VIEWS.items():
        held = view.holds(examples)
        label = None if view.label is None else is_true(view.label(examples))
        for part in SPLITS:
            rows = held & (split == part)
            if label is None:
                out[f"{_COUNT}.{part}.{name}"] = int(rows.sum())
            else:
                out[f"{_COUNT}.{part}.{name}.true"] = int((rows & label).sum())
                out[f"{_COUNT}.{part}.{name}.false"] = int((rows & ~label).sum())
    return {key: n for key, n in out.items() if n}


def unwritten(counts: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """Rows by split and view that are not written, as all have the same label."""
    return {which: true + false for which, (true, false) in by_label(counts).items() if not (true and false)}


def by_label(counts: Mapping[str, int]) -> dict[tuple[str, str], tuple[int, int]]:
    """True and false rows by split and view, of views whose trainer needs both; nothing where there is no row."""
    out = {}
    for name in (name for name, view in VIEWS.items() if view.label is not None):
        for split in SPLITS:
            true, false = (counts.get(f"{_COUNT}.{split}.{name}.{label}", 0) for label in ("true", "false"))
            if true or false:
                out[split, name] = true, false
    return out


def rows_by_split(counts: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """Rows that each split of each view must have, by the counts of a stage."""
    left = unwritten(counts)
    return {
        (split, name): sum(n for key, n in counts.items() if f"{key}.".startswith(f"{_COUNT}.{split}.{name}."))
        - left.get((split, name), 0)
        for name in VIEWS
        for split in SPLITS
    }


def view_rows(counts: Mapping[str, int]) -> dict[str, int]:
    """Rows that each view must have, by the counts of a stage."""
    held = rows_by_split(counts)
    return {name: sum(held[split, name] for split in SPLITS) for name in VIEWS}


def lacking(counts: Mapping[str, int]) -> dict[str, list[str]]:
    """Views without rows by split that lacks them, of views that have rows in another split; by the counts of a stage.

    A split of which no view has rows is not named.
    """
    held = rows_by_split(counts)
    there = [split for split in SPLITS if any(held[split, name] for name in VIEWS)]
    told = {s: [n for n in VIEWS if not held[s, n] and any(held[o, n] for o in SPLITS)] for s in there}
    return {split: names for split, names in told.items() if names}
