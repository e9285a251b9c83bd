"""What was considered in a turn's place, and why it was or was not accepted."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from features.interpretation import hex_id
from pipeline.explain.release import Release
from pipeline.thresholds import of_domain

_HELD: Final = ("interpretation", "source", "p_correct", "margin", "accepted", "certified", "supporting_turns")


def candidates(
    corrections: pa.Table, signals: pa.Table, later: list[str], defective: dict[str, bool], release: Release
) -> list[dict[str, Any]]:
    """The candidates, likeliest first, each with what it failed; see `models.correction.eligible`.

    Parameters
    ----------
    corrections : pyarrow.Table
        Of one turn.
    signals : pyarrow.Table
        Its SIGNALS row.
    later : list of str
        The turn, and the later ones of its session in order.
    defective : dict of str to bool
        Of the turns of its session.
    release : Release
    """
    taken_from = _taken_from(signals, later)
    tau = of_domain(release.manifest["thresholds"]["correction"], signals["domain"][0].as_py())["value"]
    least = release.manifest["identity"]["config"]["train"]["least_correct"]
    rows = sorted(corrections.to_pylist(), key=lambda row: (-row["p_correct"], not row["accepted"]))
    best = next((row["p_correct"] for row in rows), 0.0)
    out = []
    for row in rows:
        support = row["supporting_turns"] or []
        failed = [] if row["accepted"] else _failed(row, best, any(defective.get(t) for t in support), least, tau)
        source = taken_from.get(row["candidate_id"])
        out.append(
            {name: row[name] for name in _HELD} | {"supporting_turns": support, "taken_from": source, "failed": failed}
        )
    return out


def _failed(row: dict[str, Any], best: float, support_fails: bool, least: float, tau: float) -> list[str]:
    rules = {
        "another candidate is likelier": row["p_correct"] < best,
        f"p(correct) is under {least:.2f}": row["p_correct"] < least,
        f"its lead over every other reading is under {tau:.3f}": row["margin"] < tau or row["margin"] <= 0,
        "the turn that supports it is judged defective itself": support_fails,
    }
    return [name for name, holds in rules.items() if holds]


def _taken_from(signals: pa.Table, later: list[str]) -> dict[str, str]:
    """Candidate id to the later turn whose reading it is, of candidates that the turn's own list lacks."""
    held = [c for c in signals["candidates"].to_pylist()[0] or [] if 0 < (c["offset"] or 0) < len(later)]
    ids = hex_id(np.array([c["candidate_id"] for c in held], np.int64))
    return {name: later[c["offset"]] for name, c in zip(ids, held, strict=True)}


def pointed_at(told: list[dict[str, Any]], key: str) -> list[str]:
    """Later turns that the accepted candidate, else any, names under `key`."""
    chosen = [c for c in told if c["accepted"]] or told
    named = [c[key] if isinstance(c[key], list) else [c[key]] for c in chosen]
    return sorted({turn for turns in named for turn in turns if turn})
