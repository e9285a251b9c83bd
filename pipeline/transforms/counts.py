"""Counts as data: COUNT rows made beside each bucket's output, summed, and held to close."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat
from schemas import COUNT, NO_DOMAIN


def counts(
    stage: str,
    closing: Mapping[str, int],
    detail: Mapping[str, int] | None = None,
    domains: Mapping[tuple[str, str | None], int] | None = None,
) -> pa.Table:
    """COUNT rows of a stage.

    Parameters
    ----------
    stage : str
    closing : mapping
        Outcome to rows; `in` must equal the sum of the others.
    detail : mapping, optional
        Outcome to rows that break a closing outcome down, or only inform.
    domains : mapping, optional
        (outcome, domain) to rows; informs.
    """
    rows = [(stage, outcome, None, n, True) for outcome, n in closing.items()]
    rows += [(stage, outcome, None, n, False) for outcome, n in (detail or {}).items()]
    rows += [(stage, outcome, domain, n, False) for (outcome, domain), n in (domains or {}).items()]
    columns = list(zip(*rows, strict=True)) if rows else [[]] * 5
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, COUNT.schema, strict=True)], schema=COUNT.schema)


def domain_names(domain: pa.ChunkedArray) -> pa.Array:
    """Domains as they are counted: none, or an empty one, has a name too."""
    held = pc.fill_null(flat(domain), "")
    return pc.if_else(pc.equal(held, ""), NO_DOMAIN, held)


def rows_by_domain(outcome: str, domain: pa.Array) -> dict[tuple[str, str | None], int]:
    """(outcome, domain) to rows, for COUNT rows; `domain` has one name a row."""
    return {(outcome, row["values"]): row["counts"] for row in domain.value_counts().to_pylist()}


def add_up(tables: Iterable[pa.Table]) -> pa.Table:
    """Sum COUNT rows with one stage, outcome and domain; sorted. Keeps the form, so partial sums can be summed."""
    held = [t for t in tables if t.num_rows]
    if not held:
        return COUNT.empty()
    keys = ["stage", "outcome", "domain", "closing"]
    summed = pa.concat_tables(held).group_by(keys, use_threads=False).aggregate([("rows", "sum")])
    summed = summed.rename_columns([*keys, "rows"])
    return COUNT.conform(summed.sort_by([(k, "ascending") for k in ("stage", "outcome", "domain")]))


def total(tables: beam.PCollection) -> beam.PCollection:
    """One table of summed counts."""
    return tables | "SumCounts" >> beam.CombineGlobally(add_up).with_output_types(pa.Table)
