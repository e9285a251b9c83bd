"""What was read, held against what the input's source says."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline import storage
from pipeline.completeness.check import File, check
from pipeline.completeness.expected import Expectations
from pipeline.workspace import Workspace
from schemas import DEAD_LETTER, Reason


def read_whole(
    expectations: Expectations, inputs: pa.Table, workspace: Workspace, outcomes: dict[str, int]
) -> dict[str, Any]:
    """Hold what stage ingest read to the count file; gives what is kept of it.

    Parameters
    ----------
    expectations : Expectations
    inputs : pyarrow.Table
        INPUT rows.
    workspace : Workspace
    outcomes : dict
        Counts of the stage.

    Raises
    ------
    NotReadyError
        If records lack, or a file breaks off.
    InputError
        If there are more than expected.
    """
    broken = _broken(workspace) if outcomes.get(f"dead_letter.{Reason.UNREADABLE_FILE}") else set()
    columns = ("uri", "bytes", "records", "sha256")
    told = check(expectations, [File(**row) for row in inputs.select(columns).to_pylist()], broken)
    return {"by": expectations.name, "partitions": told}


def _broken(workspace: Workspace) -> set[str]:
    """Files that could not be read to their end."""
    found: set[str] = set()
    for path in storage.files(workspace.table("ingest", "dead_letters"), "bucket-*.parquet"):
        dead = storage.read_table(path, DEAD_LETTER.schema, ["reason", "source"])
        dead = dead.filter(pc.equal(dead["reason"], str(Reason.UNREADABLE_FILE)))
        found.update(row["uri"] for row in dead["source"].to_pylist())
    return found
