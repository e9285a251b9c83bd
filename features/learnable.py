"""Which turns may be learned from: their user does not refuse it, and nothing keeps them out."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat, is_true

# Columns of a turn that decide it.
READS: Final = ("consent", "excluded")


def refused(turns: pa.Table) -> npt.NDArray[np.bool_]:
    """Turns whose user refused consent, shape (n,)."""
    return is_true(pc.equal(flat(turns["consent"]), False))


def excluded(turns: pa.Table) -> npt.NDArray[np.bool_]:
    """Turns that an opt-out, a filter or an incident keeps out, shape (n,)."""
    return is_true(pc.is_valid(flat(turns["excluded"])))


def learnable(turns: pa.Table) -> npt.NDArray[np.bool_]:
    """Turns that may be learned from, shape (n,).

    Parameters
    ----------
    turns : pyarrow.Table
        Turn rows, at least the columns of `READS`.
    """
    return ~(refused(turns) | excluded(turns))
