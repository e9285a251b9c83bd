"""What each turn was taken for, from the candidates of its signals."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from features.interpretation import list_offsets
from features.text import flat

I64 = npt.NDArray[np.int64]

# A request that nothing was made of; no candidate id by a chance of 2^-64.
NOTHING: Final = 0


def leading(candidate_id: I64, offset: I64, offsets: I64) -> I64:
    """What each turn was taken for, `NOTHING` where it has no hypothesis of its own, shape (n,).

    Parameters
    ----------
    candidate_id, offset : numpy.ndarray of int64, shape (m,)
        Of `signals.candidates`, flat.
    offsets : numpy.ndarray of int64, shape (n + 1,)
        Of its lists.
    """
    out = np.full(len(offsets) - 1, NOTHING, np.int64)
    has = np.flatnonzero(np.diff(offsets) > 0)
    first = offsets[:-1][has]
    out[has] = np.where(offset[first] == 0, candidate_id[first], NOTHING)
    return out


def leading_of(signals: pa.Table) -> I64:
    """`leading` of Signals rows."""
    lists = flat(signals["candidates"])
    entries = lists.flatten()
    ids, offset = (entries.field(name).to_numpy().astype(np.int64) for name in ("candidate_id", "offset"))
    return leading(ids, offset, list_offsets(lists))
