"""Candidates with their evidence as one list a turn, as Signals holds them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.asked import Asked
from features.confidence import Pooled
from features.consensus import consensus
from features.interpretation import Candidates
from schemas.signals import CANDIDATE_COLUMNS


def candidate_lists(
    hypotheses: Candidates,
    pooled: Pooled,
    wanted: Asked,
    evidence: dict[str, npt.NDArray[np.generic]],
    turns: int,
) -> pa.Array:
    """The flat evidence as one list a turn. What the turn's own n-best tells of a hypothesis is null for others.

    Parameters
    ----------
    hypotheses : Candidates
        m hypotheses of n turns.
    pooled : Pooled
        The same, pooled by what they say.
    wanted : Asked
        The k candidates asked about.
    evidence : dict of numpy.ndarray
        Columns of `schemas.signals.CANDIDATE_COLUMNS`, each of shape (k,).
    turns : int
        n.

    Returns
    -------
    pyarrow.ListArray
        Shape (n,).
    """
    order, offsets = wanted.listed(turns)
    entry, of_rephrase = wanted.entry, wanted.offset > 0
    has_values = hypotheses.value_id[entry] != 0
    own: dict[str, npt.NDArray[np.generic]] = {
        "mass": pooled.mass,
        "rank": pooled.rank,
        "share": pooled.share,
        "repeats": pooled.repeats,
        **consensus(hypotheses, pooled),
    }
    values: dict[str, npt.NDArray[np.generic]] = evidence | {
        "candidate_id": hypotheses.candidate_id[entry],
        "frame_id": hypotheses.frame_id[entry],
        "value_id": hypotheses.value_id[entry],
        "first": pooled.first[entry] | of_rephrase,
        "offset": wanted.offset,
        "rephrase": wanted.like,
    }
    arrays = []
    for column in CANDIDATE_COLUMNS:
        if column.name in own:
            held = pc.if_else(pa.array(of_rephrase), None, pa.array(own[column.name][entry], from_pandas=True))
        elif column.name == "echo":
            held = pa.array(values["echo"], mask=~has_values)
        else:
            held = pa.array(values[column.name], from_pandas=True)
        arrays.append(held.cast(column.type).take(pa.array(order)))
    structs = pa.StructArray.from_arrays(arrays, fields=[pa.field(c.name, c.type) for c in CANDIDATE_COLUMNS])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs)
