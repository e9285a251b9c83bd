"""The system repeats its question: it did not get an answer it could use."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.neighbours import masked, shift
from features.text import likeness
from features.timeline import Timeline


def prompts(prompt: pa.Array, response: pa.Array, line: Timeline) -> pa.Array:
    """The system's last words before each request: as logged, else the previous turn's answer; null if neither."""
    return pc.coalesce(prompt, shift(response, line, -1))


def system_repeat(prompt: pa.Array, response: pa.Array, line: Timeline) -> dict[str, pa.Array]:
    """Likeness of the answer to the prompt before it, null where either text is missing.

    Parameters
    ----------
    prompt, response : pyarrow.StringArray
        Normalised text before and after the request, shape (n,).
    line : Timeline
        Sessions.
    """
    both = pc.and_(prompt.is_valid(), response.is_valid()).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(both)
    values = np.zeros(len(line), np.float32)
    values[rows] = likeness(strings(prompt)[rows].tolist(), strings(response)[rows].tolist())
    own = masked(values, both, pa.float32())
    return {"system_repeat": own, "system_repeat_next": shift(own, line, 1)}
