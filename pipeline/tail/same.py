"""Whether two records of a turn say the same, at any depth. Vectorised."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from schemas import TURN

Mask = npt.NDArray[np.bool_]

# How a record came here says nothing of the turn; `excluded` follows from the configuration. What follows from links to
# parents (`features.parents`) is told of the one that was handed on, and not yet of the one that was read.
_OF_THE_WAY: Final = ("source", "received_time", "excluded", "parent_id", "orphan", "sequence")
_SAID: Final = tuple(name for name in TURN.names if name not in _OF_THE_WAY)


def same_turns(a: pa.Table, b: pa.Table) -> Mask:
    """Rows of two TURN tables of one length that tell the same of a turn, shape (n,)."""
    out = np.ones(a.num_rows, bool)
    for name in _SAID:
        out &= same(flat(a[name]), flat(b[name]))
    return out


def same(a: pa.Array, b: pa.Array) -> Mask:
    """Elements that are equal, shape (n,): null to null, lists by length and items, structs by members."""
    valid, other = (values.is_valid().to_numpy(zero_copy_only=False) for values in (a, b))
    out = np.asarray(valid == other)
    if pa.types.is_struct(a.type):
        for k in range(a.type.num_fields):
            out &= same(pc.struct_field(a, [k]), pc.struct_field(b, [k]))
        return out
    both = np.flatnonzero(valid & other)
    held = [values.take(pa.array(both)) for values in (a, b)]
    out[both] = _same_lists(*held) if pa.types.is_list(a.type) else pc.equal(*held).to_numpy(zero_copy_only=False)
    return out


def _same_lists(a: pa.ListArray, b: pa.ListArray) -> Mask:
    """Lists without nulls."""
    out = np.asarray(pc.equal(pc.list_value_length(a), pc.list_value_length(b)).to_numpy(zero_copy_only=False)).copy()
    alike = np.flatnonzero(out)
    first, second = (values.take(pa.array(alike)) for values in (a, b))
    differ = ~same(first.flatten(), second.flatten())
    out[alike[pc.list_parent_indices(first).to_numpy()[differ]]] = False
    return out
