"""LEFT_OUT rows of examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas import LEFT_OUT


def left_out(
    examples: pa.Table,
    rows: npt.NDArray[np.int64],
    reason: str | Sequence[str],
    detail: str | Sequence[str],
    of: Sequence[str | None] | None = None,
    similarity: Sequence[float | None] | None = None,
) -> pa.Table:
    """LEFT_OUT rows of some examples, sorted by example_id.

    Parameters
    ----------
    examples : pyarrow.Table
        EXAMPLE rows, at least `example_id, split, kind, provenance`.
    rows : numpy.ndarray of int64, shape (n,)
        Those left out.
    reason, detail : str or sequence of str, length n
        One for all, or one each.
    of : sequence of str or None, length n, optional
    similarity : sequence of float or None, length n, optional
    """
    held = examples.select(["example_id", "split", "kind", "provenance"]).take(pa.array(rows, pa.int64()))
    many = len(rows)
    told = {"reason": reason, "detail": detail}
    columns = {
        k: pa.array([str(v)] * many if isinstance(v, str) else list(map(str, v)), pa.string()) for k, v in told.items()
    }
    columns["of"] = pa.nulls(many, pa.string()) if of is None else pa.array(of, pa.string())
    columns["similarity"] = pa.nulls(many, pa.float64()) if similarity is None else pa.array(similarity, pa.float64())
    table = pa.table({name: held[name] if name in held.column_names else columns[name] for name in LEFT_OUT.names})
    return LEFT_OUT.conform(table).sort_by("example_id")
