"""What stage label counts of its judgements."""

from __future__ import annotations

import pyarrow as pa

from pipeline.gates.counts import by_domain, by_outcome
from pipeline.transforms.signals import _counts
from schemas import CORRECTION, JUDGEMENT


def judgements(*rows: tuple[str | None, str, bool]) -> pa.Table:
    """Turns with domain, basis of their threshold, and whether they are defective."""
    held = [
        dict.fromkeys(JUDGEMENT.names, "x")
        | {
            "turn_id": f"t{k}",
            "event_time": 0,
            "domain": domain,
            "p_defect": 0.5,
            "threshold": 0.5,
            "threshold_basis": basis,
            "is_defect": is_defect,
            "certified": False,
            "reasons": [],
        }
        for k, (domain, basis, is_defect) in enumerate(rows)
    ]
    return pa.Table.from_pylist(held, schema=JUDGEMENT.schema)


def test_turns_of_domains_unknown_to_training_are_counted_by_domain():
    table = judgements(
        ("bus", "domain", True), ("new", "unknown", True), ("new", "unknown", False), (None, "pooled", False)
    )
    counted = _counts(table, CORRECTION.empty())
    assert by_outcome(counted)["unknown_domain"] == 2 and by_outcome(counted)["defects"] == 2
    domains = by_domain(counted)
    assert domains["new"] == {"turns": 2, "defects": 1, "unknown": 2}
    assert "unknown" not in domains["bus"] and "unknown" not in domains["(none)"]
