"""What moved a turn's judgement: each feature's contribution, by the models that judged it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
    rows, own = _with_session(tables, place)
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
    total = float(np.abs(contribution[own]).sum())
    order = np.argsort(-np.abs(contribution[own]), kind="stable")
    return [
        _entry(
            design.names[at],
            float(design.values[own, at]),
            float(contribution[own, at]),
            abs(float(contribution[own, at])) / total,
        )
        for at in order.tolist()
        if contribution[own, at]
    ]


def _with_session(tables: StageTables, place: Place) -> tuple[np.ndarray[Any, np.dtype[np.int64]], int]:
    """Rows of a turn's session, whose other turns tell of it too, and the turn's own place among them."""
    session = tables.column("signals", place.bucket, "session_id")
    rows = np.flatnonzero(pc.equal(session, session[place.row]).to_numpy(zero_copy_only=False))
    return rows, int(np.searchsorted(rows, place.row))


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
