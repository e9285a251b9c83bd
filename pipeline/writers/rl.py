"""The `rl` view: prompts whose reward can be checked, as the right reply is one text.

Answers of an agent are not in it: nothing tells whether another answer would have been right as well. Nor are corrected
tool calls: `sft` teaches them as calls, and a reward for JSON in their place would teach the opposite.
"""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa

from pipeline.writers.chat import interpretation, request
from pipeline.writers.provenance import shown
from schemas import RL

_INFO: Final = ("agreement", "blame", "certified")


def rl(examples: pa.Table) -> pa.Table:
    """The view's rows, one an example, in the same order.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows of corrections and confirmations that are no tool calls.
    """
    prompts = [[_plain(m) for m in request(text)] for text in examples["utterance"].to_pylist()]
    labels = zip(*(examples[c].to_pylist() for c in ("domain", "intent", "slots")), strict=True)
    info = [
        json.dumps(i | {"provenance": p}, sort_keys=True, ensure_ascii=False)
        for i, p in zip(examples.select(_INFO).to_pylist(), shown(examples), strict=True)
    ]
    own = {
        "key": examples["example_id"],
        "prompt": pa.array(prompts, RL.schema.field("prompt").type),
        "answer": pa.array([interpretation(*label) for label in labels], pa.string()),
        "info": pa.array(info, pa.string()),
    }
    return RL.conform(pa.table([own[n] if n in own else examples[n] for n in RL.names], names=list(RL.names)))


def _plain(message: dict[str, str]) -> dict[str, str]:
    return {"role": message["role"], "content": message["content"]}
