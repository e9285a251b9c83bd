"""All judged turns of a run, counted by cell, and the few of each bucket and cell that could be drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import strings
from features.learnable import READS as LEARNABLE
from features.learnable import learnable
from features.text import is_true
from models.sampling import DECISIONS, AuditOptions, draw_order, lowest
from pipeline.explain.tables import StageTables
from pipeline.transforms.counts import domain_names

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Population:
    """Turns that may be drawn.

    Attributes
    ----------
    domains : list of str
        In alphabetical order.
    sizes : numpy.ndarray of int64, shape (domains, decisions)
        Turns of each cell.
    left_out : int
        Turns that may not be learned from: they are shown to nobody.
    domain, decision, bucket, row : numpy.ndarray of int64, shape (m,)
        Of the turns that come first in their bucket and cell, enough to draw from.
    order : numpy.ndarray of uint64, shape (m,)
        See `models.sampling.draw_order`.
    """

    domains: list[str]
    sizes: I64
    left_out: int
    domain: I64
    decision: I64
    bucket: I64
    row: I64
    order: npt.NDArray[np.uint64]


@dataclass(frozen=True)
class _Bucket:
    """Cells of one bucket under its own numbers of domains."""

    domains: list[str]
    sizes: I64
    left_out: int
    domain: I64
    decision: I64
    row: I64
    order: npt.NDArray[np.uint64]


def population(tables: StageTables, options: AuditOptions) -> Population:
    """Count the cells and keep what may be drawn; memory grows with the cells, not with the turns."""
    parts = [_bucket(tables, number, options) for number in tables.buckets]
    domains = sorted({name for part in parts for name in part.domains})
    at = {name: k for k, name in enumerate(domains)}
    sizes = np.zeros((len(domains), len(DECISIONS)), np.int64)
    places = [np.array([at[name] for name in part.domains], np.int64) for part in parts]
    for part, place in zip(parts, places, strict=True):
        sizes[place] += part.sizes
    return Population(
        domains=domains,
        sizes=sizes,
        left_out=sum(part.left_out for part in parts),
        domain=np.concatenate([place[part.domain] for part, place in zip(parts, places, strict=True)]),
        decision=np.concatenate([part.decision for part in parts]),
        bucket=np.repeat(np.array(tables.buckets, np.int64), [len(part.row) for part in parts]),
        row=np.concatenate([part.row for part in parts]),
        order=np.concatenate([part.order for part in parts]),
    )


def _bucket(tables: StageTables, bucket: int, options: AuditOptions) -> _Bucket:
    judged, turn_ids, may_be_shown = _columns(tables, bucket)
    rows = np.flatnonzero(may_be_shown)
    names = domain_names(pa.chunked_array([judged["domain"]])).take(rows).dictionary_encode()
    domain = names.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    decision = _decisions(judged["is_defect"], turn_ids, _accepted(tables, bucket))[rows]
    cells = len(names.dictionary) * len(DECISIONS)
    cell = domain * len(DECISIONS) + decision
    order = draw_order(strings(turn_ids)[rows], options.seed)
    kept = lowest(order, cell, np.full(cells, options.n))
    return _Bucket(
        domains=names.dictionary.to_pylist(),
        sizes=np.bincount(cell, minlength=cells).reshape(-1, len(DECISIONS)).astype(np.int64),
        left_out=len(may_be_shown) - len(rows),
        domain=domain[kept],
        decision=decision[kept],
        row=rows[kept],
        order=order[kept],
    )


def _columns(tables: StageTables, bucket: int) -> tuple[dict[str, pa.Array], pa.Array, npt.NDArray[np.bool_]]:
    judged = {name: tables.column("judgements", bucket, name) for name in ("domain", "is_defect")}
    turn_ids = tables.column("judgements", bucket, "turn_id")
    deciding = pa.table({name: tables.column("turns", bucket, name) for name in LEARNABLE})
    return judged, turn_ids, learnable(deciding)


def _accepted(tables: StageTables, bucket: int) -> pa.Array:
    """Turns with an accepted correction."""
    turn_ids = tables.column("corrections", bucket, "turn_id")
    return turn_ids.filter(tables.column("corrections", bucket, "accepted"))


def _decisions(is_defect: pa.Array, turn_ids: pa.Array, accepted: pa.Array) -> I64:
    """Place in `DECISIONS` of each turn, shape (n,)."""
    corrected = is_true(pc.is_in(turn_ids, value_set=accepted))
    flagged = is_true(is_defect)
    names = np.select([corrected & flagged, flagged], [0, 1], 2)
    return np.asarray(names, dtype=np.int64)
