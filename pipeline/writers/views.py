"""The views of a release, in one place: what rows each holds, of which examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.writers.nlu import nlu
from pipeline.writers.rl import rl
from pipeline.writers.sft import sft
from schemas import KINDS, LABEL_KINDS, NLU, RL, SFT, Record


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
    """

    record: Record
    rows: Callable[[pa.Table], pa.Table]
    kinds: tuple[str, ...]

    def __call__(self, examples: pa.Table) -> pa.Table:
        """The view of examples of any kind."""
        return self.rows(examples.filter(pc.is_in(examples["kind"], value_set=pa.array(self.kinds))))


# The first that a release has rows of is what a reader gets who names none.
VIEWS: Final = {
    "nlu": View(NLU, nlu, LABEL_KINDS),
    "sft": View(SFT, sft, KINDS),
    "rl": View(RL, rl, LABEL_KINDS),
}
