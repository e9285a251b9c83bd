"""The views of a release, in one place: what rows each holds, of which examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.writers.nlu import nlu
from pipeline.writers.rl import rl
from pipeline.writers.sft import sft
from schemas import KINDS, LABEL_KINDS, NLU, RL, SFT, TOOL_DOMAIN, Record


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
    tool_calls : bool
        Whether it holds those whose label is a tool call.
    """

    record: Record
    rows: Callable[[pa.Table], pa.Table]
    kinds: tuple[str, ...]
    tool_calls: bool = True

    def __call__(self, examples: pa.Table) -> pa.Table:
        """The view of examples of any kind."""
        held = pc.is_in(examples["kind"], value_set=pa.array(self.kinds))
        if not self.tool_calls:
            held = pc.and_not(held, is_tool_call(examples))
        return self.rows(examples.filter(held))


def is_tool_call(examples: pa.Table) -> pa.ChunkedArray:
    """EXAMPLE rows whose label is a tool call."""
    return pc.fill_null(pc.equal(examples["domain"], TOOL_DOMAIN), False)


def tool_calls_by_kind(examples: pa.Table) -> dict[str, int]:
    """Examples whose label is a tool call, as `tool_calls.<split>.<kind>`, for COUNT rows."""
    found = examples.filter(is_tool_call(examples)).select(["split", "kind"]).to_pandas().value_counts().items()
    return {f"tool_calls.{split}.{kind}": n for (split, kind), n in found}


def view_rows(counts: Mapping[str, int]) -> dict[str, int]:
    """Rows that each view must have, by the counts of a stage: `examples.<split>.<kind>` and `tool_calls.…` of them."""
    made, called = (
        {kind: sum(n for k, n in counts.items() if k.startswith(f"{of}.") and k.endswith(f".{kind}")) for kind in KINDS}
        for of in ("examples", "tool_calls")
    )
    return {
        name: sum(made[kind] - called[kind] * (not view.tool_calls) for kind in view.kinds)
        for name, view in VIEWS.items()
    }


# The first that a release has rows of is what a reader gets who names none.
VIEWS: Final = {
    "nlu": View(NLU, nlu, LABEL_KINDS),
    "sft": View(SFT, sft, (*LABEL_KINDS, "answer")),
    # A corrected tool call is taught as a call by `sft`; rewarded as JSON it would be unlearned.
    "rl": View(RL, rl, LABEL_KINDS, tool_calls=False),
}
