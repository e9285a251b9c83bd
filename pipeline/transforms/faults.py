"""What was done and found wrong."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.interpretation import flatten
from features.text import flat
from schemas import REJECTED

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def identities(interpretations: pa.StructArray) -> I64:
    """64-bit hash of domain, intent and slots of each, shape (n,); 0 for none."""
    held = pc.is_valid(interpretations)
    offsets = pa.array(np.arange(len(interpretations) + 1), pa.int32())
    ids = flatten(pa.ListArray.from_arrays(offsets, interpretations)).candidate_id
    return np.where(held.to_numpy(zero_copy_only=False), ids, 0).astype(np.int64)


def against(turns: pa.Table, executed: I64, rows: I64, faulty: Mask, by_agent: Mask) -> dict[str, pa.Array]:
    """The columns `rejected` and `rejected_id` of votes, shape (k,); the id of words is 0, for `votes` to fill in.

    Parameters
    ----------
    turns : pyarrow.Table
        Turn rows.
    executed : numpy.ndarray of int64, shape (n,)
        Flat index of the interpretation acted on, well formed; -1 = none.
    rows : numpy.ndarray of int64, shape (k,)
        The turn of each vote.
    faulty : numpy.ndarray of bool, shape (k,)
        Votes of turns in which something was not right.
    by_agent : numpy.ndarray of bool, shape (k,)
        Votes of an agent's turns: its words count too, where it called no tool.
    """
    read = executed[rows] >= 0
    done = faulty & (read | by_agent)
    at = pa.array(np.maximum(executed[rows], 0), mask=~(done & read))
    entry = flat(turns["interpretations"]).flatten().take(at)
    words = flat(turns["response"]).take(pa.array(rows, mask=~(done & ~read)))
    slots = pc.struct_field(entry, "slots")
    columns = [
        pc.struct_field(entry, "domain"),
        pc.struct_field(entry, "intent"),
        pc.if_else(pc.is_valid(slots), slots, pa.scalar([], slots.type)),
        words,
    ]
    rejected = pa.StructArray.from_arrays(columns, fields=list(REJECTED), mask=pa.array(~done))
    return {"rejected": rejected, "rejected_id": pa.array(identities(entry), pa.int64(), mask=~done)}
