from __future__ import annotations

from typing import Any

import pytest

from pipeline.audit.render import _interval, figures_text


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.7189, 0.61, 0.81, "72% [61-81%]"),
        (0.976, 0.95, 0.99, "97.6% [95-99%]"),
        (1.0, 0.95, 1.0, "100% [95-100%]"),
        (0.5, 0.5, 0.5, "50.0%"),
        (None, 0.0, 1.0, "-"),
    ],
)
def test_a_digit_more_where_the_share_is_known_well_and_no_interval_where_it_is_known(
    value: float | None, low: float, high: float, text: str
):
    assert _interval({"value": value, "low": low, "high": high}) == text


def test_the_table_fits_a_terminal_and_begins_with_all_turns():
    figure = {"value": 0.5, "low": 0.11, "high": 0.99}
    row: dict[str, Any] = {"turns": 12_345_678, "judged": 300} | dict.fromkeys(
        ("prevalence", "precision", "recall", "correction_precision"), figure
    )
    counted = dict.fromkeys(("drawn", "raters", "judged", "cannot_tell", "open", "corrections"), 3)
    counted |= dict.fromkeys(("corrections_judged", "by_several", "by_several_agreed", "both_right"), 1)
    found = {
        "audit_id": "a" * 12,
        "release_id": "b" * 64,
        "confidence": 0.95,
        "answers": counted,
        "all": row,
        "domains": {"a domain with a very long name": row, "small": row | {"turns": 5}},
        "gold_rows": 9,
        "out": "out",
        "gold": "g",
        "figures": "f",
    }
    lines = figures_text(found).splitlines()
    assert max(len(line) for line in lines) <= 96
    shown = [line.split()[0] for line in lines if "[11-99%]" in line]
    assert shown == ["all", "a", "small"]
