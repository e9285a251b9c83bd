"""The `verl` view: the prompts of `rl` in the columns and native lists that verl's RL data sets have."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from features.hashing import hash_texts
from features.text import flat
from pipeline.writers.rl import request_prompts
from pipeline.writers.rows import rows
from pipeline.writers.texts import label_text
from schemas import VERL
from schemas.view import EXTRA_INFO, REWARD_MODEL

# By it verl finds the reward function; `taskset/` of the release holds one, for `custom_reward_function.path`.
DATA_SOURCE: Final = "afterword/interpretation"
ABILITY: Final = "nlu"
# A rule compares the reply with the ground truth; no model judges.
_STYLE: Final = "rule"


def verl(examples: pa.Table) -> pa.Table:
    """The view's rows, one an example, in the same order.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows of corrections and confirmations that are no tool calls.
    """
    n, ids = examples.num_rows, flat(examples["example_id"])
    truth = [pa.repeat(_STYLE, n), label_text(examples)]
    held = {"index": _index(ids), "id": ids}
    extra = [held[f.name] if f.name in held else flat(examples[f.name]) for f in EXTRA_INFO]
    own = {
        "id": ids,
        "prompt": request_prompts(examples),
        "data_source": pa.repeat(DATA_SOURCE, n),
        "ability": pa.repeat(ABILITY, n),
        "reward_model": pa.StructArray.from_arrays(truth, fields=list(REWARD_MODEL)),
        "extra_info": pa.StructArray.from_arrays(extra, fields=list(EXTRA_INFO)),
    }
    return rows(VERL, examples, own)


def _index(ids: pa.Array) -> pa.Array:
    """A number for each example that does not hang on the shard or row in which it stands."""
    return pa.array((hash_texts(ids) >> np.uint64(1)).astype(np.int64))
