"""Passes that look at one example at a time, or at all examples of the same words: each bucket by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.curation.evaluation import EvaluationSet
from schemas import LEFT_OUT

if TYPE_CHECKING:
    from pipeline.options import CurateOptions

# EXAMPLE rows of a bucket, which holds all examples of the same words, to LEFT_OUT rows
# (`pipeline.curation.rows.left_out`). Is sent to workers, so it can be pickled.
Pass = Callable[[pa.Table], pa.Table]


def local_passes(options: CurateOptions) -> tuple[Pass, ...]:
    """The passes that are on, in their order: what one leaves out the next does not see."""
    passes: list[Pass] = []
    if options.decontaminate:
        passes.append(EvaluationSet(options.decontaminate, options.decontaminate_columns, options.decontaminate_words))
    return tuple(passes)


def apply(examples: pa.Table, passes: tuple[Pass, ...]) -> pa.Table:
    """What the passes leave out, as LEFT_OUT rows; an example at most once."""
    found = [LEFT_OUT.empty()]
    for each in passes:
        told = each(examples)
        found.append(told)
        gone = pc.is_in(examples["example_id"], value_set=told["example_id"].combine_chunks())
        examples = examples.filter(pc.invert(gone))
    return pa.concat_tables(found)
