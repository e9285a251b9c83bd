"""The system says the same again: it did not get an answer it could use."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.neighbours import masked, shift
from features.text import distinct, likeness, likeness_held
from features.timeline import Timeline


def prompts(prompt: pa.Array, response: pa.Array, line: Timeline) -> pa.Array:
    """The system's last words before each request: as logged, else the previous answer; null if neither."""
    return pc.coalesce(prompt, shift(response, line, -1))


def system_repeat(prompt: pa.Array, response: pa.Array, line: Timeline) -> dict[str, pa.Array]:
    """Likeness of the answer to the prompt before it, null where either text is missing.

    `system_repeat_next` is the next turn's; null at a session's last turn.

    Parameters
    ----------
    prompt, response : pyarrow.StringArray, or dictionary-encoded
        Normalised text before and after the request, shape (n,).
    line : Timeline
        Sessions.
    """
    values = likeness_held(distinct(prompt), distinct(response), likeness)
    own = masked(values, ~np.isnan(values), pa.float32())
    return {"system_repeat": own, "system_repeat_next": shift(own, line, 1)}
