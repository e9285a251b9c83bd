"""The exact counts of a run as tables that gates look at: one row a stage, one row a domain."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from pipeline.gates.counts import by_domain, by_outcome
from pipeline.gates.drift import Shifts
from pipeline.tail.files import turns_taken
from schemas import DOMAIN_SUMMARY, STAGE_SUMMARY
from schemas.expectations import STAGES_SUMMED


def stage_summary(counts: Mapping[str, pa.Table], records: int, written: Mapping[str, int]) -> pa.Table:
    """STAGE_SUMMARY rows.

    Parameters
    ----------
    counts : mapping
        Stage to its COUNT rows.
    records : int
        Records that the readers found in the input; stage ingest was handed what it took over, too.
    written : mapping
        Stage to the rows that its table holds.
    """
    taken = turns_taken(by_outcome(counts["ingest"]))
    rows, handed_on = [], records + taken
    for stage in STAGES_SUMMED:
        closing = by_outcome(counts[stage], closing=True)
        went_in = closing.pop("in", 0)
        kept = closing.get("kept", 0)
        # What was taken over was read before, and would make the letters of this log seem few.
        read = went_in - (taken if stage == "ingest" else 0)
        rows.append(
            {
                "stage": stage,
                "expected_in": handed_on,
                "rows_in": went_in,
                "rows_out": sum(closing.values()),
                "kept": kept,
                "written": written.get(stage, 0),
                "dead_letter_share": closing.get("dead_lettered", 0) / read if read else 0.0,
            }
        )
        handed_on = handed_on if stage != "ingest" else kept
    return pa.Table.from_pylist(rows, schema=STAGE_SUMMARY.schema)


def domain_summary(label: pa.Table, curate: pa.Table, min_turns: int, shifts: Shifts | None = None) -> pa.Table:
    """DOMAIN_SUMMARY rows, by name.

    Parameters
    ----------
    label, curate : pyarrow.Table
        COUNT rows of these stages.
    min_turns : int
        Turns from which on a domain is judged by its shares.
    shifts : dict, optional
        As `pipeline.gates.drift` gives them.
    """
    judged, made = by_domain(label), by_domain(curate)
    rows = []
    for domain in sorted({*judged, *made}):
        held = judged.get(domain, {})
        turns, defects, corrected = (held.get(k, 0) for k in ("turns", "defects", "corrected"))
        rows.append(
            {
                "domain": domain,
                "turns": turns,
                "defects": defects,
                "corrected": corrected,
                "examples": made.get(domain, {}).get("examples", 0),
                "judged": turns >= min_turns,
                "defect_share": defects / turns if turns else None,
                "correction_share": corrected / turns if turns else None,
                **(shifts or {}).get(domain, {}),
            }
        )
    return pa.Table.from_pylist(rows, schema=DOMAIN_SUMMARY.schema)
