"""The `rl` view: prompts whose reward can be checked, as the right reply is one text.

Answers of an agent are not in it: nothing tells whether another answer would have been right as well. Nor are corrected
tool calls: `sft` teaches them as calls, and a reward for JSON in their place would teach the opposite.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from features.text import flat
from pipeline.writers.chat import prompts, requests
from pipeline.writers.json_text import objects, quoted, scalars
from pipeline.writers.rows import rows
from pipeline.writers.texts import label_text, provenance_text
from schemas import RL

_INFO: Final = {"agreement": scalars, "blame": quoted, "certified": scalars}


def rl(examples: pa.Table) -> pa.Table:
    """The view's rows, one an example, in the same order.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows of corrections and confirmations that are no tool calls.
    """
    info = objects(
        [*((name, text(examples[name])) for name, text in _INFO.items()), ("provenance", provenance_text(examples))]
    )
    own = {
        "key": examples["example_id"],
        "prompt": request_prompts(examples),
        "answer": label_text(examples),
        "info": info,
    }
    return rows(RL, examples, own)


def request_prompts(examples: pa.Table) -> pa.ListArray:
    """The request for each example's interpretation, as lists of PROMPT_MESSAGE."""
    every = np.arange(examples.num_rows)
    return prompts(requests(flat(examples["utterance"]), every), examples.num_rows)
