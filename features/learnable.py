"""Which turns may be learned from: their user does not refuse it, they have not expired, and nothing keeps them out."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat, is_true
from schemas import EXPIRED, NO_CONSENT

# Columns of a turn that decide it.
READS: Final = ("consent", "excluded")


def refused(turns: pa.Table) -> npt.NDArray[np.bool_]:
    """Turns whose user refused consent, or where it is asked for did not give it, shape (n,)."""
    return is_true(pc.equal(flat(turns["consent"]), False)) | _named(turns, NO_CONSENT)


def expired(turns: pa.Table) -> npt.NDArray[np.bool_]:
    """Turns that were to be deleted by the end of the interval that they were read in, shape (n,)."""
    return _named(turns, EXPIRED)


def excluded(turns: pa.Table) -> npt.NDArray[np.bool_]:
    """Turns that anything keeps out which stage ingest knows, shape (n,)."""
    return is_true(pc.is_valid(flat(turns["excluded"])))


def _named(turns: pa.Table, name: str) -> npt.NDArray[np.bool_]:
    return is_true(pc.equal(flat(turns["excluded"]), name))


def learnable(turns: pa.Table) -> npt.NDArray[np.bool_]:
    """Turns that may be learned from, shape (n,).

    Parameters
    ----------
    turns : pyarrow.Table
        Turn rows, at least the columns of `READS`.
    """
    return ~(refused(turns) | excluded(turns))
