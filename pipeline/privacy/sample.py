"""The audited sample: of each type the redactions of lowest hash, with the redacted text around them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from features.hashing import hash64, join
from pipeline.privacy import marks
from pipeline.privacy.cells import Cell
from schemas import REDACTION

# Code points of context on each side of a mark.
_AROUND: Final = 40
_ORDER: Final = ("type", "draw", "turn_id", "column", "position", "context")


class Changed(NamedTuple):
    """A text that was redacted, and the turn that holds it (None = a dead letter)."""

    turn_id: str | None
    cell: Cell


def drawn(changed: Iterable[Changed], rows: int) -> pa.Table:
    """REDACTION rows of some texts, at most `rows` a type."""
    found = [(c.turn_id, c.cell, finding, at) for c in changed for finding, at in c.cell.marks]
    if not found or not rows:
        return REDACTION.empty()
    columns = zip(*((t or "", c.column, str(at), f.type) for t, c, f, at in found), strict=True)
    draw = hash64(join(*(np.array(column, dtype=object) for column in columns)), "afterword/mark/1")
    kept: list[dict[str, object]] = []
    taken: dict[str, int] = {}
    for k in np.argsort(draw, kind="stable").tolist():
        turn_id, cell, finding, at = found[k]
        if taken.setdefault(finding.type, 0) < rows:
            taken[finding.type] += 1
            kept.append(_row(turn_id, cell, finding.type, finding.score, at) | {"draw": int(draw[k])})
    return lowest([pa.Table.from_pylist(kept, schema=REDACTION.schema)], rows)


def _row(turn_id: str | None, cell: Cell, type: str, score: float, at: int) -> dict[str, object]:
    """One row; a mark that the cut would break is left out of the context."""
    mark = marks.mark(type)
    first, last = max(0, at - _AROUND), min(len(cell.text), at + len(mark) + _AROUND)
    for start, end in marks.spans(cell.text):
        if start < first < end:
            first = end
        if start < last < end:
            last = start
    row = {"turn_id": turn_id, "column": cell.column, "position": at, "type": type, "score": round(score, 3)}
    return row | {"mark": mark, "context": cell.text[first:last]}


def lowest(tables: Iterable[pa.Table], rows: int) -> pa.Table:
    """The rows of lowest hash of each type, sorted; parts of parts give the same."""
    table = pa.concat_tables([REDACTION.empty(), *tables]).sort_by([(k, "ascending") for k in _ORDER])
    types = np.asarray(table["type"].to_pylist(), dtype=object)
    begin = np.flatnonzero(np.append(True, types[1:] != types[:-1])) if len(types) else np.zeros(0, np.int64)
    rank = np.arange(len(types)) - np.repeat(begin, np.diff(np.append(begin, len(types))))
    return table.filter(pa.array(rank < rows)) if len(types) else table
