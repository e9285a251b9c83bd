"""What moved a turn's judgement: each feature's contribution, by the models that judged it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from pipeline import storage
from pipeline.explain.phrases import phrase
from pipeline.explain.tables import Place, StageTables
from schemas import SIGNALS


def moved(tables: StageTables, place: Place, reasons: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The features that moved a turn's score, strongest first, with their values and shares of all that moved it.

    Parameters
    ----------
    tables : StageTables
    place : Place
        The turn's.
    reasons : list of dict
        As its judgement holds them: given back without values and shares where the model file is gone.
    """
    rows = _with_next(tables, place)
    trained = tables.workspace.facts("train")
    path = storage.join(tables.workspace.stage("train"), trained["model_file"])
    data = storage.read_bytes(path) if storage.exists(path) else b""
    if storage.sha256(data) != trained["sha256"]:
        return [_entry(r["signal"], None, r["contribution"], None) for r in reasons]
    # Parsing boosters is not worth its time where there is nothing to parse.
    from models.judge import contributions
    from models.store import loads

    turns, signals = (tables.read(name, place.bucket, rows) for name in ("turns", "signals"))
    design, contribution = contributions(turns, signals, loads(data))
    total = float(np.abs(contribution[0]).sum())
    order = np.argsort(-np.abs(contribution[0]), kind="stable")
    return [
        _entry(
            design.names[at],
            float(design.values[0, at]),
            float(contribution[0, at]),
            abs(float(contribution[0, at])) / total,
        )
        for at in order.tolist()
        if contribution[0, at]
    ]


def _with_next(tables: StageTables, place: Place) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A turn's row and, where there is one, that of the turn after it, whose words may be its reaction."""
    rows = len(tables.column("turns", place.bucket, "sequence"))
    return np.arange(place.row, min(place.row + 2, rows))


def fired(tables: StageTables, place: Place) -> list[dict[str, str]]:
    """The turn's yes-or-no signals that are yes."""
    row = tables.read("signals", place.bucket, np.array([place.row])).to_pylist()[0]
    names = [c.name for c in SIGNALS.group("satisfaction", "intent") if pa.types.is_boolean(c.type)]
    return [{"signal": name, "meaning": phrase(name).text} for name in names if row[name]]


def _entry(signal: str, value: float | None, contribution: float, share: float | None) -> dict[str, Any]:
    known = phrase(signal)
    return {
        "signal": signal,
        "meaning": known.text,
        "value": known.plain(value),
        "contribution": round(contribution, 6),
        "share": None if share is None else round(share, 4),
    }
