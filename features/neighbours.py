"""Values of neighbouring turns as Arrow columns, null across a session's bounds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.timeline import Mask, Timeline


def shift(values: pa.Array, line: Timeline, offset: int) -> pa.Array:
    """The value `offset` turns away (+1 = next), null where the session has no such turn."""
    index, exists = line.neighbour(offset)
    return pc.if_else(pa.array(exists), values.take(pa.array(index)), pa.scalar(None, values.type))


def masked(values: npt.NDArray[np.generic], valid: Mask, type: pa.DataType) -> pa.Array:
    """NumPy values as an Arrow column, null where not valid."""
    return pa.array(values, mask=~valid).cast(type)
