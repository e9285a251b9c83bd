"""The gate on counts: per stage, what went in equals what came out, by reason."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipeline.errors import GateError


def by_outcome(counts: pa.Table, closing: bool | None = None) -> dict[str, int]:
    """Outcome to rows over all domains, sorted; `closing` picks one kind of row."""
    return {
        r["outcome"]: r["rows"]
        for r in counts.to_pylist()
        if r["domain"] is None and (closing is None or r["closing"] == closing)
    }


def by_domain(counts: pa.Table) -> dict[str, dict[str, int]]:
    """Domain to outcome to rows."""
    out: dict[str, dict[str, int]] = {}
    for row in counts.to_pylist():
        if row["domain"] is not None:
            out.setdefault(row["domain"], {})[row["outcome"]] = row["rows"]
    return out


def closes(stage: str, counts: pa.Table, expected_in: int) -> dict[str, Any]:
    """Check one stage.

    Parameters
    ----------
    stage : str
    counts : pyarrow.Table
        COUNT rows.
    expected_in : int
        Rows that the stage before handed on, counted there.

    Returns
    -------
    dict
        The gate's row: name, passed, and both sides of the sum.

    Raises
    ------
    GateError
        If the sums differ.
    """
    closing = by_outcome(counts, closing=True)
    went_in = closing.pop("in", 0)
    came_out = sum(closing.values())
    if went_in != expected_in or came_out != went_in:
        sides = ", ".join(f"{k} {v:,}" for k, v in closing.items())
        raise GateError(
            f"stage {stage}: the counts do not close: {expected_in:,} rows were handed on, {went_in:,} went in, "
            f"{came_out:,} came out ({sides}). Nothing was published; run the stage again, and report it if it stays"
        )
    return {"gate": f"counts close: {stage}", "scope": "whole", "passed": True, "in": went_in, "out": closing}
