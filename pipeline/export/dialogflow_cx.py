"""Dialogflow CX: one intent a file, as the API takes it; parts of a training phrase are its text, piece by piece."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from pipeline import storage
from pipeline.export.names import Names, count_renamed, fitted
from pipeline.export.utterances import UNKNOWN_LOCALE, Utterance

# What the console shows, and what a file can be named.
_MOST_NAME: Final = 64
_NO_PARAMETER: Final = r"[^0-9A-Za-z_-]"
_NO_FILE: Final = r"[^0-9A-Za-z_.-]"
# A parameter must have a type; this one takes any text, and an agent's own types can be put in its place.
_ANY: Final = "projects/-/locations/-/agents/-/entityTypes/sys.any"


def write(rows: Sequence[Utterance], names: Names, told: Counter[str]) -> dict[str, bytes]:
    """The files, by name: intents/<intent>.<language>.json."""
    intents = fitted(names.intents, r"[\x00-\x1f]", _MOST_NAME)
    slots = fitted(names.slots, _NO_PARAMETER, _MOST_NAME)
    files = fitted(intents.values(), _NO_FILE)
    count_renamed(rows, told, intents, slots)
    groups: dict[tuple[str, str], list[Utterance]] = {}
    for row in rows:
        groups.setdefault((intents[row.intent], row.locale), []).append(row)
        told["rows.written"] += 1
    return {
        f"intents/{files[intent]}.{'en' if locale == UNKNOWN_LOCALE else locale}.json": storage.readable_json(
            _intent(intent, held, slots)
        )
        for (intent, locale), held in sorted(groups.items())
    }


def _intent(intent: str, rows: Sequence[Utterance], names: dict[str, str]) -> dict[str, Any]:
    used = sorted({names[span.name] for row in rows for span in row.spans})
    return {
        "displayName": intent,
        "trainingPhrases": [{"parts": _parts(row, names), "repeatCount": 1} for row in rows],
        "parameters": [{"id": name, "entityType": _ANY} for name in used],
    }


def _parts(row: Utterance, names: dict[str, str]) -> list[dict[str, str]]:
    return [{"text": text} | ({"parameterId": names[span.name]} if span else {}) for text, span in row.parts()]
