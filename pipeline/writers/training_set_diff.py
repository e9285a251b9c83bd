"""The reviewable diff of a release: new examples that the present training set has another label for, as a sheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from pipeline import storage
from pipeline.audit.sheet import safe
from schemas import TRAINING_SET_DIFF

NAME: Final = "left_out/training_set_diff.csv"


def of_folder(folder: str) -> pa.Table:
    """All TRAINING_SET_DIFF rows of a stage's table, in the order of the sheet; small, as people are to read them."""
    paths = storage.files(folder, "bucket-*.parquet")
    tables = [storage.read_table(path, TRAINING_SET_DIFF.schema) for path in paths]
    return pa.concat_tables([TRAINING_SET_DIFF.empty(), *tables]).sort_by(
        [("text", "ascending"), ("example_id", "ascending")]
    )


def sheet(rows: pa.Table) -> bytes:
    """`training_set_diff.csv`: UTF-8 with the mark by which spreadsheet programs know it; no cell is a formula."""
    cells = zip(*(rows[name].to_pylist() for name in TRAINING_SET_DIFF.names), strict=True)
    return _written([safe(cell) if isinstance(cell, str) else cell for cell in row] for row in cells)


def of_examples(data: bytes, ids: pa.Array) -> bytes:
    """A sheet's rows of some examples, as they stand in it.

    Parameters
    ----------
    data : bytes
        As `sheet` gives it.
    ids : pyarrow.Array
        Example ids.
    """
    held = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    at, wanted = next(held).index("example_id"), set(ids.to_pylist())
    return _written(row for row in held if row[at] in wanted)


def _written(rows: Iterable[list[object]]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(TRAINING_SET_DIFF.names)
    writer.writerows(rows)
    return out.getvalue().encode("utf-8-sig")
