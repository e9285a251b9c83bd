"""The reviewable diff of a release: new examples that the present training set has another label for, as a sheet."""

from __future__ import annotations

import csv
import io
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
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(TRAINING_SET_DIFF.names)
    for row in zip(*(rows[name].to_pylist() for name in TRAINING_SET_DIFF.names), strict=True):
        writer.writerow([safe(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue().encode("utf-8-sig")
