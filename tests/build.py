"""Turn tables from a few fields: what a test does not name has a harmless default."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from schemas import TURN

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def interpretation(
    intent: str = "ask", score: float | None = 0.9, domain: str | None = "d", **slots: str
) -> dict[str, Any]:
    """One hypothesis; slots as keywords."""
    held = [{"name": k, "value": v, "start": None, "end": None} for k, v in slots.items()]
    return {"domain": domain, "intent": intent, "slots": held, "score": score}


def turn(**fields: Any) -> dict[str, Any]:
    """One Turn row. `at` gives event_time in seconds after START; `nbest` gives interpretations."""
    row: dict[str, Any] = dict.fromkeys(TURN.names)
    row |= {
        "subject_id": "u",
        "conversation_id": "c",
        "user_known": True,
        "sequence": 0,
        "utterance": "hello",
        "interpretations": [],
        "source": {"uri": "t.jsonl", "position": 0},
    }
    at, nbest = fields.pop("at", 0.0), fields.pop("nbest", None)
    row["event_time"] = START + timedelta(seconds=at)
    if nbest is not None:
        row["interpretations"] = nbest
    unknown = set(fields) - set(row)
    assert not unknown, f"not columns of Turn: {unknown}"
    row |= fields
    return row


def turns(*rows: dict[str, Any]) -> pa.Table:
    """A Turn table in the order given; turn_id, sequence and time follow the position unless a row names
    them.

    Turns are 10 s apart by default, so that one session holds them.
    """
    built = []
    for k, fields in enumerate(rows):
        defaults: dict[str, Any] = {"turn_id": f"t{k:03d}", "sequence": k, "at": 10.0 * k}
        built.append(turn(**(defaults | fields)))
    return pa.Table.from_pylist(built, schema=TURN.schema)


def column(table: pa.Table, name: str) -> list[Any]:
    """A column as Python values."""
    values: list[Any] = table[name].to_pylist()
    return values


def evidence(table: pa.Table, name: str) -> list[list[Any]]:
    """One field of every candidate, a list a turn."""
    return [[c[name] for c in cs] for cs in table["candidates"].to_pylist()]
